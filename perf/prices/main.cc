// SPDX-License-Identifier: GPL-2.0
// Prints what bytes and events cost on this machine, in nanoseconds, as one JSON object on a line.
// See perf/run prices, which makes prices in counted instructions of it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "bytes.h"
#include "events.h"

namespace {

void print_all() {
  std::putchar('{');
  const std::vector<rdma::prices::BytePrice> bytes = rdma::prices::bytes();
  for (const rdma::prices::BytePrice& price : bytes) {
    std::printf("\"%s\": {\"hot\": %.4f, \"l3\": %.4f, \"cold\": %.4f}, ", price.what.c_str(),
                price.hot, price.l3, price.cold);
  }
  std::printf("\"string\": %.1f", rdma::prices::string_ns(bytes));
  for (const rdma::prices::EventPrice& price : rdma::prices::events()) {
    std::printf(", \"%s\": %.1f", price.what.c_str(), price.ns);
  }
  std::puts("}");
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc == 3 && std::strcmp(argv[1], "messages") == 0 ? std::atoi(argv[2]) : 0;
  if (argc != 1 && rounds <= 0) {
    std::fputs(
        "usage: weft-prices              measures; some ten seconds\n"
        "       weft-prices messages N   N messages of 64 B there and back over TCP, between the "
        "marks of perf/count\n",
        stderr);
    return 2;
  }
  try {
    if (rounds > 0) {
      rdma::prices::messages(rounds);
    } else {
      print_all();
    }
  } catch (const rdma::Failure& failure) {
    std::fprintf(stderr, "weft-prices: %s\n", failure.what());
    return 1;
  }
  return 0;
}
