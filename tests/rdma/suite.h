// SPDX-License-Identifier: GPL-2.0
// Runs cases, counts them, and prints a line for each group of them.
#pragma once

#include <random>
#include <set>

#include "connector.h"

namespace rdma {

class Suite {
 public:
  // Runs the groups whose name contains `only` (all, if it is empty). Prints the seed of random
  // input. With `siw` one end is mainline's siw: cases that crash or confuse it are left out,
  // and cases of features that it lacks are skipped.
  Suite(const Connector& connector, std::string only, std::uint64_t seed, bool siw);
  // A seed for a run: WEFT_SEED of the environment, or another one each time.
  static std::uint64_t seed();
  // Leaves the group of exactly that name out. That there is none is a failure, or a group that
  // got another name would be back, or one that was meant would be gone, unseen.
  void leave_out(const std::string& name) { without_.insert(name); }

  // Runs a group: its body calls run() for each case. Prints its line of TAP, and one for each
  // reason for which a case could not be had. A group without a case is a failure.
  void group(const std::string& name, const std::function<void()>& body);
  // Runs a case. A failure is printed with `what`, and costs the case's connection.
  // After several failures the rest of the group is given up.
  void run(const std::string& what, const std::function<void()>& body);
  // For cases that need what this machine has not.
  [[noreturn]] static void skip(const std::string& why);
  // Prints the plan; returns the program's exit status.
  int finish();

  // Ends for the cases of a group until one fails. Waits are by event and by polling in turn.
  Pair& pair();
  const Connector& connector() const { return connector_; }
  bool siw() const { return siw_; }
  // A number from 0 to limit - 1.
  std::uint32_t random(std::uint32_t limit);

 private:
  class GivenUp {};

  // How many lines were printed.
  unsigned told() const { return groups_passed_ + groups_failed_ + groups_skipped_; }

  // Returns true if the body came to its end. If not, notes a reason to skip it, or a failure.
  bool attempt(const std::string& what, const std::function<void()>& body);

  const Connector& connector_;
  std::string only_;
  std::set<std::string> without_;
  std::mt19937_64 random_;
  bool siw_;
  Pair pair_;
  unsigned cases_ = 0;
  unsigned passed_ = 0;
  unsigned failed_in_group_ = 0;
  std::set<std::string> reasons_;  // for which cases of the group were skipped
  unsigned groups_passed_ = 0;
  unsigned groups_failed_ = 0;
  unsigned groups_skipped_ = 0;
};

}  // namespace rdma
