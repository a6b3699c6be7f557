// SPDX-License-Identifier: GPL-2.0
// Marks the beginning or the end of the stretch that perf/count's plugin counts, for scripts whose
// measured program cannot mark it itself. Prints a file as it was at that moment, such as one of
// requests: read by another program, it would tell of a stretch some milliseconds shorter.
// Usage: mark begin|end|none [FILE].
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "../driver/mark.h"

namespace {

// Reads what fits of an open file, from its start. Returns how many bytes, or -1.
ssize_t read_whole(int fd, char* to, size_t room) {
  return fd < 0 ? 0 : pread(fd, to, room, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view which = argc >= 2 ? argv[1] : "";
  const int fd = argc == 3 ? open(argv[2], O_RDONLY) : -1;
  static char text[1 << 16];
  ssize_t len = 0;

  if (argc > 3 || (which != "begin" && which != "end" && which != "none")) {
    fputs("usage: mark begin|end|none [FILE]\n", stderr);
    return 2;
  }
  if (argc == 3 && fd < 0) {
    perror(argv[2]);
    return 1;
  }
  if (which == "begin") {
    perf::mark_begin();
  }
  len = read_whole(fd, text, sizeof(text));
  if (which == "end") {
    perf::mark_end();
  }
  if (len < 0 || fwrite(text, 1, len, stdout) != static_cast<size_t>(len)) {
    perror("mark");
    return 1;
  }
  return 0;
}
