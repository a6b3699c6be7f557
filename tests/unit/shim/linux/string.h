/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WEFT_SHIM_STRING_H
#define WEFT_SHIM_STRING_H

#include <string.h>

#endif /* WEFT_SHIM_STRING_H */
