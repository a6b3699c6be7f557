/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WEFT_SHIM_ERRNO_H
#define WEFT_SHIM_ERRNO_H

#include <errno.h>

#endif /* WEFT_SHIM_ERRNO_H */
