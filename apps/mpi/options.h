// SPDX-License-Identifier: GPL-2.0
// What the command line says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rdma::mpibench {

// One experiment with its settings. Empty ones, and 0 rounds, stand for the experiment's own.
struct Options {
  std::string experiment;
  std::vector<std::size_t> sizes;  // bytes
  std::vector<unsigned> lengths;   // of queues
  std::vector<unsigned> delays;    // microseconds
  unsigned rounds = 0;             // see rounds_for()
  std::string by = "messages";     // or "onesided": how halo and farm talk
  std::string operation;           // empty: all that the experiment knows
  std::string compute = "spin";    // or "sleep": how rank 0 computes while a message is on its way
  unsigned grid = 128;             // rows and columns of halo's
  unsigned steps = 100;            // of halo's
  unsigned tasks = 64;             // of farm's

  std::vector<std::size_t> sizes_or(const std::vector<std::size_t>& own) const {
    return sizes.empty() ? own : sizes;
  }
  // Rounds for a size, unless the command line says how many: fewer of large messages.
  unsigned rounds_for(std::size_t size) const;
  // The experiment's operations, or the chosen one. Throws Failure (kInput) if that is not its own.
  std::vector<std::string> operations_of(const std::vector<std::string>& own) const;
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
CommandLine parse(const std::vector<std::string>& words, const std::vector<std::string>& known);

}  // namespace rdma::mpibench
