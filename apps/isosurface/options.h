// SPDX-License-Identifier: GPL-2.0
// The words of a command line: --name VALUE, --name, and the others in their order.
#ifndef WEFT_APPS_ISOSURFACE_OPTIONS_H
#define WEFT_APPS_ISOSURFACE_OPTIONS_H

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isosurface {

// All throw Failure (kInput) with a message for the user.
class Options {
 public:
  // `valued` are the names that take a value, `flags` those that take none.
  Options(std::span<char* const> words, std::initializer_list<std::string_view> valued,
          std::initializer_list<std::string_view> flags);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> text(std::string_view name) const;
  // Fails if it is missing.
  std::string needed(std::string_view name) const;
  // A whole number in a range.
  long number(std::string_view name, long otherwise, long least, long most) const;
  double real(std::string_view name, double otherwise) const;
  // Whole numbers, of which there are `count`, with that letter between them: 64x64x32.
  std::vector<long> numbers(std::string_view name, char between, std::size_t count, long least,
                            long most) const;
  // The words that are no options; fails if there are not as many as `names`.
  std::vector<std::string> others(std::initializer_list<std::string_view> names) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> others_;
};

}  // namespace isosurface

#endif  // WEFT_APPS_ISOSURFACE_OPTIONS_H
