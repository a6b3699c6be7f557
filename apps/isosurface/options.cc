// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "failure.h"

namespace isosurface {
namespace {

[[noreturn]] void wrong(const std::string& what) {
  throw apps::Failure(apps::Cause::kInput, what);
}

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stopped != text.data() + text.size())
    return {};
  return value;
}

long in_range(std::string_view name, std::string_view text, long least, long most) {
  const auto value = parsed<long>(text);
  if (!value || *value < least || *value > most)
    wrong("--" + std::string(name) + " takes a whole number from " + std::to_string(least) +
          " to " + std::to_string(most) + ", not '" + std::string(text) + "'");
  return *value;
}

}  // namespace

Options::Options(std::span<char* const> words, std::initializer_list<std::string_view> valued,
                 std::initializer_list<std::string_view> flags) {
  const auto among = [](auto names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with("--")) {
      others_.emplace_back(word);
      continue;
    }
    const std::string name(word.substr(2));
    if (among(flags, name)) {
      values_[name] = "";
      continue;
    }
    if (!among(valued, name))
      wrong("there is no option " + std::string(word) + " here; see isosurface --help");
    if (i + 1 == words.size())
      wrong(std::string(word) + " takes a value; see isosurface --help");
    values_[name] = words[++i];
  }
}

std::optional<std::string> Options::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end())
    return {};
  return found->second;
}

std::string Options::needed(std::string_view name) const {
  if (auto value = text(name))
    return *value;
  wrong("--" + std::string(name) + " is missing; see isosurface --help");
}

long Options::number(std::string_view name, long otherwise, long least, long most) const {
  const auto value = text(name);
  return value ? in_range(name, *value, least, most) : otherwise;
}

double Options::real(std::string_view name, double otherwise) const {
  const auto value = text(name);
  if (!value)
    return otherwise;
  const auto number = parsed<double>(*value);
  if (!number || !std::isfinite(*number))
    wrong("--" + std::string(name) + " takes a number, not '" + *value + "'");
  return *number;
}

std::vector<long> Options::numbers(std::string_view name, char between, std::size_t count,
                                   long least, long most) const {
  const std::string value = needed(name);
  std::vector<long> all;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(between, begin), value.size());
    all.push_back(in_range(name, std::string_view(value).substr(begin, end - begin), least, most));
    begin = end + 1;
  }
  if (all.size() != count)
    wrong("--" + std::string(name) + " takes " + std::to_string(count) + " numbers with '" +
          between + "' between them, not '" + value + "'");
  return all;
}

std::vector<std::string> Options::others(std::initializer_list<std::string_view> names) const {
  if (others_.size() > names.size())
    wrong("'" + others_[names.size()] + "' is one word too many; see isosurface --help");
  if (others_.size() < names.size())
    wrong(std::string(*(names.begin() + others_.size())) + " is missing; see isosurface --help");
  return others_;
}

}  // namespace isosurface
