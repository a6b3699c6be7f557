// SPDX-License-Identifier: GPL-2.0
#include "new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "failure.h"

namespace rdma::isosurface {
namespace {

constexpr std::size_t kBuffer = 64 << 10;

}  // namespace

NewFile::NewFile(std::string name)
    : name_(std::move(name)), partial_(name_ + ".partial-" + std::to_string(getpid())) {
  struct stat there {};
  if (lstat(name_.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    throw Failure(Cause::kInput,
                  name_ + " is there and no regular file; it is not replaced: name another");
  // One that has this name is of a process that had this number before, or somebody's trap.
  unlink(partial_.c_str());
  descriptor_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail("can't be made");
  buffer_.reserve(kBuffer);
}

NewFile::~NewFile() {
  if (descriptor_ < 0)
    return;
  close(descriptor_);
  unlink(partial_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kBuffer)
    write_buffered();
}

void NewFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void NewFile::write_buffered() {
  std::span<const std::byte> left(buffer_);
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("can't be written");
    left = left.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void NewFile::commit() {
  write_buffered();
  if (fsync(descriptor_) != 0)
    fail("can't be written");
  if (rename(partial_.c_str(), name_.c_str()) != 0)
    fail("can't get its name");
  close(descriptor_);
  descriptor_ = -1;
}

void NewFile::fail(const char* what) const {
  const int reason = errno;
  std::string text = name_ + " " + what + ": " + std::strerror(reason);
  if (reason == ENOSPC || reason == EDQUOT)
    text += "; nothing of it is left; make room, or name a file on another disk";
  throw Failure(Cause::kSystem, text);
}

}  // namespace rdma::isosurface
