// SPDX-License-Identifier: GPL-2.0
#include "hosts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>

#include "command.h"
#include "sentence.h"

namespace rdma::rdistcc {
namespace {

constexpr std::time_t kDown = 30;  // seconds

std::string own_directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime != nullptr && *runtime != '\0' ? std::string(runtime) + "/rdistcc"
                                                : "/tmp/rdistcc-" + std::to_string(geteuid());
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

Network::Bytes numeric(std::string host) {
  // As a socket that takes both families names a peer with IPv4.
  constexpr std::string_view kMapped = "::ffff:";
  if (host.starts_with(kMapped) && host.find('.') != std::string::npos)
    host.erase(0, kMapped.size());
  Network::Bytes result;
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, host.c_str(), result.bytes.data()) == 1) {
      result.family = family;
      break;
    }
  }
  return result;
}

}  // namespace

std::vector<Host> read_hosts(const std::string& text) {
  constexpr unsigned kSlots = 4;
  constexpr unsigned kMostSlots = 256;
  std::vector<Host> hosts;
  for (const std::string& word : split(text)) {
    const std::size_t slash = word.rfind('/');
    unsigned slots = kSlots;
    if (slash != std::string::npos) {
      slots = number(word.substr(slash + 1)).value_or(0);
      require(slots > 0 && slots <= kMostSlots, Cause::kInput, "in '", word,
              "' the number behind / is not 1 to ", kMostSlots, ": jobs at once");
    }
    hosts.push_back({.address = Address::parse(word.substr(0, slash)), .slots = slots});
  }
  return hosts;
}

std::string of_host(const Host& host, const std::string& what) {
  const std::string address = host.address.text();
  const bool named = what.find(address) != std::string::npos ||
                     what.find("'" + host.address.host + "'") != std::string::npos;
  return named ? what : address + ": " + what;
}

Network::Network(std::string_view text) {
  const std::size_t slash = text.find('/');
  address_ = numeric(std::string(text.substr(0, slash)));
  const unsigned most = address_.family == AF_INET ? 32 : 128;
  bits_ =
      slash == std::string_view::npos ? most : number(text.substr(slash + 1)).value_or(most + 1);
  require(address_.family != 0 && bits_ <= most, Cause::kInput, "'", text,
          "' is no network; write it as 10.0.0.0/24, fd00::/64, or one address");
}

bool Network::contains(const std::string& host) const {
  const Bytes address = numeric(host);
  if (address.family != address_.family) return false;
  for (unsigned bit = 0; bit < bits_; bit++) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    if (((address.bytes[bit / 8] ^ address_.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Slots::Slots() : Slots(own_directory()) {}

Slots::Slots(std::string directory) : directory_(std::move(directory)) {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) fail_errno(directory_);
  // In /tmp another user may have been first.
  struct stat status {};
  require(lstat(directory_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
              status.st_uid == geteuid(),
          Cause::kSystem, directory_, " is not this user's; remove it");
}

std::string Slots::file(const Host& host, const std::string& what) const {
  std::string name = host.address.text();
  std::replace(name.begin(), name.end(), '/', '_');
  return directory_ + "/" + name + "-" + what;
}

bool Slots::is_down(const Host& host) const {
  struct stat status {};
  return stat(file(host, "down").c_str(), &status) == 0 &&
         std::time(nullptr) - status.st_mtime < kDown;
}

void Slots::mark_down(const Host& host) const {
  const Descriptor mark(open(file(host, "down").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (mark) futimens(mark.number(), nullptr);
}

std::optional<Slot> Slots::take(const std::vector<Host>& hosts,
                                const std::vector<const Host*>& besides) const {
  unsigned most = 0;
  std::vector<const Host*> usable;
  for (const Host& host : hosts) {
    if (std::find(besides.begin(), besides.end(), &host) == besides.end() && !is_down(host)) {
      usable.push_back(&host);
      most = std::max(most, host.slots);
    }
  }
  for (unsigned number = 0; number < most; number++) {
    for (const Host* host : usable) {
      if (number >= host->slots) continue;
      Descriptor held(
          open(file(*host, std::to_string(number)).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
      if (held && flock(held.number(), LOCK_EX | LOCK_NB) == 0)
        return Slot{.host = host, .held = std::move(held)};
    }
  }
  return std::nullopt;
}

}  // namespace rdma::rdistcc
