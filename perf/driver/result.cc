// SPDX-License-Identifier: GPL-2.0
#include "result.h"

#include <cmath>
#include <cstdio>
#include <iostream>

namespace perf {

Result::Result(const Settings& settings) {
  add("experiment", settings.experiment);
  if (!settings.pattern.empty()) {
    add("pattern", settings.pattern);
  }
  add("carrier", to_string(settings.carrier));
  add("mode", to_string(settings.mode));
  add("op", settings.carrier == Carrier::kTcp ? "stream" : to_string(settings.operation));
  add("size_bytes", static_cast<double>(settings.size));
  add("connections", settings.connections);
}

Result& Result::add(const std::string& name, double value) {
  char number[32];
  if (!std::isfinite(value)) {
    std::snprintf(number, sizeof(number), "null");
  } else if (value == std::floor(value) && std::fabs(value) < 1e15) {
    std::snprintf(number, sizeof(number), "%.0f", value);
  } else {
    std::snprintf(number, sizeof(number), "%.6g", value);
  }
  text_ += (text_.empty() ? "" : ", ") + ("\"" + name + "\": ") + number;
  return *this;
}

// Only words of our own get here; nothing in them needs an escape.
Result& Result::add(const std::string& name, const std::string& value) {
  text_ += (text_.empty() ? "" : ", ") + ("\"" + name + "\": \"" + value + "\"");
  return *this;
}

Result& Result::add(const std::string& side, const Usage& usage) {
  constexpr double kPercent = 100;
  const double all = usage.seconds > 0 ? usage.seconds : 1;
  add(side + "_user_percent", kPercent * usage.user / all);
  add(side + "_system_percent", kPercent * usage.system / all);
  add(side + "_machine_percent", kPercent * usage.machine / all);
  add(side + "_interrupt_percent", kPercent * usage.interrupts / all);
  return add(side + "_switches", static_cast<double>(usage.switches));
}

void Result::print() const {
  std::cout << '{' << text_ << "}\n" << std::flush;
}

}  // namespace perf
