/* SPDX-License-Identifier: GPL-2.0 */
#pragma once
#define min(x, y) ((x) < (y) ? (x) : (y))
