// SPDX-License-Identifier: GPL-2.0
// What can be measured. Every rank calls the same function with the same options; each checks what
// it receives, and throws Failure if it is wrong.
#pragma once

#include "options.h"
#include "world.h"

namespace rdma::mpibench {

void latency(const Options& options, const World& world);
void bandwidth(const Options& options, const World& world);
void logp(const Options& options, const World& world);
void buffers(const Options& options, const World& world);
void unexpected(const Options& options, const World& world);
void posted(const Options& options, const World& world);
void overlapping(const Options& options, const World& world);
void progress(const Options& options, const World& world);
void allreduce(const Options& options, const World& world);
void onesided(const Options& options, const World& world);
void halo(const Options& options, const World& world);
void farm(const Options& options, const World& world);

}  // namespace rdma::mpibench
