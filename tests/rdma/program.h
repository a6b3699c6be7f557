// SPDX-License-Identifier: GPL-2.0
// What main() of a program does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <new>

#include "failure.h"

namespace rdma {

// Reads the command line and does the work, which returns the exit status. What is wrong is said on
// standard error; the status is 2 if the command line is, or what it names (Cause::kInput), else 1.
inline int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work) {
  const auto say = [&](const std::string& what, int status) {
    std::cerr << app.get_name() + ": " + what + "\n";
    return status;
  };
  try {
    app.parse(argc, argv);
    return work();
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0
               ? app.exit(error)
               : say(error.what() + ("; see " + app.get_name()) + " --help", 2);
  } catch (const Failure& failure) {
    return say(failure.what(), failure.cause() == Cause::kInput ? 2 : 1);
  } catch (const std::bad_alloc&) {
    return say("there is not enough memory", 1);
  } catch (const std::exception& failure) {
    return say(failure.what(), 1);
  }
}

}  // namespace rdma
