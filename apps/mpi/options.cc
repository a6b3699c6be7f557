// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "require.h"

namespace rdma::mpibench {

namespace {

using Words = std::span<const char* const>;

// MPI counts in int, and a message is one.
constexpr std::uint64_t kLargestMessage = 1U << 30;
constexpr std::uint64_t kLongestQueue = 100000;
constexpr std::uint64_t kLongestDelay = 10000000;
constexpr std::uint64_t kMostRounds = 10000000;
constexpr std::uint64_t kLargestGrid = 8192;
constexpr std::uint64_t kMostTasks = 1000000;

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw Failure(Cause::kInput, std::string(option) + " takes whole numbers from " +
                                     std::to_string(least) + " to " + std::to_string(most) +
                                     ", not '" + std::string(text) + "'");
  }
  return value;
}

template <typename Value>
std::vector<Value> numbers(std::string_view option, std::string_view text, std::uint64_t least,
                           std::uint64_t most) {
  std::vector<Value> values;
  while (true) {
    const std::size_t comma = text.find(',');
    values.push_back(static_cast<Value>(number(option, text.substr(0, comma), least, most)));
    if (comma == std::string_view::npos) {
      return values;
    }
    text.remove_prefix(comma + 1);
  }
}

std::string one_of(std::string_view option, std::string_view text,
                   std::initializer_list<std::string_view> allowed) {
  if (std::ranges::find(allowed, text) == allowed.end()) {
    std::string list;
    for (const std::string_view word : allowed) {
      list += (list.empty() ? "" : ", ") + std::string(word);
    }
    throw Failure(Cause::kInput, std::string(option) + " takes one of: " + list + "; not '" +
                                     std::string(text) + "'");
  }
  return std::string(text);
}

constexpr std::array<std::string_view, 12> kOptions{
    "--json", "--devices", "--sizes",     "--lengths", "--delays", "--rounds",
    "--by",   "--compute", "--operation", "--grid",    "--steps",  "--tasks"};

void set(Options& options, std::string_view option, std::string_view text) {
  if (option == "--sizes") {
    options.sizes = numbers<std::size_t>(option, text, 0, kLargestMessage);
  } else if (option == "--lengths") {
    options.lengths = numbers<unsigned>(option, text, 0, kLongestQueue);
  } else if (option == "--delays") {
    options.delays = numbers<unsigned>(option, text, 0, kLongestDelay);
  } else if (option == "--rounds") {
    options.rounds = static_cast<unsigned>(number(option, text, 1, kMostRounds));
  } else if (option == "--by") {
    options.by = one_of(option, text, {"messages", "onesided"});
  } else if (option == "--operation") {
    options.operation =
        one_of(option, text, {"send", "receive", "put", "get", "accumulate", "fetch"});
  } else if (option == "--compute") {
    options.computing =
        one_of(option, text, {"spin", "sleep"}) == "spin" ? Computing::kSpin : Computing::kSleep;
  } else if (option == "--grid") {
    options.grid = static_cast<unsigned>(number(option, text, 2, kLargestGrid));
  } else if (option == "--steps") {
    options.steps = static_cast<unsigned>(number(option, text, 1, kMostRounds));
  } else if (option == "--tasks") {
    options.tasks = static_cast<unsigned>(number(option, text, 1, kMostTasks));
  }
}

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

}  // namespace

CommandLine parse(Words words, std::span<const std::string_view> known) {
  CommandLine line;
  line.help = std::ranges::any_of(words, asks_for_help);
  if (line.help) {
    return line;
  }
  bool begins = true;  // an experiment's name comes next
  for (std::size_t at = 0; at < words.size(); at++) {
    const std::string_view word = words[at];
    if (word == "--") {
      if (begins) {
        throw Failure(Cause::kInput,
                      "an experiment is missing before or after '--'; see mpibench --help");
      }
      begins = true;
    } else if (word.starts_with("--")) {
      if (std::ranges::find(kOptions, word) == kOptions.end()) {
        throw Failure(Cause::kInput,
                      "there is no option " + std::string(word) + "; see mpibench --help");
      }
      if (at + 1 == words.size()) {
        throw Failure(Cause::kInput, std::string(word) + " needs a value; see mpibench --help");
      }
      const std::string_view value = words[++at];
      if (word == "--json") {
        line.json = value;
      } else if (word == "--devices") {
        line.devices = value;
      } else if (begins) {
        throw Failure(Cause::kInput, std::string(word) + " stands before the experiment it is for");
      } else {
        set(line.experiments.back(), word, value);
      }
    } else if (begins) {
      if (std::ranges::find(known, word) == known.end()) {
        throw Failure(Cause::kInput,
                      "there is no experiment '" + std::string(word) + "'; see mpibench --help");
      }
      line.experiments.emplace_back().experiment = word;
      begins = false;
    } else {
      throw Failure(Cause::kInput,
                    "'" + std::string(word) + "' means nothing here; see mpibench --help");
    }
  }
  if (begins) {
    throw Failure(Cause::kInput, "an experiment is missing at the end; see mpibench --help");
  }
  return line;
}

}  // namespace rdma::mpibench
