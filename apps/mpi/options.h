// SPDX-License-Identifier: GPL-2.0
// What the command line says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdma::mpibench {

// How rank 0 computes while a message is on its way.
enum class Computing { kSpin, kSleep };

// One experiment with its settings.
struct Options {
  std::string experiment;
  std::vector<std::size_t> sizes;  // bytes; empty: the experiment's own
  std::vector<unsigned> lengths;   // of queues; empty: the experiment's own
  std::vector<unsigned> delays;    // microseconds; empty: the experiment's own
  unsigned rounds = 0;             // 0: the experiment's own
  std::string by = "messages";     // or "onesided": how halo and farm talk
  std::string operation;           // empty: all that the experiment knows
  Computing computing = Computing::kSpin;
  unsigned grid = 128;   // rows and columns of halo's
  unsigned steps = 100;  // of halo's
  unsigned tasks = 64;   // of farm's
};

struct CommandLine {
  bool help = false;
  std::string json;                               // a file for the results, or empty
  std::string devices = "/sys/class/infiniband";  // where their counters are
  std::vector<Options> experiments;               // in the order given
};

// Reads `mpibench [--json FILE] [--devices FOLDER] EXPERIMENT [--NAME VALUE]... [-- EXPERIMENT
// ...]`. `known` are the names of experiments. Throws Failure (kInput) that says which word is
// wrong and what would be right.
CommandLine parse(std::span<const char* const> words, std::span<const std::string_view> known);

}  // namespace rdma::mpibench
