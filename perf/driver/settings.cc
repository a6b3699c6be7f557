// SPDX-License-Identifier: GPL-2.0
#include "settings.h"

#include <charconv>
#include <sstream>

#include "failure.h"

namespace rdma::perf {

namespace {

template <typename Number>
Number number(std::string_view text, std::string_view name) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::size_t unit = 1;
  if (error == std::errc{} && rest + 1 == end && (*rest == 'k' || *rest == 'm')) {
    unit = *rest == 'k' ? 1U << 10 : 1U << 20;
  } else {
    require(error == std::errc{} && rest == end,
            std::string(name) + " takes a number (4096, 64k, 1m), not '" + std::string(text) + "'");
  }
  return static_cast<Number>(value * unit);
}

template <typename Number>
std::vector<Number> numbers(const std::string& text, std::string_view name) {
  std::vector<Number> values;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    values.push_back(number<Number>(item, name));
  }
  return values;
}

template <typename Value>
Value choice(const std::string& text, const std::string& name, std::initializer_list<Value> all) {
  std::string names;
  for (const Value value : all) {
    if (text == to_string(value)) {
      return value;
    }
    names += std::string(names.empty() ? "" : ", ") + to_string(value);
  }
  throw Failure(name + " is one of " + names + ", not '" + text + "'");
}

}  // namespace

const char* to_string(Carrier carrier) {
  return carrier == Carrier::kVerbs ? "verbs" : "tcp";
}

const char* to_string(Mode mode) {
  if (mode == Mode::kEvent) {
    return "event";
  }
  return mode == Mode::kPoll ? "poll" : "yield";
}

const char* to_string(Operation operation) {
  if (operation == Operation::kSend) {
    return "send";
  }
  return operation == Operation::kWrite ? "write" : "read";
}

void Settings::set(const std::string& word) {
  const std::size_t equals = word.find('=');
  require(equals != std::string::npos, "'" + word + "' is no name=value");
  const std::string name = word.substr(0, equals);
  const std::string value = word.substr(equals + 1);
  if (name == "experiment") {
    experiment = value;
  } else if (name == "pattern") {
    pattern = value;
  } else if (name == "carrier") {
    carrier = choice(value, name, {Carrier::kVerbs, Carrier::kTcp});
  } else if (name == "mode") {
    mode = choice(value, name, {Mode::kEvent, Mode::kPoll, Mode::kYield});
  } else if (name == "op") {
    operation = choice(value, name, {Operation::kSend, Operation::kWrite, Operation::kRead});
  } else if (name == "size") {
    sizes = numbers<std::size_t>(value, name);
    require(!sizes.empty(), "size takes at least one number");
    size = sizes.front();
  } else if (name == "connections") {
    many = numbers<unsigned>(value, name);
    require(!many.empty(), "connections takes at least one number");
    connections = many.front();
  } else if (name == "count") {
    count = number<unsigned>(value, name);
  } else if (name == "depth") {
    depth = number<unsigned>(value, name);
  } else if (name == "batch") {
    batch = number<unsigned>(value, name);
  } else if (name == "gather") {
    gather = number<unsigned>(value, name);
  } else if (name == "arena") {
    arena = number<std::size_t>(value, name);
  } else if (name == "start") {
    start = value;
  } else if (name == "end") {
    end = value;
  } else {
    throw Failure("there is no setting '" + name + "'");
  }
}

std::string Settings::line() const {
  std::ostringstream out;
  out << "experiment=" << experiment << " pattern=" << pattern << " carrier=" << to_string(carrier)
      << " mode=" << to_string(mode) << " op=" << to_string(operation) << " size=" << size
      << " arena=" << arena << " connections=" << connections << " count=" << count
      << " depth=" << depth << " batch=" << batch << " gather=" << gather;
  return out.str();
}

Settings Settings::parse(const std::string& line) {
  Settings settings;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    settings.set(word);
  }
  constexpr std::size_t kMaxArena = 1U << 30;
  constexpr unsigned kMaxDepth = 4096;
  constexpr unsigned kMaxConnections = 16384;
  constexpr unsigned kMaxGather = 64;
  require(
      settings.gather > 0 && settings.gather <= kMaxGather &&
          (settings.gather == 1 ||
           (settings.carrier == Carrier::kTcp && settings.experiment == "bandwidth" &&
            settings.pattern != "pingpong" && settings.connections == 1 && settings.arena == 0)),
      "gather is at most 64, for bandwidth over one TCP connection, one way or both, without an "
      "arena: " +
          line);
  require(settings.size > 0 && settings.size <= kMaxArena && settings.arena <= kMaxArena &&
              settings.depth > 0 && settings.depth <= kMaxDepth && settings.batch > 0 &&
              settings.batch <= settings.depth && settings.connections > 0 &&
              settings.connections <= kMaxConnections,
          "a size, arena, depth, batch or number of connections is out of range: " + line);
  return settings;
}

}  // namespace rdma::perf
