// SPDX-License-Identifier: GPL-2.0
// A file that is there whole or not at all: it is written under another name and gets its own last.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace rdma::isosurface {

class NewFile {
 public:
  // Opens NAME.partial-PID beside `name`. Throws Failure (kSystem; kInput if `name` is a directory,
  // a device or another file that is none to replace).
  explicit NewFile(std::string name);
  // Removes what was not committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Throws Failure (kSystem) that names the file, and what to do when the disk is full.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // All is on the disk and has its name when this returns; a file that had the name before is
  // replaced. Throws Failure (kSystem).
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string name_;
  std::string partial_;
  std::FILE* file_ = nullptr;
  bool committed_ = false;
};

}  // namespace rdma::isosurface
