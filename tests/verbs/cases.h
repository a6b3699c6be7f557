// SPDX-License-Identifier: GPL-2.0
// The groups of cases, one function for each source file, and what they share.
#pragma once

#include "suite.h"
#include "transfer.h"

namespace rdma {

void srq_cases(Suite& suite);
void extended_cases(Suite& suite);
void window_cases(Suite& suite);
void limit_cases(Suite& suite);
void change_cases(Suite& suite);
void rights_cases(Suite& suite);
// The client's eth0 goes down and up.
void event_cases(Suite& suite, const std::string& client_netns);
void fork_cases(Suite& suite);
void threads_cases(Suite& suite);
void hostile_cases(Suite& suite);
void revoke_cases(Suite& suite);
void large_cases(Suite& suite);
void charge_cases(Suite& suite);
void dmabuf_cases(Suite& suite);

}  // namespace rdma
