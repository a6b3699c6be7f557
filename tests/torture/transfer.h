// SPDX-License-Identifier: GPL-2.0
// Transfers between two ends whose every byte is verified.
#pragma once

#include <random>

#include "endpoint.h"

namespace rdma::torture {

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
  Layout source;
  Layout target;
};
// A way of random length, one in four of them up to kLongest, at random places.
Way any_way(std::mt19937_64& random);

// The next completion, which must be a success. Throws Broken otherwise, and Failure if there is
// none for that long.
void await(Endpoint& end, ibv_cq* cq, const char* what, std::chrono::seconds patience);

// Carries fresh bytes from one end to the other by a SEND, a WRITE or a READ. Throws as await does.
void transfer(Endpoint& from, Endpoint& to, const Way& way, std::mt19937_64& random,
              std::chrono::seconds patience);

// Verifies every byte but those of targets, in their order, of which a connection that broke may
// have written any part. Throws Failure.
void check_around(const Memory& memory, const Layout& targets, const char* whose);

}  // namespace rdma::torture
