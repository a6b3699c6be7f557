// SPDX-License-Identifier: GPL-2.0
#include "suite.h"

#include <cstdio>

#include "failure.h"

namespace placement {

namespace {
// Failures cost up to kPatience each; a group that is broken need not show it a hundred times.
constexpr unsigned kEnough = 3;
}  // namespace

void Suite::group(const std::string& name, const std::function<void()>& body) {
  if (name.find(only_) == std::string::npos) {
    return;
  }
  const unsigned passed_before = passed_;
  const Clock::time_point begin = Clock::now();
  failed_in_group_ = 0;
  std::string note;
  bool skipped = false;
  try {
    body();
    // Bytes that no case looked at must be as they were, too.
    if (pair_.client != nullptr) {
      run("the whole of both arenas", [this] {
        pair_.client->memory().check({}, "client");
        pair_.server->memory().check({}, "server");
      });
    }
  } catch (const GivenUp&) {
    note = ", rest given up";
  } catch (const Skip& reason) {
    note = reason.what();
    skipped = true;
  } catch (const Failure& failure) {
    // Not in a case: the group could not be set up.
    std::printf("# %s: %s\n", name.c_str(), failure.what());
    ++failed_;
    ++failed_in_group_;
  }
  pair_ = {};
  const auto taken = std::chrono::duration<double>(Clock::now() - begin).count();
  const unsigned cases = passed_ - passed_before;
  if (failed_in_group_ != 0) {
    std::printf("not ok %s: %u passed, %u failed%s (%.1f s)\n", name.c_str(), cases,
                failed_in_group_, note.c_str(), taken);
  } else if (skipped) {
    ++skipped_;
    std::printf("skip %s: %s\n", name.c_str(), note.c_str());
  } else {
    std::printf("ok %s: %u cases (%.1f s)\n", name.c_str(), cases, taken);
  }
  std::fflush(stdout);
}

void Suite::run(const std::string& what, const std::function<void()>& body) {
  ++cases_;
  try {
    body();
    ++passed_;
  } catch (const Failure& failure) {
    const bool polling = cases_ % 4 == 0;
    std::printf("# %s%s: %s\n", what.c_str(), polling ? " (polling)" : "", failure.what());
    std::fflush(stdout);
    pair_ = {};
    ++failed_;
    if (++failed_in_group_ >= kEnough) {
      throw GivenUp();
    }
  }
}

void Suite::skip(const std::string& why) {
  throw Skip(why);
}

Pair& Suite::pair() {
  if (pair_.client == nullptr) {
    pair_ = connector_.connect();
  }
  const Wait wait = cases_ % 4 == 0 ? Wait::kPoll : Wait::kEvent;
  pair_.client->wait_with(wait);
  pair_.server->wait_with(wait);
  return pair_;
}

std::uint32_t Suite::random(std::uint32_t limit) {
  return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random_);
}

}  // namespace placement
