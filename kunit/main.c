// SPDX-License-Identifier: GPL-2.0
/*
 * The module that carries Weft's KUnit suites. The suites register themselves
 * by section and KUnit runs them as the module is loaded, before any init
 * function of it, so there is none.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of the Weft iWARP driver");
MODULE_LICENSE("GPL");
