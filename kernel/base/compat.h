/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernels, a subject each. HAVE_X is defined if kernel/probe/x.c
 * compiles (see Kbuild); version numbers are never looked at. The code outside of base/compat/
 * reads as for the newest kernel: what that has under another name or not at all in an older
 * one is defined here for the older one.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include <linux/kconfig.h>

#include "base/compat/cgroup.h"
#include "base/compat/core.h"
#include "base/compat/loan.h"
#include "base/compat/sock.h"
#include "base/compat/task.h"

/* Addresses of kernel memory travel as 64-bit numbers, and page_address() is always there. */
static_assert(IS_ENABLED(CONFIG_64BIT), "Weft is for 64-bit kernels");

#endif /* WEFT_COMPAT_H */
