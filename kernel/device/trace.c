// SPDX-License-Identifier: GPL-2.0
/* Defines the tracepoints of trace.h. */
#include "base/limit.h"
#include "base/weft.h"
#include "conn/internal.h"
#include "pair/qp.h"
#include "queue/cq.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

#define CREATE_TRACE_POINTS
#include "base/trace.h"
