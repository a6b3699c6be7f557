// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>

#include "sentence.h"

namespace rdma::mpibench {
namespace {

// MPI counts in int, and a message is one.
constexpr std::uint64_t kLargestMessage = 1U << 30;
constexpr std::uint64_t kLongestQueue = 100000;
constexpr std::uint64_t kLongestDelay = 10000000;
constexpr std::uint64_t kMostRounds = 10000000;
constexpr std::uint64_t kLargestGrid = 8192;
constexpr std::uint64_t kMostTasks = 1000000;

[[noreturn]] void wrong(const std::string& what) {
  throw Failure(Cause::kInput, what + "; see mpibench --help");
}

// The value of an option, of one of these types.
struct Value {
  const std::string& option;
  const std::string& text;

  unsigned number(std::uint64_t least, std::uint64_t most) const { return one(text, least, most); }
  template <typename Number>
  void numbers(std::vector<Number>& into, std::uint64_t most) const {
    into.clear();
    std::string_view rest = text;
    while (true) {
      const std::size_t comma = rest.find(',');
      into.push_back(one(rest.substr(0, comma), 0, most));
      if (comma == std::string_view::npos) return;
      rest.remove_prefix(comma + 1);
    }
  }
  std::string one_of(const std::vector<std::string>& allowed) const {
    if (std::ranges::find(allowed, text) == allowed.end()) {
      std::string list;
      for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
      wrong(option + " takes one of: " + list + "; not '" + text + "'");
    }
    return text;
  }

 private:
  unsigned one(std::string_view digits, std::uint64_t least, std::uint64_t most) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end() || value < least || value > most) {
      wrong(sentence(option, " takes whole numbers from ", least, " to ", most, ", not '", digits,
                     "'"));
    }
    return static_cast<unsigned>(value);
  }
};

const std::vector<std::string> kWays{"messages", "onesided"};
const std::vector<std::string> kComputing{"spin", "sleep"};
const std::vector<std::string> kOperations{"send", "receive", "put", "get", "accumulate", "fetch"};

using Set = void (*)(Options& options, const Value& value);
const std::map<std::string, Set> kSets = {
    {"--sizes", [](Options& to, const Value& is) { is.numbers(to.sizes, kLargestMessage); }},
    {"--lengths", [](Options& to, const Value& is) { is.numbers(to.lengths, kLongestQueue); }},
    {"--delays", [](Options& to, const Value& is) { is.numbers(to.delays, kLongestDelay); }},
    {"--rounds", [](Options& to, const Value& is) { to.rounds = is.number(1, kMostRounds); }},
    {"--by", [](Options& to, const Value& is) { to.by = is.one_of(kWays); }},
    {"--operation", [](Options& to, const Value& is) { to.operation = is.one_of(kOperations); }},
    {"--compute", [](Options& to, const Value& is) { to.compute = is.one_of(kComputing); }},
    {"--grid", [](Options& to, const Value& is) { to.grid = is.number(2, kLargestGrid); }},
    {"--steps", [](Options& to, const Value& is) { to.steps = is.number(1, kMostRounds); }},
    {"--tasks", [](Options& to, const Value& is) { to.tasks = is.number(1, kMostTasks); }}};

}  // namespace

unsigned Options::rounds_for(std::size_t size) const {
  constexpr std::size_t kVolume = 64U << 20;
  return rounds > 0 ? rounds
                    : static_cast<unsigned>(std::clamp<std::size_t>(
                          kVolume / std::max<std::size_t>(size, 1), 20, 1000));
}

std::vector<std::string> Options::operations_of(const std::vector<std::string>& own) const {
  return operation.empty() ? own
                           : std::vector{Value{experiment + " --operation", operation}.one_of(own)};
}

CommandLine parse(const std::vector<std::string>& words, const std::vector<std::string>& known) {
  CommandLine line;
  line.help = std::ranges::count(words, "--help") + std::ranges::count(words, "-h") > 0;
  bool begins = true;  // an experiment's name comes next
  for (auto word = words.begin(); !line.help && word != words.end(); word++) {
    if (*word == "--" && !begins) {
      begins = true;
    } else if (word->starts_with("--") && *word != "--") {
      const std::string& option = *word;
      const bool of_all = option == "--json" || option == "--devices";
      const auto set = kSets.find(option);
      if (!of_all && set == kSets.end()) wrong("there is no option " + option);
      if (++word == words.end()) wrong(option + " needs a value");
      if (of_all)
        (option == "--json" ? line.json : line.devices) = *word;
      else if (begins)
        wrong(option + " stands before the experiment it is for");
      else
        set->second(line.experiments.back(), {option, *word});
    } else if (!begins) {
      wrong("'" + *word + "' means nothing here");
    } else if (std::ranges::find(known, *word) == known.end()) {
      wrong(*word == "--" ? "an experiment is missing before or after '--'"
                          : "there is no experiment '" + *word + "'");
    } else {
      line.experiments.emplace_back().experiment = *word;
      begins = false;
    }
  }
  if (begins && !line.help) wrong("an experiment is missing at the end");
  return line;
}

}  // namespace rdma::mpibench
