/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WEFT_SHIM_MINMAX_H
#define WEFT_SHIM_MINMAX_H

#define min(x, y)	((x) < (y) ? (x) : (y))

#endif /* WEFT_SHIM_MINMAX_H */
