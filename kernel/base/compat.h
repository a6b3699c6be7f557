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

/*
 * A store is seen by all other processors at once. On POWER a request could wait for an answer
 * that has come: tx_take_request() looks at the ring and then at the reads with acquire alone, and
 * rx_answered() has the one full barrier of the two.
 */
static_assert(!IS_ENABLED(CONFIG_PPC), "Weft does not know POWER's order of stores");

#endif /* WEFT_COMPAT_H */
