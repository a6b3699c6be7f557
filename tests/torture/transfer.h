// SPDX-License-Identifier: GPL-2.0
// Transfers between two ends whose every byte is verified.
#ifndef WEFT_TESTS_TORTURE_TRANSFER_H
#define WEFT_TESTS_TORTURE_TRANSFER_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>

#include "endpoint.h"
#include "layout.h"

namespace torture {

// A completion with an error: the connection has ended.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where transfers begin in an end's memory, about.
inline constexpr std::size_t kSource = 64U << 10;
inline constexpr std::size_t kTarget = 2U << 20;
inline constexpr std::uint32_t kLongest = 1U << 20;
inline constexpr std::size_t kArena = 4U << 20;

// From where to where.
struct Way {
  placement::Layout source;
  placement::Layout target;
};
// A way of random length, one in four of them up to kLongest, at random places.
Way any_way(std::mt19937_64& random);

// The next completion, which must be a success. Throws Broken otherwise, and Failure if there is
// none for that long.
void await(placement::Endpoint& end, ibv_cq* cq, const char* what, std::chrono::seconds patience);

// Carries fresh bytes from one end to the other by a SEND, a WRITE or a READ. Throws as await does.
void transfer(placement::Endpoint& from, placement::Endpoint& to, const Way& way,
              std::mt19937_64& random, std::chrono::seconds patience);

// Verifies every byte but those of targets, in their order, of which a connection that broke may
// have written any part. Throws Failure.
void check_around(const placement::Memory& memory, const placement::Layout& targets,
                  const char* whose);

}  // namespace torture

#endif  // WEFT_TESTS_TORTURE_TRANSFER_H
