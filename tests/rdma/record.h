// SPDX-License-Identifier: GPL-2.0
// One result: a JSON object on a line of its own. A name says its unit: median_us, rate_mb_s.
#pragma once

#include <string>
#include <string_view>

namespace rdma {

class Record {
 public:
  // A whole number as it is, since counters have more digits than a measurement is worth.
  Record& add(std::string_view field, double value, int digits = 6);
  Record& add(std::string_view field, std::string_view value);
  // The object, without a newline.
  std::string text() const { return text_ + "}"; }
  // Writes it to standard output, with one.
  void print() const;

 private:
  void name(std::string_view field);
  std::string text_ = "{";
};

}  // namespace rdma
