// SPDX-License-Identifier: GPL-2.0
// A process that forks keeps its regions, and its child gets copies.
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "transfer.h"

namespace rdma {
namespace {

constexpr std::uint32_t kLength = 20000;

// A child that waits for a word, scribbles over its copy of both ends' arenas, and is gone.
class Child {
 public:
  Child(const Endpoint& one, const Endpoint& other) {
    must(pipe(pipe_), "pipe");
    pid_ = fork();
    if (pid_ < 0) {
      fail_errno("fork");
    }
    if (pid_ == 0) {
      char word = 0;
      close(pipe_[1]);
      const bool told = read(pipe_[0], &word, 1) == 1;
      for (const Endpoint* end : {&one, &other}) {
        std::memset(end->memory().bytes(), 0xdd, end->memory().size());
      }
      _exit(told ? 0 : 1);
    }
  }
  ~Child() {
    close(pipe_[0]);
    close(pipe_[1]);
    if (pid_ > 0) {
      waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Has it scribble and end.
  void scribble() {
    const char word = 1;
    require(write(pipe_[1], &word, 1) == 1, "the child can't be told");
    int status = -1;
    const pid_t gone = waitpid(pid_, &status, 0);
    pid_ = 0;
    require(gone > 0 && status == 0, "the child ended with " + std::to_string(status));
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = 0;
};

void write_and_read(const Pair& pair) {
  Endpoint& client = *pair.client;
  Endpoint& server = *pair.server;
  prepare(client, server, kLength);
  client.carry_out(client.work(IBV_WR_RDMA_WRITE, {{kSource, kLength}}, server, kTarget));
  // A read behind it: the write has been placed when that is done.
  client.memory().expect({{kTarget, kLength}}, server.memory().gather({{kTarget, kLength}}));
  client.carry_out(client.work(IBV_WR_RDMA_READ, {{kTarget, kLength}}, server, kTarget));
  check_target(client, kLength);
  check_target(server, kLength);
}

void parent_goes_on(Suite& suite) {
  const Pair pair = suite.connector().connect();
  send_checked(*pair.client, *pair.server, kLength);
  Child child(*pair.client, *pair.server);
  // From here on, the wire must carry the bytes that the parent writes, and the parent must read
  // the bytes that arrive.
  send_checked(*pair.client, *pair.server, kLength);
  write_and_read(pair);
  child.scribble();
  check_all(*pair.client, *pair.server);
  send_checked(*pair.server, *pair.client, kLength);
  write_and_read(pair);
}

}  // namespace

void fork_cases(Suite& suite) {
  suite.group("fork", [&] { suite.run("the parent goes on", [&] { parent_goes_on(suite); }); });
}

}  // namespace rdma
