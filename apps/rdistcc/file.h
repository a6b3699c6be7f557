// SPDX-License-Identifier: GPL-2.0
// Files whose bytes are in memory that a link can use, and files that are there whole or not at
// all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "descriptor.h"

namespace rdma::rdistcc {

// Gives a file its length, and the room for all of it: where there is none, mapped memory could not
// be written. Throws Failure (kSystem) that names the file and the next step.
void reserve(const Descriptor& file, std::uint64_t length, const std::string& name);

// The length of an open file in bytes. Throws Failure (kSystem).
std::uint64_t length_of(const Descriptor& file);

// A file's bytes as memory: what is written to one is in the other.
class Mapping {
 public:
  // `length` is not 0, and the file is open for reading and writing. Throws Failure
  // (kSystem).
  Mapping(const Descriptor& file, std::uint64_t length);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// A file that is made in the place of another: until commit() the other stays as it is, and without
// commit() nothing is left.
class Output {
 public:
  // Throws Failure (kSystem) if nothing can be written there.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const Descriptor& file() const { return file_; }
  // Is it in a tmpfs, whose pages may be registered for as long as one likes?
  bool in_memory() const;
  // Writes all bytes to the file, from its beginning. Throws Failure (kSystem).
  void write(std::span<const std::byte> bytes) const;
  // Throws Failure (kSystem).
  void commit();

 private:
  std::string path_;
  std::string temporary_;  // a name in the same directory, with which it is renamed
  bool named_ = false;     // the file has that name
  Descriptor file_;
};

}  // namespace rdma::rdistcc
