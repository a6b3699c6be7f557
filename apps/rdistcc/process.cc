// SPDX-License-Identifier: GPL-2.0
#include "process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>

#include "failure.h"

namespace rdma::rdistcc {
namespace {

bool limit(int resource, std::uint64_t value) {
  const rlimit both{.rlim_cur = value, .rlim_max = value};
  return setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

// In the child, which may only make system calls: its parent has other threads.
bool confine(const Confinement& to) {
  if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_CPU, to.seconds) ||
      !limit(RLIMIT_FSIZE, to.file_bytes) || !limit(RLIMIT_AS, to.memory_bytes))
    return false;
  if (to.user != static_cast<uid_t>(-1) &&
      (setgroups(0, nullptr) != 0 || setgid(to.group) != 0 || setuid(to.user) != 0))
    return false;
  // As the user, who may have no way to it.
  if (chdir(to.directory.c_str()) != 0) return false;
  const int nothing = open("/dev/null", O_RDONLY);
  return nothing >= 0 && dup2(nothing, STDIN_FILENO) == STDIN_FILENO &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

int status_of(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

// The first process of a group is a keeper, and the program its child: a program that starts
// others, as gcc does, does not end them when it is killed, and the kernel tells none but the
// starter's own children that the starter has ended. Returns in the program; false if there can be
// none.
bool keep(pid_t starter) {
  struct sigaction all {};
  all.sa_handler = [](int) { kill(0, SIGKILL); };
  if (setpgid(0, 0) != 0 || sigaction(SIGTERM, &all, nullptr) != 0 ||
      prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != starter)
    return false;
  const pid_t program = _Fork();
  if (program == 0) return signal(SIGTERM, SIG_DFL) != SIG_ERR;
  // Among the starter's descriptors are the connections of its other jobs.
  close_range(0, ~0U, 0);
  int raw = 0;
  if (program > 0) {
    while (waitpid(program, &raw, 0) != program) {
    }
  }
  _exit(program > 0 ? status_of(raw) : kCannotRun);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) {
    // execve(2) does not write to them.
    result.push_back(const_cast<char*>(word.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace

Process::Process(const Start& start) : group_(start.confinement.has_value()) {
  const std::vector<char*> arguments = pointers(start.command);
  std::vector<std::string> words;
  if (start.confinement)
    words = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TMPDIR=" + start.confinement->directory};
  const std::vector<char*> environment = pointers(words);
  const pid_t starter = getpid();
  pid_ = fork();
  if (pid_ < 0) fail_errno("fork");
  if (pid_ == 0) {
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0 ||
        (start.output >= 0 && dup2(start.output, STDOUT_FILENO) < 0) ||
        (start.error >= 0 && dup2(start.error, STDERR_FILENO) < 0) ||
        (start.confinement && !(keep(starter) && confine(*start.confinement))))
      _exit(kCannotRun);
    if (start.confinement)
      execve(arguments[0], arguments.data(), environment.data());
    else
      execvp(arguments[0], arguments.data());
    _exit(kCannotRun);
  }
  descriptor_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

Process::~Process() {
  if (ended_) return;
  if (group_) kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Process::wait(std::chrono::milliseconds limit) {
  if (!ended_) {
    require(static_cast<bool>(descriptor_),
            "pidfd_open: this needs Linux 5.3 and a free descriptor");
    pollfd end{.fd = descriptor_.number(), .events = POLLIN, .revents = 0};
    if (poll(&end, 1, static_cast<int>(limit.count())) <= 0) return false;
    if (group_) {
      // What it has left behind; before waitpid(), after which the number may be another's.
      kill(-pid_, SIGKILL);
    }
    int raw = 0;
    if (waitpid(pid_, &raw, 0) != pid_) fail_errno("waitpid");
    ended_ = true;
    status_ = status_of(raw);
  }
  return true;
}

}  // namespace rdma::rdistcc
