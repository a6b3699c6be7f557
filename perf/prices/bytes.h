// SPDX-License-Identifier: GPL-2.0
// What a byte costs that is copied, cleared or checked, by how far away its memory is.
#pragma once

#include <string>
#include <vector>

namespace rdma::prices {

// Nanoseconds a byte. Hot memory is in the second cache, cold memory is in none.
struct BytePrice {
  std::string what;
  double hot;
  double l3;
  double cold;
};

// By the instructions that kernels use: copied_b (rep movsb), copied_q (rep movsq, by pages),
// cleared (rep stosq), checked (crc32q, three streams at once). Takes some seconds and a GiB of
// memory; throws Failure.
std::vector<BytePrice> bytes();

// Nanoseconds that a string instruction takes beyond its bytes: the mean of one that copies 64
// bytes and of one that clears them, whose price is `hot` of copied_b and of cleared.
double string_ns(const std::vector<BytePrice>& of);

}  // namespace rdma::prices
