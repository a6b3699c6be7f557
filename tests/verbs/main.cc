// SPDX-License-Identifier: GPL-2.0
// Connects two hosts by rdma_cm and uses the parts of verbs that the placement test does not:
// shared receive queues, the extended interfaces, memory windows, objects that change, rights.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cases.h"
#include "failure.h"

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    std::fputs(
        "usage: verbs SERVER-ADDRESS SERVER-NETNS CLIENT-NETNS [ONLY [WITHOUT]]\n"
        "\n"
        "Listens at the address in one network namespace and connects to it from the\n"
        "other. ONLY: run the groups whose names contain that text, but not the group that is "
        "called\n"
        "WITHOUT. WEFT_SEED repeats a run; the seed is another one each time otherwise, and "
        "printed.\n",
        stderr);
    return EXIT_FAILURE;
  }
  try {
    const placement::Connector connector({.netns = argv[3], .address = ""},
                                         {.netns = argv[2], .address = argv[1]});
    placement::Suite suite(connector, argc > 4 ? argv[4] : "", placement::Suite::seed(), false);
    if (argc > 5) {
      suite.leave_out(argv[5]);
    }
    placement::srq_cases(suite);
    placement::extended_cases(suite);
    placement::change_cases(suite);
    placement::limit_cases(suite);
    placement::charge_cases(suite);
    placement::window_cases(suite);
    placement::rights_cases(suite);
    placement::dmabuf_cases(suite);
    placement::race_cases(suite);
    placement::threads_cases(suite);
    placement::doorbell_cases(suite);
    placement::answer_cases(suite);
    placement::revoke_cases(suite);
    placement::large_cases(suite);
    placement::fork_cases(suite);
    placement::event_cases(suite, argv[3]);
    return suite.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verbs: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
