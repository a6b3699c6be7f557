/* SPDX-License-Identifier: GPL-2.0 */
/* The C library's own errno.h comes by here, too: hand it on. */
#include_next <linux/errno.h>
