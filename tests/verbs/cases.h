// SPDX-License-Identifier: GPL-2.0
// The groups of cases, one function for each source file.
#pragma once

#include <string>

#include "suite.h"

namespace rdma {

// Shared receive queues and asynchronous events.
void srq_cases(Suite& suite);
// ibv_cq_ex, ibv_qp_ex, and parent domains.
void extended_cases(Suite& suite);
// Memory windows, of both types.
void window_cases(Suite& suite);
// Every capacity and number at, below and above its limit.
void limit_cases(Suite& suite);
// Completion queues resized under traffic, regions reregistered.
void change_cases(Suite& suite);
// The rights that a queue pair gives its peer.
void rights_cases(Suite& suite);
// Asynchronous events. The client's eth0 goes down and up.
void event_cases(Suite& suite, const std::string& client_netns);
// A process that forks.
void fork_cases(Suite& suite);
// Posts that race with the kernel.
void race_cases(Suite& suite);
// Sixteen threads of a process on the same objects.
void threads_cases(Suite& suite);
// Doorbells with numbers that are made up.
void doorbell_cases(Suite& suite);
// Answers that the kernel cannot write.
void answer_cases(Suite& suite);
// Keys taken away while a peer uses them.
void revoke_cases(Suite& suite);
// Regions of gigabytes.
void large_cases(Suite& suite);
// Memory that counts against a cgroup.
void charge_cases(Suite& suite);
// Regions of DMA buffers.
void dmabuf_cases(Suite& suite);

}  // namespace rdma
