// SPDX-License-Identifier: GPL-2.0
#include "suite.h"

#include <cstdio>
#include <cstdlib>

namespace rdma {
namespace {
// Failures cost up to kPatience each; a group that is broken need not show it a hundred times.
constexpr unsigned kEnough = 3;
}  // namespace

std::uint64_t Suite::seed() {
  const char* const given = std::getenv("WEFT_SEED");
  return given != nullptr && *given != '\0' ? std::strtoull(given, nullptr, 0)
                                            : std::random_device()();
}

Suite::Suite(const Connector& connector, std::string only, std::uint64_t seed, bool siw)
    : connector_(connector), only_(std::move(only)), random_(seed), siw_(siw) {
  std::printf("# the seed is %llu; WEFT_SEED=%llu repeats this run\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed));
}

void Suite::group(const std::string& name, const std::function<void()>& body) {
  if (without_.erase(name) != 0 || name.find(only_) == std::string::npos) return;
  const unsigned passed_before = passed_;
  const Clock::time_point begin = Clock::now();
  failed_in_group_ = 0;
  reasons_.clear();
  std::string note;
  attempt(name, [&] {
    try {
      body();
      // Bytes that no case looked at must be as they were, too.
      if (pair_.client != nullptr)
        run("the whole of both arenas", [this] { check_all(*pair_.client, *pair_.server); });
    } catch (const GivenUp&) {
      note = ", rest given up";
    }
  });
  pair_ = {};
  const auto taken = std::chrono::duration<double>(Clock::now() - begin).count();
  const unsigned cases = passed_ - passed_before;
  if (failed_in_group_ != 0) {
    ++groups_failed_;
    std::printf("not ok %u - %s: %u passed, %u failed%s (%.1f s)\n", told(), name.c_str(), cases,
                failed_in_group_, note.c_str(), taken);
  } else if (cases != 0) {
    ++groups_passed_;
    std::printf("ok %u - %s: %u cases (%.1f s)\n", told(), name.c_str(), cases, taken);
  } else if (reasons_.empty()) {
    ++groups_failed_;
    std::printf("not ok %u - %s: it has no case\n", told(), name.c_str());
  }
  // Groups that passed do not hide those that did not run.
  for (const std::string& reason : reasons_) {
    ++groups_skipped_;
    std::printf("ok %u - %s # SKIP %s\n", told(), name.c_str(), reason.c_str());
  }
  std::fflush(stdout);
}

bool Suite::attempt(const std::string& what, const std::function<void()>& body) {
  std::string why;
  try {
    body();
    return true;
  } catch (const Skip& reason) {
    reasons_.insert(reason.what());
    return false;
  } catch (const Lacking& reason) {
    if (siw_) {
      reasons_.insert(reason.what());
      return false;
    }
    why = reason.what();
  } catch (const Failure& failure) {
    why = failure.what();
  }
  std::printf("# %s: %s\n", what.c_str(), why.c_str());
  std::fflush(stdout);
  pair_ = {};
  ++failed_in_group_;
  return false;
}

void Suite::run(const std::string& what, const std::function<void()>& body) {
  ++cases_;
  const bool polling = cases_ % 4 == 0;
  const unsigned failed_before = failed_in_group_;
  if (attempt(what + (polling ? " (polling)" : ""), body))
    ++passed_;
  else if (failed_in_group_ != failed_before && failed_in_group_ >= kEnough)
    throw GivenUp();
}

void Suite::skip(const std::string& why) { throw Skip(why); }

int Suite::finish() {
  for (const std::string& name : without_) {
    ++groups_failed_;
    std::printf("not ok %u - %s: to be left out, and no group is called that\n", told(),
                name.c_str());
  }
  if (told() == 0)
    std::fprintf(stderr, "No group was run: the name of none contains \"%s\".\n", only_.c_str());
  std::printf("1..%u\n", told());
  return groups_failed_ != 0 || groups_passed_ == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

Pair& Suite::pair() {
  if (pair_.client == nullptr) pair_ = connector_.connect();
  const Wait wait = cases_ % 4 == 0 ? Wait::kPoll : Wait::kEvent;
  pair_.client->wait_with(wait);
  pair_.server->wait_with(wait);
  return pair_;
}

std::uint32_t Suite::random(std::uint32_t limit) {
  return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random_);
}

}  // namespace rdma
