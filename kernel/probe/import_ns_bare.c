// SPDX-License-Identifier: GPL-2.0
/* Up to 6.12, the name of a symbol namespace is written without quotes. */
#include <linux/module.h>

MODULE_IMPORT_NS(DMA_BUF);
