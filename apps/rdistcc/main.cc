// SPDX-License-Identifier: GPL-2.0
// The client: stands before a compiler's command line, and has another host compile where that can
// be. README.md is its page.

#include <cstdlib>
#include <iostream>

#include "distribute.h"
#include "program.h"

namespace rdma::rdistcc {
namespace {

constexpr auto kPurpose =
    R"(Runs COMPILER ARGUMENT..., and has another host do the compiling if it can: for
`COMPILER ... -c FILE.c -o FILE.o` of gcc and its like. Everything else, and everything when no host
can, is done here. With make: make -j8 CC="rdistcc gcc"

  RDISTCC_HOSTS      "HOST:PORT/JOBS ...": hosts that run rdistccd; each gets JOBS at once (4 without)
  RDISTCC_TRANSPORT  rdma (the default) or tcp, as the daemons have it; --transport goes before it
  RDISTCC_VERBOSE    1: says where each file is compiled, and why not elsewhere
  RDISTCC_STATS      a file that gets a line of JSON for each command: what took how long
)";

const char* setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

class Client {
 public:
  Client(Arguments line, Transport transport)
      : line_(std::move(line)),
        transport_(transport),
        verbose_(std::strcmp(setting("RDISTCC_VERBOSE", "0"), "0") != 0) {}

  // Returns the compiler's status, or does not return at all: the compiler takes this program's
  // place.
  int run() {
    const Command command = read_command(line_);
    report_.source = command.source;
    report_.transport = name_of(transport_);
    if (!command.local.empty()) run_here(command.local);
    const std::vector<Host> hosts = read_hosts(setting("RDISTCC_HOSTS", ""));
    if (hosts.empty()) run_here("RDISTCC_HOSTS names no host");
    std::optional<Slots> slots;
    try {
      slots.emplace();
    } catch (const Failure& failure) {
      run_here(failure.what());
    }
    std::vector<const Host*> tried;
    std::optional<Slot> slot = slots->take(hosts, tried);
    if (!slot) run_here("no host has a free slot, or all are down");
    const Descriptor preprocessed = preprocess_here(command);
    std::string why;
    for (; slot; slot = slots->take(hosts, tried)) {
      const std::string name = slot->host->address.text();
      try {
        const int status = distribute(command, *slot->host, transport_, preprocessed, report_);
        if (status != 0)
          run_here("the compiler of " + name + " ended with status " + std::to_string(status));
        say(command.source + " was compiled by " + name);
        report_.host = name;
        finish(0);
        return 0;
      } catch (const Elsewhere& failure) {
        why = of_host(*slot->host, failure.what());
        if (failure.down || failure.amiss)
          std::cerr << "rdistcc: " << why << std::endl;
        else
          say(why);
        if (failure.down) {
          // So that the same is said once in a while only.
          slots->mark_down(*slot->host);
        }
        tried.push_back(slot->host);
      }
    }
    run_here(why);
  }

 private:
  Descriptor preprocess_here(const Command& command) {
    Descriptor file(memfd_create("preprocessed", MFD_CLOEXEC));
    if (!file) run_here(std::string("memfd_create: ") + std::strerror(errno));
    const Clock::time_point begin = Clock::now();
    const int status = preprocess(command, file);
    report_.preprocessing = Clock::now() - begin;
    if (status != 0) {
      // It has said why, and would say so again.
      finish(status);
      std::exit(status);
    }
    if (length_of(file) == 0) run_here("there is nothing to compile");
    return file;
  }

  void say(const std::string& what) const {
    if (verbose_) std::cerr << "rdistcc: " << what << std::endl;
  }

  void finish(int status) {
    report_.status = status;
    report_.whole = Clock::now() - begin_;
    const char* path = setting("RDISTCC_STATS", nullptr);
    if (path != nullptr) report_.append_to(path);
  }

  [[noreturn]] void run_here(const std::string& why) {
    say("here: " + why);
    report_.why = why;
    finish(0);
    std::vector<char*> arguments;
    for (std::string& argument : line_) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    std::cerr << "rdistcc: " << line_[0] << ": " << std::strerror(errno) << std::endl;
    std::exit(127);
  }

  Arguments line_;
  Transport transport_;
  bool verbose_;
  Clock::time_point begin_ = Clock::now();
  Report report_;
};

int run(Program& app) {
  std::string transport = setting("RDISTCC_TRANSPORT", "rdma");
  app.add_option("--transport", transport, "rdma or tcp, in place of RDISTCC_TRANSPORT");
  app.prefix_command();
  app.read();
  const Arguments line = app.remaining();
  require(!line.empty(), Cause::kInput, "a compiler's command is missing, as in ",
          "'rdistcc gcc -c FILE.c -o FILE.o'; see rdistcc --help");
  require(!line[0].starts_with("-"), Cause::kInput, "there is no option '", line[0],
          "'; see rdistcc --help");
  return Client(line, parse_transport(transport)).run();
}

}  // namespace
}  // namespace rdma::rdistcc

int main(int argc, char** argv) {
  return rdma::run_program("rdistcc", rdma::rdistcc::kPurpose, argc, argv, rdma::rdistcc::run);
}
