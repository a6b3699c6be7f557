// SPDX-License-Identifier: GPL-2.0
// What `rdma link` and `rdma res show` ask of the kernel, without starting a program.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "descriptor.h"
#include "failure.h"

struct nlmsghdr;

namespace rdma::torture {

class Netlink {
 public:
  // A socket of the calling thread's network namespace. Throws Failure.
  Netlink();

  // `rdma link add NAME type weft netdev NETDEV`. Throws Failure, as do the others.
  void add_link(const std::string& name, const std::string& netdev);
  // `rdma link del`, by index.
  void delete_link(std::uint32_t index);
  // The index of a device; empty: there is none of that name.
  std::optional<std::uint32_t> find(const std::string& name);
  // All objects of every kind that a device has, and its statistics. Returns how many answers.
  unsigned show(std::uint32_t index);

 private:
  void begin(int command, int flags);
  void put(int type, const void* data, std::size_t length);
  void put(int type, const std::string& text) { put(type, text.c_str(), text.size() + 1); }
  void put(int type, std::uint32_t number) { put(type, &number, sizeof(number)); }
  // Sends, and hands over each answer up to the last.
  void talk(const std::function<void(const nlmsghdr*)>& answer);

  Descriptor socket_;
  std::uint32_t sequence_ = 0;
  alignas(8) std::array<std::byte, 512> request_{};
  std::array<std::byte, 32768> answer_{};
};

}  // namespace rdma::torture
