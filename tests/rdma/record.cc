// SPDX-License-Identifier: GPL-2.0
#include "record.h"

#include <cmath>
#include <cstdio>
#include <iostream>

namespace rdma {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
  }
  return out + '"';
}

}  // namespace

void Record::name(std::string_view field) {
  text_ += (text_.size() > 1 ? ", " : "") + quoted(field) + ": ";
}

Record& Record::add(std::string_view field, double value, int digits) {
  char number[32] = "null";  // JSON has no infinity
  if (std::isfinite(value)) {
    const bool whole = value == std::floor(value) && std::fabs(value) < 9e15;
    std::snprintf(number, sizeof(number), "%.*g", whole ? 16 : digits, value);
  }
  name(field);
  text_ += number;
  return *this;
}

Record& Record::add(std::string_view field, std::string_view value) {
  name(field);
  text_ += quoted(value);
  return *this;
}

void Record::print() const { std::cout << text() << '\n' << std::flush; }

}  // namespace rdma
