// SPDX-License-Identifier: GPL-2.0
// How often this process entered the kernel to post or to wait.
#pragma once

namespace rdma::perf {

// Counts since the start, or -1 if /proc/self/io can't be read. Calls on sockets are not
// counted.
struct Calls {
  long reads;   // waits for events
  long writes;  // commands, doorbells among them, by write() or ioctl()
};

Calls calls();

}  // namespace rdma::perf
