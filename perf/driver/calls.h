// SPDX-License-Identifier: GPL-2.0
// How often this process entered the kernel to post or to wait.
#ifndef WEFT_PERF_CALLS_H
#define WEFT_PERF_CALLS_H

namespace perf {

// Since the start; -1 where /proc/self/io can't be read. What goes through sockets is not among
// them.
struct Calls {
  long reads;   // waits for events
  long writes;  // commands, doorbells among them, by write() or ioctl()
};

Calls calls();

}  // namespace perf

#endif  // WEFT_PERF_CALLS_H
