/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernels. Kbuild defines HAVE_X if section PROBE_X of kernel/probe.c
 * compiles; nothing tests version numbers. base/compat/ defines the newest kernel's names for
 * older kernels.
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
 * Weft needs multicopy atomicity, which POWER lacks: tx_take_request() loads the ring and then the
 * reads with acquire alone, against the full barrier in rx_answered(). On POWER a request could
 * wait for an answer that has come.
 */
static_assert(!IS_ENABLED(CONFIG_PPC), "Weft does not know POWER's order of stores");

#endif /* WEFT_COMPAT_H */
