// SPDX-License-Identifier: GPL-2.0
// A process beside this one.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "deadline.h"

namespace rdma {

// How a process ended.
struct End {
  bool killed = false;  // it did not end by itself in time
  bool stuck = false;   // nor by being killed
  int signal = 0;       // it died of this one, of somebody else's
  int status = 0;

  bool good() const { return !killed && signal == 0 && status == 0; }
};

class Child {
 public:
  // Runs `body`, which returns the process's status; 1 if it throws, and says why. Throws Failure.
  explicit Child(const std::function<int()>& body) {
    std::fflush(stdout);
    pid_ = fork();
    if (pid_ < 0) fail_errno("fork");
    if (pid_ == 0) {
      int status = 1;
      try {
        status = body();
      } catch (const std::exception& error) {
        std::printf("# %s\n", error.what());
      }
      std::fflush(stdout);
      _exit(status);
    }
  }

  pid_t pid() const { return pid_; }

  // Waits for its end. After `limit` it is killed, and has another minute. Throws Failure.
  End end(Limit limit) const {
    End end;
    int raw = 0;
    for (Deadline deadline(limit);; usleep(2000)) {
      const pid_t gone = waitpid(pid_, &raw, WNOHANG);
      if (gone < 0) fail_errno("waitpid");
      if (gone != 0) break;
      if (!deadline.over()) continue;
      if (end.killed) {
        end.stuck = true;
        return end;
      }
      end.killed = true;
      kill(pid_, SIGKILL);
      deadline = Deadline(std::chrono::seconds(60));
    }
    end.signal = !end.killed && WIFSIGNALED(raw) ? WTERMSIG(raw) : 0;
    end.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 1;
    return end;
  }

 private:
  pid_t pid_;
};

}  // namespace rdma
