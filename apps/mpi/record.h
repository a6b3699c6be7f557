// SPDX-License-Identifier: GPL-2.0
// One result: a JSON object on a line of its own. A name says its unit: median_us, rate_mb_s.
#ifndef WEFT_APPS_MPI_RECORD_H
#define WEFT_APPS_MPI_RECORD_H

#include <fstream>
#include <string>
#include <string_view>

namespace mpibench {

class Record {
 public:
  Record& add(std::string_view field, double value);
  Record& add(std::string_view field, std::string_view value);
  // The object, without a newline.
  std::string text() const { return text_ + "}"; }

 private:
  void name(std::string_view field);
  std::string text_ = "{";
};

// Where results go: to standard output, and to a file as well if one is named.
class Report {
 public:
  // `path` is empty for no file. Throws Failure if the file cannot be made.
  explicit Report(const std::string& path);
  // Writes the record. Throws Failure if the file or standard output does not take it.
  void write(const Record& record);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace mpibench

#endif  // WEFT_APPS_MPI_RECORD_H
