// SPDX-License-Identifier: GPL-2.0
#include "record.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iostream>

#include "require.h"

namespace mpibench {

namespace {

std::string quoted(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

void Record::name(std::string_view field) {
  if (text_.size() > 1) {
    text_ += ", ";
  }
  text_ += quoted(field) + ": ";
}

Record& Record::add(std::string_view field, double value) {
  name(field);
  if (!std::isfinite(value)) {
    text_ += "null";  // JSON has no infinity
    return *this;
  }
  std::array<char, 32> digits{};
  // Whole numbers as they are: counters have more digits than a measurement is worth.
  const auto [end, error] = value == std::floor(value) && std::abs(value) < 9e15
                                ? std::to_chars(digits.data(), digits.data() + digits.size(),
                                                static_cast<long long>(value))
                                : std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                                std::chars_format::general, 6);
  require(error == std::errc(), "a number has too many digits");
  text_.append(digits.data(), end);
  return *this;
}

Record& Record::add(std::string_view field, std::string_view value) {
  name(field);
  text_ += quoted(value);
  return *this;
}

Report::Report(const std::string& path) : path_(path) {
  if (path.empty()) {
    return;
  }
  file_.open(path, std::ios::trunc);
  if (!file_) {
    throw Failure(Cause::kSystem, "cannot make " + path + ": " + std::strerror(errno));
  }
}

void Report::write(const Record& record) {
  const std::string line = record.text() + "\n";
  std::cout << line << std::flush;
  if (!std::cout) {
    throw Failure(Cause::kSystem,
                  "standard output takes no more: is the disk full, or its reader gone?");
  }
  if (path_.empty()) {
    return;
  }
  file_ << line << std::flush;
  if (!file_) {
    throw Failure(Cause::kSystem, "cannot write to " + path_ + ": " + std::strerror(errno) +
                                      "; what was measured so far is on standard output");
  }
}

}  // namespace mpibench
