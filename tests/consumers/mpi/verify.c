// SPDX-License-Identifier: GPL-2.0
/*
 * Two MPI ranks: ping-pong at many sizes, collective sums, and one-sided put, get and
 * accumulate, each with its result checked to the byte. Rank 0 prints a line for each case;
 * the exit status says whether all were right on both ranks.
 */

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, WORDS = 4096 };

static int rank, failures;

/* A byte that depends on everything that could be mixed up. */
static unsigned char pattern(int from, int round, size_t size, size_t at) {
  return (unsigned char)(from * 131 + round * 31 + size * 7 + at + (at >> 8));
}

static void fill(unsigned char* data, int from, int round, size_t size) {
  for (size_t at = 0; at < size; at++) data[at] = pattern(from, round, size, at);
}

static int right(const unsigned char* data, int from, int round, size_t size) {
  for (size_t at = 0; at < size; at++)
    if (data[at] != pattern(from, round, size, at)) return 0;
  return 1;
}

/* Both ranks say whether a case was right for them; rank 0 tells. */
static void verdict(const char* name, int good) {
  int all = 0;

  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  failures += !all;
  if (rank == 0) {
    printf(all ? "case %s: right\n" : "case %s: WRONG\n", name);
    fflush(stdout);
  }
}

static void ping_pong(unsigned char* out, unsigned char* in) {
  static const size_t sizes[] = {0, 1, 64, 4095, 16384, 65537, LARGEST};
  char name[64];

  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
    const size_t size = sizes[i];
    const int rounds = size > 100000 ? 5 : 20;
    int good = 1, got = 0;
    MPI_Status status;

    for (int round = 0; round < rounds; round++) {
      fill(out, rank, round, size);
      memset(in, 0xee, size);
      if (rank == 0) MPI_Send(out, (int)size, MPI_BYTE, 1, round, MPI_COMM_WORLD);
      MPI_Recv(in, (int)size, MPI_BYTE, 1 - rank, round, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &got);
      good &= got == (int)size && right(in, 1 - rank, round, size);
      if (rank == 1) MPI_Send(out, (int)size, MPI_BYTE, 0, round, MPI_COMM_WORLD);
    }
    snprintf(name, sizeof(name), "ping-pong of %zu bytes", size);
    verdict(name, good);
  }
}

static void many_at_once(unsigned char* out, unsigned char* in) {
  enum { COUNT = 32, SIZE = 20000 };
  MPI_Request requests[2 * COUNT];
  int good = 1;

  for (int i = 0; i < COUNT; i++) {
    fill(out + (size_t)i * SIZE, rank, i, SIZE);
    MPI_Irecv(in + (size_t)i * SIZE, SIZE, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out + (size_t)i * SIZE, SIZE, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD,
              &requests[COUNT + i]);
  }
  MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < COUNT; i++) good &= right(in + (size_t)i * SIZE, 1 - rank, i, SIZE);
  verdict("32 messages each way at once", good);
}

static void allreduce(long* in, long* out) {
  static const int counts[] = {1, 100, WORDS};
  char name[64];

  for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
    int good = 1;

    for (int at = 0; at < counts[i]; at++) in[at] = (rank + 1L) * (at + 3);
    MPI_Allreduce(in, out, counts[i], MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < counts[i]; at++) good &= out[at] == 3L * (at + 3);
    snprintf(name, sizeof(name), "allreduce of %d words", counts[i]);
    verdict(name, good);
  }
}

static void one_sided(long* local) {
  const int peer = 1 - rank;
  long *window_memory, before = 0, expected = 5, swap = 77;
  MPI_Win window;
  int good = 1;

  MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window_memory, &window);

  memset(window_memory, 0, WORDS * sizeof(long));
  for (int at = 0; at < WORDS; at++) local[at] = rank * 100000L + at;
  MPI_Win_fence(0, window);
  MPI_Put(local, WORDS, MPI_LONG, peer, 0, WORDS, MPI_LONG, window);
  MPI_Win_fence(0, window);
  for (int at = 0; at < WORDS; at++) good &= window_memory[at] == peer * 100000L + at;
  verdict("one-sided put", good);

  for (int at = 0; at < WORDS; at++) {
    window_memory[at] = rank * 200000L + 3L * at;
    local[at] = -1;
  }
  MPI_Win_fence(0, window);
  MPI_Get(local, WORDS, MPI_LONG, peer, 0, WORDS, MPI_LONG, window);
  MPI_Win_fence(0, window);
  good = 1;
  for (int at = 0; at < WORDS; at++) good &= local[at] == peer * 200000L + 3L * at;
  verdict("one-sided get", good);

  for (int at = 0; at < WORDS; at++) {
    window_memory[at] = 1000;
    local[at] = at + rank;
  }
  MPI_Win_fence(0, window);
  /* Both add to rank 0's window at the same time. */
  MPI_Accumulate(local, WORDS, MPI_LONG, 0, 0, WORDS, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  good = 1;
  for (int at = 0; at < WORDS && rank == 0; at++) good &= window_memory[at] == 1000 + 2L * at + 1;
  verdict("one-sided accumulate", good);

  window_memory[0] = 5;
  window_memory[1] = 0;
  MPI_Win_fence(0, window);
  MPI_Win_lock_all(0, window);
  /* One of the two finds 5 there, whoever comes first. */
  MPI_Compare_and_swap(&swap, &expected, &before, MPI_LONG, 0, 0, window);
  MPI_Win_flush(0, window);
  for (int i = 0; i < 50; i++) {
    const long one = 1;
    long old;

    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  good = before == 5;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Win_fence(0, window);
  verdict("compare-and-swap and 100 fetch-and-add of two ranks",
          good == 1 && (rank || (window_memory[0] == 77 && window_memory[1] == 100)));
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  unsigned char *out = malloc(LARGEST), *in = malloc(LARGEST);
  int ranks;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2 || !out || !in) {
    fprintf(stderr, "this needs two ranks and %d bytes twice\n", LARGEST);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  ping_pong(out, in);
  many_at_once(out, in);
  allreduce((long*)out, (long*)in);
  one_sided((long*)out);
  MPI_Finalize();
  return failures != 0;
}
