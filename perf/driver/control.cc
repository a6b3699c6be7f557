// SPDX-License-Identifier: GPL-2.0
#include "control.h"

#include <array>
#include <chrono>
#include <thread>

namespace rdma::perf {

Control Control::connect(const std::string& address, std::uint16_t port) {
  constexpr int kAttempts = 100;
  for (int attempt = 0;; attempt++) {
    try {
      Descriptor socket = connect_to({address, port});
      no_delay(socket);
      return Control(std::move(socket));
    } catch (const Failure&) {
      if (attempt == kAttempts) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void Control::send(const std::string& line) const {
  const std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t sent =
        ::send(socket_.number(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent < 0) {
      fail_errno("telling the peer");
    }
    done += static_cast<std::size_t>(sent);
  }
}

std::string Control::receive() {
  for (;;) {
    const std::size_t end = buffered_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    std::array<char, 1024> bytes{};
    const ssize_t got = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (got <= 0) {
      return {};
    }
    buffered_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string Control::expect(const std::string& word) {
  const std::string line = receive();
  require(line.starts_with(word), "the peer said '" + line + "' instead of '" + word + "'" +
                                      (line.empty() ? " (gone)" : ""));
  return line.size() > word.size() ? line.substr(word.size() + 1) : std::string();
}

}  // namespace rdma::perf
