/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers at any alignment: get_unaligned_be16(), put_unaligned_be16(value, to), and so on. */
#ifndef WEFT_WIRE_BYTES_H
#define WEFT_WIRE_BYTES_H

#ifdef HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* WEFT_WIRE_BYTES_H */
