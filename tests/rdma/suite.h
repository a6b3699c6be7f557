// SPDX-License-Identifier: GPL-2.0
// Runs cases, counts them, and prints a line for each group of them.
#ifndef WEFT_TESTS_SUITE_H
#define WEFT_TESTS_SUITE_H

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "connector.h"

namespace placement {

class Suite {
 public:
  // Runs the groups whose name contains `only` (all, if it is empty). With `siw` one end is
  // mainline's siw: what is known to crash or confuse it is left out.
  Suite(const Connector& connector, std::string only, std::uint64_t seed, bool siw)
      : connector_(connector), only_(std::move(only)), random_(seed), siw_(siw) {}

  // Runs a group: its body calls run() for each case. Prints "ok GROUP: ..." or "not ok".
  void group(const std::string& name, const std::function<void()>& body);
  // Runs a case. A failure is printed with `what`, and costs the case's connection.
  // After several failures the rest of the group is given up.
  void run(const std::string& what, const std::function<void()>& body);
  // For groups whose cases all need something the device lacks.
  [[noreturn]] static void skip(const std::string& why);

  // Two connected ends, shared by the cases of a group until one fails. Waits are by
  // event and by polling in turn.
  Pair& pair();
  const Connector& connector() const { return connector_; }
  bool siw() const { return siw_; }
  // A number from 0 to limit - 1.
  std::uint32_t random(std::uint32_t limit);

  unsigned passed() const { return passed_; }
  unsigned failed() const { return failed_; }
  unsigned skipped() const { return skipped_; }

 private:
  class GivenUp {};

  const Connector& connector_;
  std::string only_;
  std::mt19937_64 random_;
  bool siw_;
  Pair pair_;
  unsigned cases_ = 0;
  unsigned passed_ = 0;
  unsigned failed_ = 0;
  unsigned skipped_ = 0;
  unsigned failed_in_group_ = 0;
};

}  // namespace placement

#endif  // WEFT_TESTS_SUITE_H
