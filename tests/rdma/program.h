// SPDX-License-Identifier: GPL-2.0
// What main() of a program does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <new>

#include "failure.h"

namespace rdma {

// A program's command line.
class Program : public CLI::App {
 public:
  Program(const char* name, const char* purpose, int argc, char** argv)
      : CLI::App(purpose, name), argc_(argc), argv_(argv) {}
  // When all options are added.
  void read() { parse(argc_, argv_); }

 private:
  int argc_;
  char** argv_;
};

// Does the work, which reads the command line and returns the exit status. What is wrong is said on
// standard error; the status is 2 if the command line is, or what it names (Cause::kInput), else 1.
inline int run_program(const char* name, const char* purpose, int argc, char** argv,
                       const std::function<int(Program&)>& work) {
  const auto say = [&](const std::string& what, int status) {
    std::cerr << std::string(name) + ": " + what + "\n";
    return status;
  };
  try {
    Program program(name, purpose, argc, argv);
    try {
      return work(program);
    } catch (const CLI::ParseError& error) {
      return error.get_exit_code() == 0
                 ? program.exit(error)
                 : say(error.what() + ("; see " + std::string(name)) + " --help", 2);
    }
  } catch (const Failure& failure) {
    return say(failure.what(), failure.cause() == Cause::kInput ? 2 : 1);
  } catch (const std::bad_alloc&) {
    return say("there is not enough memory", 1);
  } catch (const std::exception& failure) {
    return say(failure.what(), 1);
  }
}

}  // namespace rdma
