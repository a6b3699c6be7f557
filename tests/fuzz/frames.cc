// SPDX-License-Identifier: GPL-2.0
// TARGET_frames CORPUS SEED COUNT CRASH: tries COUNT inputs of the corpus with a few random changes
// each, which takes less time than libFuzzer's search for new code. The input that fails goes to
// CRASH. The last line is "NUMBER inputs in SECONDS s".
#include <sanitizer/common_interface_defs.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

// As the fuzzer's -max_len.
constexpr std::size_t kLongest = 640;
constexpr std::uint64_t kSpeakEvery = 1U << 24;
// So many inputs take less of a processor, by far. Other work on the machine does not count.
constexpr std::uint64_t kBatch = 1U << 16;
constexpr itimerval kBatchTime{.it_interval = {}, .it_value = {.tv_sec = 60, .tv_usec = 0}};

// What runs now, for who asks after a death.
struct Trial {
  std::array<std::uint8_t, kLongest> bytes{};
  std::size_t size = 0;
  const char* crash = nullptr;
};
Trial trial;

// The sanitizers call it before they end the process, and abort() by its signal.
void keep_input() {
  std::FILE* const file = std::fopen(trial.crash, "wb");
  if (file != nullptr) {
    std::fwrite(trial.bytes.data(), 1, trial.size, file);
    std::fclose(file);
  }
}

// A broken property aborts, and an input that never ends is found by the timer.
extern "C" void on_signal(int signal) {
  keep_input();
  if (signal == SIGPROF) {
    constexpr std::array<char, 23> kSaid{"broken: an input ends\n"};
    (void)!write(STDERR_FILENO, kSaid.data(), kSaid.size() - 1);
  }
  _exit(1);
}

std::vector<Bytes> read_corpus(const char* directory) {
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) names.push_back(entry.path());
  }
  // The order of a directory is chance, and a seed is to mean the same everywhere.
  std::ranges::sort(names);
  std::vector<Bytes> corpus;
  for (const auto& name : names) {
    std::ifstream file(name, std::ios::binary);
    Bytes bytes(std::istreambuf_iterator<char>(file), {});
    bytes.resize(std::min(bytes.size(), kLongest));
    corpus.push_back(std::move(bytes));
  }
  return corpus;
}

// Cheap random numbers: xorshift64*. A target takes less time than a good generator.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U | 1U) {}

  std::uint32_t next() {
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    return static_cast<std::uint32_t>(state_ * 0x2545f4914f6cdd1dU >> 32U);
  }
  // Below @bound, which isn't 0.
  std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(std::uint64_t{next()} * bound >> 32U);
  }

 private:
  std::uint64_t state_;
};

void change_byte(Random& random) {
  std::uint8_t& byte = trial.bytes[random.below(trial.size)];
  const std::array<std::uint8_t, 4> edges = {0x00, 0x01, 0x7f, 0xff};
  switch (random.below(3)) {
    case 0:
      byte ^= static_cast<std::uint8_t>(1U << random.below(8));
      break;
    case 1:
      byte = edges[random.below(edges.size())];
      break;
    default:
      byte = static_cast<std::uint8_t>(random.next());
  }
}

// Moves what is behind a place one byte on, or back.
void change_length(Random& random) {
  const std::size_t at = random.below(trial.size);
  std::uint8_t* const begin = trial.bytes.data();
  if ((random.next() & 1U) != 0 && trial.size < kLongest) {
    std::copy_backward(begin + at, begin + trial.size, begin + trial.size + 1);
    trial.size++;
  } else {
    std::copy(begin + at + 1, begin + trial.size, begin + at);
    trial.size--;
  }
}

// The end of another input in the place of this one's.
void take_end(Random& random, const Bytes& other) {
  const std::size_t at = random.below(trial.size);
  const std::size_t from = std::min(at, other.size());
  const std::size_t take = std::min(other.size() - from, kLongest - at);
  std::copy_n(other.data() + from, take, trial.bytes.data() + at);
  trial.size = at + take;
}

void make_trial(Random& random, const std::vector<Bytes>& corpus) {
  const Bytes& from = corpus[random.below(corpus.size())];
  std::copy(from.begin(), from.end(), trial.bytes.begin());
  trial.size = from.size();
  for (std::uint32_t left = 1 + random.below(4); left > 0 && trial.size > 0; left--) {
    switch (random.below(16)) {
      case 0:
        change_length(random);
        break;
      case 1:
        take_end(random, corpus[random.below(corpus.size())]);
        break;
      case 2:
        trial.size = random.below(trial.size);
        break;
      default:
        change_byte(random);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s CORPUS SEED COUNT CRASH\n", argv[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no inputs; make -C tests/fuzz makes some\n", argv[1]);
    return 2;
  }
  Random random(std::strtoull(argv[2], nullptr, 0));
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 0);
  trial.crash = argv[4];
  __sanitizer_set_death_callback(keep_input);
  (void)std::signal(SIGABRT, on_signal);
  (void)std::signal(SIGPROF, on_signal);

  const Clock::time_point began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  for (std::uint64_t done = 0; done < count; done++) {
    if (done % kSpeakEvery == 0 && done > 0) {
      std::printf("%.0f million of %.0f in %.0f s\n", static_cast<double>(done) / 1e6,
                  static_cast<double>(count) / 1e6, seconds());
      std::fflush(stdout);
    }
    if (done % kBatch == 0) setitimer(ITIMER_PROF, &kBatchTime, nullptr);
    make_trial(random, corpus);
    LLVMFuzzerTestOneInput(trial.bytes.data(), trial.size);
  }
  std::printf("%llu inputs in %.1f s\n", static_cast<unsigned long long>(count), seconds());
  return 0;
}
