// SPDX-License-Identifier: GPL-2.0
// The groups of cases, one function for each file.
#pragma once

#include "chain.h"
#include "suite.h"

namespace rdma {

void single_cases(Suite& suite);
void chain_cases(Suite& suite);
void connection_cases(Suite& suite);
void protection_cases(Suite& suite);
void extended_cases(Suite& suite);
void posting_cases(Suite& suite);
void siw_cases(Suite& suite);

}  // namespace rdma
