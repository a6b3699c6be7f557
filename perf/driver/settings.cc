// SPDX-License-Identifier: GPL-2.0
#include "settings.h"

#include <charconv>
#include <sstream>

#include "failure.h"

namespace rdma::perf {

namespace {

// Calls `take` with the name and the value of each setting that a case has.
template <typename Of, typename Take>
void each(Of& settings, Take take) {
  take("experiment", settings.experiment);
  take("pattern", settings.pattern);
  take("carrier", settings.carrier);
  take("mode", settings.mode);
  take("op", settings.operation);
  take("size", settings.size);
  take("arena", settings.arena);
  take("connections", settings.connections);
  take("count", settings.count);
  take("depth", settings.depth);
  take("batch", settings.batch);
  take("gather", settings.gather);
}

template <typename Value>
void read(Value& value, const std::string& text, const std::string& name) {
  if constexpr (std::is_same_v<Value, std::string>) {
    value = text;
  } else if constexpr (std::is_enum_v<Value>) {
    std::string names;
    for (std::size_t i = 0; i < kNames<Value>.size(); i++) {
      if (text == kNames<Value>[i]) {
        value = static_cast<Value>(i);
        return;
      }
      names += std::string(i == 0 ? "" : ", ") + kNames<Value>[i];
    }
    throw Failure(name + " is one of " + names + ", not '" + text + "'");
  } else {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool unit = error == std::errc{} && rest + 1 == end && (*rest == 'k' || *rest == 'm');
    require(unit || (error == std::errc{} && rest == end),
            name + " takes a number (4096, 64k, 1m), not '" + text + "'");
    value <<= !unit ? 0U : *rest == 'k' ? 10U : 20U;
  }
}

template <typename Number>
Number read_list(std::vector<Number>& values, const std::string& text, const std::string& name) {
  values.clear();
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) read(values.emplace_back(), item, name);
  require(!values.empty(), name + " takes at least one number");
  return values.front();
}

}  // namespace

void Settings::set(const std::string& word) {
  const std::size_t equals = word.find('=');
  require(equals != std::string::npos, "'" + word + "' is no name=value");
  const std::string name = word.substr(0, equals);
  const std::string value = word.substr(equals + 1);
  if (name == "size") {
    size = read_list(sizes, value, name);
  } else if (name == "connections") {
    connections = read_list(many, value, name);
  } else if (name == "start" || name == "end") {
    (name == "start" ? start : end) = value;
  } else {
    bool known = false;
    each(*this, [&](std::string_view of, auto& field) {
      if (of == name) {
        read(field, value, name);
        known = true;
      }
    });
    require(known, "there is no setting '" + name + "'");
  }
}

std::string Settings::line() const {
  std::ostringstream out;
  each(*this, [&](const char* name, const auto& field) {
    out << name << '=';
    if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>)
      out << to_string(field) << ' ';
    else
      out << field << ' ';
  });
  return out.str();
}

Settings Settings::parse(const std::string& line) {
  Settings settings;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) settings.set(word);
  constexpr std::size_t kMaxArena = 1U << 30;
  constexpr unsigned kMaxDepth = 4096;
  constexpr unsigned kMaxConnections = 16384;
  constexpr unsigned kMaxGather = 64;
  require(
      settings.gather > 0 && settings.gather <= kMaxGather &&
          (settings.gather == 1 ||
           (settings.carrier != Carrier::kVerbs && settings.experiment == "bandwidth" &&
            settings.pattern != "pingpong" && settings.connections == 1 && settings.arena == 0)),
      "gather is at most 64, for bandwidth over one socket, one way or both, without an arena: " +
          line);
  require(settings.operation < Operation::kImmediate || settings.experiment == "latency",
          "write-imm and atomic are for latency: " + line);
  require(settings.operation != Operation::kAtomic || settings.size == 8,
          "an atomic has 8 bytes: " + line);
  require(settings.size > 0 && settings.size <= kMaxArena && settings.arena <= kMaxArena &&
              settings.depth > 0 && settings.depth <= kMaxDepth && settings.batch > 0 &&
              settings.batch <= settings.depth && settings.connections > 0 &&
              settings.connections <= kMaxConnections,
          "a size, arena, depth, batch or number of connections is out of range: " + line);
  return settings;
}

}  // namespace rdma::perf
