// SPDX-License-Identifier: GPL-2.0
#include "result.h"

namespace rdma::perf {

Record result_of(const Settings& settings) {
  Record result;
  result.add("experiment", settings.experiment);
  if (!settings.pattern.empty()) {
    result.add("pattern", settings.pattern);
  }
  return result.add("carrier", to_string(settings.carrier))
      .add("mode", to_string(settings.mode))
      .add("op", settings.carrier == Carrier::kTcp ? "stream" : to_string(settings.operation))
      .add("size_bytes", static_cast<double>(settings.size))
      .add("connections", settings.connections);
}

void add(Record& result, const std::string& side, const Usage& usage) {
  constexpr double kPercent = 100;
  const double all = usage.seconds > 0 ? usage.seconds : 1;
  result.add(side + "_user_percent", kPercent * usage.user / all)
      .add(side + "_system_percent", kPercent * usage.system / all)
      .add(side + "_machine_percent", kPercent * usage.machine / all)
      .add(side + "_interrupt_percent", kPercent * usage.interrupts / all)
      .add(side + "_switches", static_cast<double>(usage.switches));
}

}  // namespace rdma::perf
