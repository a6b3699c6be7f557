// SPDX-License-Identifier: GPL-2.0
// What a host spends its time on: computing, waiting for others, moving data, locks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace rdma::sharedmemory {

enum class Activity : std::size_t { kComputing, kWaiting, kData, kLocks };

class Times {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kActivities = 4;

  // Time from now on goes to `activity`, until a Doing inside it or its end.
  class Doing {
   public:
    Doing(Times& times, Activity activity) : times_(times), before_(times.change(activity)) {}
    ~Doing() { times_.change(before_); }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    Times& times_;
    Activity before_;
  };

  // Forgets what was, and goes on with computing.
  void restart() {
    spent_ = {};
    since_ = Clock::now();
  }
  // Adds up to now, and leaves it so in of().
  void stop() { change(now_); }

  double seconds(Activity activity) const {
    return std::chrono::duration<double>(spent_[static_cast<std::size_t>(activity)]).count();
  }
  double total() const {
    Clock::duration sum{};
    for (const auto& each : spent_) sum += each;
    return std::chrono::duration<double>(sum).count();
  }

 private:
  Activity change(Activity activity) {
    const auto at = Clock::now();
    const Activity before = now_;
    spent_[static_cast<std::size_t>(before)] += at - since_;
    since_ = at;
    now_ = activity;
    return before;
  }

  std::array<Clock::duration, kActivities> spent_{};
  Clock::time_point since_ = Clock::now();
  Activity now_ = Activity::kComputing;
};

}  // namespace rdma::sharedmemory
