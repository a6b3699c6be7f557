// SPDX-License-Identifier: GPL-2.0
// sched_yield() that sleeps for a moment. A rank of Open MPI that finds nothing to do yields, and asks
// again. Where ranks share one processor the scheduler may give it back to the same rank until its time
// is up, and the others, and so the messages, wait for 10 ms. One that sleeps lets the others run.
#include <sched.h>
#include <sys/prctl.h>

#include <ctime>

extern "C" int sched_yield() noexcept {
  // Else a sleep takes 50 microseconds more. It is the thread's, and costs little to say again.
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 1};
  nanosleep(&kMoment, nullptr);  // a signal may end it: the caller asks again anyway
  return 0;
}
