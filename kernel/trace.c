// SPDX-License-Identifier: GPL-2.0
/* Where the tracepoints of trace.h are defined. */
#define CREATE_TRACE_POINTS
#include "trace.h"
