// SPDX-License-Identifier: GPL-2.0
#include "allowed.h"

#include <algorithm>
#include <array>

namespace rdma::rdistcc {

namespace {

using std::string_view;

constexpr string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool made_of(string_view text, string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLetters.find(c) != string_view::npos || extra.find(c) != string_view::npos;
  });
}

// Options that are whole words.
constexpr std::array<string_view, 9> kWords{
    "-ansi", "-pedantic", "-pedantic-errors", "-w", "-pipe", "-p", "-pg", "-O", "-g"};

// Of -f: these read or write files of their own, run programs, make no object, take the next
// argument as their value, or have the source preprocessed once more.
constexpr std::array<string_view, 26> kNeverF{"plugin",        "dump",
                                              "profile",       "test-coverage",
                                              "stack-usage",   "callgraph-info",
                                              "save-optimi",   "self-test",
                                              "syntax",        "modules",
                                              "module",        "compare-debug",
                                              "opt-info",      "auto-prof",
                                              "coverage",      "branch-prob",
                                              "repo",          "offload",
                                              "diagnostics-f", "lto-part",
                                              "use-ld",        "preprocessed",
                                              "pch",           "directives-only",
                                              "time-trace",    "intrinsic-modules-path"};

// Of -f: these take a value, which is a word, a number, or a path that is only written into the
// object.
constexpr std::array<string_view, 30> kValuedF{"visibility",
                                               "debug-prefix-map",
                                               "file-prefix-map",
                                               "macro-prefix-map",
                                               "diagnostics-color",
                                               "cf-protection",
                                               "sanitize",
                                               "no-sanitize",
                                               "sanitize-recover",
                                               "no-sanitize-recover",
                                               "tls-model",
                                               "patchable-function-entry",
                                               "max-errors",
                                               "template-depth",
                                               "excess-precision",
                                               "fp-contract",
                                               "abi-version",
                                               "message-length",
                                               "random-seed",
                                               "trivial-auto-var-init",
                                               "zero-call-used-regs",
                                               "strict-flex-arrays",
                                               "align-functions",
                                               "align-jumps",
                                               "align-loops",
                                               "align-labels",
                                               "min-function-alignment",
                                               "stack-limit-register",
                                               "pack-struct",
                                               "vect-cost-model"};

bool allowed_f(string_view option) {
  const bool never = std::any_of(kNeverF.begin(), kNeverF.end(), [&](string_view start) {
    return option.starts_with(start) ||
           (option.starts_with("no-") && option.substr(3).starts_with(start));
  });
  if (never) {
    return false;
  }
  const std::size_t equals = option.find('=');
  if (equals == string_view::npos) {
    return !option.empty() && made_of(option, "-+");
  }
  const string_view name = option.substr(0, equals);
  return std::find(kValuedF.begin(), kValuedF.end(), name) != kValuedF.end() &&
         made_of(option.substr(equals + 1), "-+_.,:=/");
}

// What depends on the processor of the host is not the same on another.
bool allowed_m(string_view option) {
  return !option.empty() && made_of(option, "-+_.,=") && option.find("native") == string_view::npos;
}

bool allowed_g(string_view option) {
  return made_of(option, "-=") && !option.starts_with("split-dwarf") &&
         !option.starts_with("en-decls") && !option.starts_with("nat");
}

}  // namespace

bool is_allowed(string_view argument) {
  if (std::find(kWords.begin(), kWords.end(), argument) != kWords.end()) {
    return true;
  }
  if (argument.size() < 3 || argument[0] != '-') {
    return false;
  }
  const string_view rest = argument.substr(2);
  switch (argument[1]) {
    case 'O':
      return made_of(rest, "");
    case 'f':
      return allowed_f(rest);
    case 'm':
      return allowed_m(rest);
    case 'g':
      return allowed_g(rest);
    // -Wa, -Wl and -Wp have a comma, which is no part of any other.
    case 'W':
      return made_of(rest, "-+_=");
    case 's':
      return argument.starts_with("-std=") && made_of(argument.substr(5), "+:");
    case '-':
      return argument.starts_with("--param=") && made_of(argument.substr(8), "-_=");
    default:
      return false;
  }
}

}  // namespace rdma::rdistcc
