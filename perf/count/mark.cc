// SPDX-License-Identifier: GPL-2.0
// Marks the beginning or the end of the stretch that perf/count's plugin counts, for scripts whose
// measured program cannot mark it itself. Prints a file as it was at that moment, such as one of
// requests: read by another program, it would tell of a stretch some milliseconds shorter.
// With `until` it marks both, and what else runs meanwhile is a look at a disk's statistics each 5
// ms. Usage: mark begin|end|none [FILE], or mark until STATISTICS SECTORS.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "../driver/mark.h"

namespace {

constexpr useconds_t kLookEachUs = 5000;
char text[1 << 16];

// Reads what fits of an open file, from its start. Returns how many bytes, or -1.
ssize_t read_whole(int fd, char* to, size_t room) { return fd < 0 ? 0 : pread(fd, to, room, 0); }

// Returns how many sectors a disk has read and written, of its statistics in sysfs, or -1.
long long sectors_of(int fd) {
  const ssize_t len = read_whole(fd, text, sizeof(text) - 1);
  long long reads = 0;
  long long writes = 0;

  if (len <= 0) return -1;
  text[len] = '\0';
  return sscanf(text, "%*s %*s %lld %*s %*s %*s %lld", &reads, &writes) == 2 ? reads + writes : -1;
}

// Marks the stretch in which a disk has so many sectors, and prints how many those were. Returns
// the exit status.
int count_sectors(int fd, long long wanted) {
  long long before = 0;
  long long now = 0;

  rdma::perf::mark_begin();
  before = now = sectors_of(fd);
  while (now >= 0 && now - before < wanted) {
    usleep(kLookEachUs);
    now = sectors_of(fd);
  }
  rdma::perf::mark_end();
  if (before < 0 || now < 0) {
    fputs("mark: this is no file of a disk's statistics\n", stderr);
    return 1;
  }
  printf("%lld\n", now - before);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view which = argc >= 2 ? argv[1] : "";
  const bool until = which == "until" && argc == 4 && atoll(argv[3]) > 0;
  const int fd = argc == 3 || until ? open(argv[2], O_RDONLY) : -1;
  ssize_t len = 0;

  if (!until && (argc > 3 || (which != "begin" && which != "end" && which != "none"))) {
    fputs("usage: mark begin|end|none [FILE], or mark until STATISTICS SECTORS\n", stderr);
    return 2;
  }
  if (argc >= 3 && fd < 0) {
    perror(argv[2]);
    return 1;
  }
  if (until) return count_sectors(fd, atoll(argv[3]));
  if (which == "begin") rdma::perf::mark_begin();
  len = read_whole(fd, text, sizeof(text));
  if (which == "end") rdma::perf::mark_end();
  if (len < 0 || fwrite(text, 1, len, stdout) != static_cast<size_t>(len)) {
    perror("mark");
    return 1;
  }
  return 0;
}
