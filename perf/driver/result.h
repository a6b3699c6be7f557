// SPDX-License-Identifier: GPL-2.0
// One result: a JSON object on a line of its own. A name says its unit: median_us, rate_mb_s.
#ifndef WEFT_PERF_RESULT_H
#define WEFT_PERF_RESULT_H

#include <string>

#include "settings.h"
#include "usage.h"

namespace perf {

class Result {
 public:
  // Starts with what was measured.
  explicit Result(const Settings& settings);

  Result& add(const std::string& name, double value);
  Result& add(const std::string& name, const std::string& value);
  // Processor time of one side, as shares of the time that passed.
  Result& add(const std::string& side, const Usage& usage);
  // Writes the object and a newline to standard output.
  void print() const;

 private:
  std::string text_;
};

}  // namespace perf

#endif  // WEFT_PERF_RESULT_H
