// SPDX-License-Identifier: GPL-2.0
// Marks the beginning or the end of the stretch that perf/count's plugin counts, for scripts whose
// measured program cannot mark it itself. Usage: mark begin|end|none.
#include <string_view>

#include "../driver/mark.h"

int main(int argc, char** argv) {
  std::string_view which = argc == 2 ? argv[1] : "";

  if (which == "begin")
    perf::mark_begin();
  else if (which == "end")
    perf::mark_end();
  else if (which != "none")
    return 2;
  return 0;
}
