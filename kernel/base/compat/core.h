/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: various subjects. */
#ifndef WEFT_COMPAT_CORE_H
#define WEFT_COMPAT_CORE_H

#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/workqueue.h>

/* Only modules that import this namespace can use DMA buffers. */
#ifdef HAVE_IMPORT_NS_BARE
#define WEFT_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#define WEFT_IMPORT_WEFT	MODULE_IMPORT_NS(WEFT)
#define WEFT_EXPORT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, WEFT)
#else
#define WEFT_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#define WEFT_IMPORT_WEFT	MODULE_IMPORT_NS("WEFT")
#define WEFT_EXPORT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, "WEFT")
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* In older kernels all workqueues are per-CPU that are not unbound. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#endif /* WEFT_COMPAT_CORE_H */
