// SPDX-License-Identifier: GPL-2.0
// sched_yield() that sleeps. A rank of Open MPI that finds nothing to do yields, and asks again.
// Where ranks share one processor, the scheduler often gives it back to the same rank until its
// tick, and the others, and so the messages, wait for 10 ms. One that sleeps long enough leaves it
// to them: of sleeps of 1, 20 and 200 microseconds in User Mode Linux only the last made a round
// trip of 20 ms one of 0.6.
#include <sched.h>

#include <ctime>

extern "C" int sched_yield() noexcept {
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 200000};
  nanosleep(&kMoment, nullptr);  // a signal may end it: the caller asks again anyway
  return 0;
}
