// SPDX-License-Identifier: GPL-2.0
// mpibench: measures MPI between two ranks, and runs two programs on all of them. It measures
// whatever carries the messages: see README.md for how to choose.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "experiment.h"
#include "program.h"

namespace rdma::mpibench {
namespace {

struct Experiment {
  const char* name;
  void (*run)(const Options&, const World&);
  const char* what;
};

constexpr Experiment kExperiments[] = {
    {"latency", latency, "half a round trip of a message, by its size"},
    {"bandwidth", bandwidth, "bytes a second: one way, both ways in turn, both ways at once"},
    {"logp", logp, "LogP parameters by size: os, or, g, L"},
    {"buffers", buffers, "latency when 0 to 100 % of the messages use a buffer again"},
    {"unexpected", unexpected, "latency behind messages that nobody has asked for yet"},
    {"posted", posted, "latency behind receives that wait for other messages"},
    {"overlap", overlapping, "how much of a transfer is hidden behind computing"},
    {"progress", progress, "what a partner waits for while this rank computes"},
    {"allreduce", allreduce, "a sum over all ranks, by its size"},
    {"onesided", onesided, "put, get, accumulate, fetch-and-add and their completion"},
    {"halo", halo, "a 2-D Jacobi iteration on all ranks, checked against one"},
    {"farm", farm, "tasks dealt out to all ranks, checked against one"},
};

void print_help() {
  std::cout
      << R"(usage: mpirun -np 2 --host A,B mpibench [--json FILE] EXPERIMENT [OPTION...] [-- EXPERIMENT ...]

Measures MPI between its first two ranks, and checks every result. Prints a JSON object a line;
apps/mpi/launch starts it over TCP, over RDMA, or with one-sided calls alone by RDMA. EXPERIMENT:

)";
  for (const Experiment& experiment : kExperiments)
    std::printf("  %-11s %s\n", experiment.name, experiment.what);
  std::cout << R"(
Behind each comes what carried its bytes on rank 0's host, by the counters of the RDMA devices and
of the interfaces. Several experiments, with -- between them, run one after the other.

  --sizes N,N...     message sizes in bytes, up to 1 GiB (one-sided and sums: multiples of 8)
  --rounds N         how often, in place of a number by the size
  --lengths N,N...   lengths of queues (unexpected, posted)
  --delays N,N...    microseconds for which rank 0 computes (progress)
  --operation NAME   one of them alone: put get accumulate fetch (onesided); send receive
                     (overlap); send put (progress)
  --compute HOW      spin (the default), or sleep, where both ranks have the same processor
  --by HOW           messages (the default) or onesided (halo, farm)
  --grid N, --steps N   rows and columns, and iterations (halo)
  --tasks N          how many (farm)
  --json FILE        writes the results there as well
  --devices FOLDER   where the counters of RDMA devices are, in place of /sys/class/infiniband, which
                     shows none in a network namespace

Status 0: all results were right. 2: the command line is wrong. 1: anything else.
)" << std::flush;
}

// Runs the experiments on this rank.
void run(const CommandLine& line) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  require(size >= 2, "there is one rank, and it takes two: start it by mpirun -np 2, see --help");
  Report report(rank == 0 ? line.json : "");
  const World world(rank, size, report);
  for (const Options& options : line.experiments) {
    const Experiment& experiment =
        *std::ranges::find(kExperiments, options.experiment, &Experiment::name);
    if (rank == 0) std::cerr << "mpibench: " << experiment.name << ": " << experiment.what << '\n';
    world.barrier();
    const Traffic before = traffic("/sys/class/net", line.devices);
    experiment.run(options, world);
    world.barrier();
    const Traffic during = traffic("/sys/class/net", line.devices) - before;
    world.write("traffic", "of", experiment.name, "device_bytes", during.device_bytes,
                "interface_bytes", during.interface_bytes);
  }
}

// The command line is read before MPI begins, so that a wrong one, and --help, need no mpirun.
int run_all(int argc, char** argv) {
  std::vector<std::string> known;
  std::ranges::transform(kExperiments, std::back_inserter(known), &Experiment::name);
  const CommandLine line = parse({argv + 1, argv + argc}, known);
  if (line.help) {
    print_help();
    return 0;
  }
  MPI_Init(&argc, &argv);
  try {
    run(line);
  } catch (const std::exception& failure) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::cerr << "mpibench: rank " << rank << ": " << failure.what() << std::endl;
    // The other ranks wait for this one.
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace rdma::mpibench

int main(int argc, char** argv) {
  return rdma::run_program("mpibench", "", argc, argv, [&](rdma::Program& /* has no options */) {
    return rdma::mpibench::run_all(argc, argv);
  });
}
