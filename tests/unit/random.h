// SPDX-License-Identifier: GPL-2.0
// Random numbers that are others in each run, so that a test of random inputs tries new ones.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

// Of a run's seed (WEFT_SEED, or a fresh one, which is printed) and the test's own number.
inline std::mt19937 fresh_random(std::uint32_t which) {
  static const std::uint32_t seed = [] {
    const char* const given = std::getenv("WEFT_SEED");
    const auto chosen = given != nullptr && *given != '\0'
                            ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 0))
                            : static_cast<std::uint32_t>(std::random_device()());
    std::printf("# the seed is %u; WEFT_SEED=%u repeats this run\n", chosen, chosen);
    return chosen;
  }();
  return std::mt19937(seed + which);
}
