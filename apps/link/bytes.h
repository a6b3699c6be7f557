// SPDX-License-Identifier: GPL-2.0
// Numbers in bytes, big endian as networks have them.
#ifndef WEFT_APPS_BYTES_H
#define WEFT_APPS_BYTES_H

#include <concepts>
#include <cstddef>

namespace apps {

// Both take as many bytes as the number has.
template <std::unsigned_integral Number>
void put_big(std::byte* at, Number number) {
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    at[i] = static_cast<std::byte>(number & 0xff);
    number = static_cast<Number>(static_cast<unsigned long long>(number) >> 8);
  }
}

template <std::unsigned_integral Number>
Number get_big(const std::byte* at) {
  unsigned long long number = 0;
  for (std::size_t i = 0; i < sizeof(Number); i++) {
    number = number << 8 | std::to_integer<unsigned>(at[i]);
  }
  return static_cast<Number>(number);
}

}  // namespace apps

#endif  // WEFT_APPS_BYTES_H
