// SPDX-License-Identifier: GPL-2.0
#include "new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "failure.h"

namespace rdma::isosurface {

NewFile::NewFile(std::string name)
    : name_(std::move(name)), partial_(name_ + ".partial-" + std::to_string(getpid())) {
  struct stat there {};
  if (lstat(name_.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    throw Failure(Cause::kInput,
                  name_ + " is there and no regular file; it is not replaced: name another");
  // One that has this name is of a process that had this number before, or somebody's trap.
  unlink(partial_.c_str());
  file_ = std::fopen(partial_.c_str(), "wxe");
  if (file_ == nullptr)
    fail("can't be made");
}

NewFile::~NewFile() {
  std::fclose(file_);
  if (!committed_)
    unlink(partial_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    fail("can't be written");
}

void NewFile::commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0)
    fail("can't be written");
  if (rename(partial_.c_str(), name_.c_str()) != 0)
    fail("can't get its name");
  committed_ = true;
}

void NewFile::fail(const char* what) const {
  const int reason = errno;
  std::string text = name_ + " " + what + ": " + std::strerror(reason);
  if (reason == ENOSPC || reason == EDQUOT)
    text += "; nothing of it is left; make room, or name a file on another disk";
  throw Failure(Cause::kSystem, text);
}

}  // namespace rdma::isosurface
