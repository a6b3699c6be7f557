// SPDX-License-Identifier: GPL-2.0
// The results of experiments, each of which starts with what was measured.
#pragma once

#include "record.h"
#include "settings.h"
#include "usage.h"

namespace rdma::perf {

Record result_of(const Settings& settings);
// Adds the processor time of one side, as shares of the time that passed.
void add(Record& result, const std::string& side, const Usage& usage);

}  // namespace rdma::perf
