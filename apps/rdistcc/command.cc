// SPDX-License-Identifier: GPL-2.0
#include "command.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace rdma::rdistcc {

Arguments split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

namespace {

using std::string_view;

// Options of the preprocessor: they are for this host alone. Those of the first list have their
// value in the next argument or behind them, those of the second only in the next.
const Arguments kValued = split(
    "-D -U -I -include -imacros -isystem -idirafter -iquote -iprefix -isysroot -iwithprefix "
    "-iwithprefixbefore -imultilib");
const Arguments kDependencies = split("-MF -MT -MQ");
const Arguments kWords = split("-nostdinc -nostdinc++ -undef -C -CC -MD -MMD -MP -MG -trigraphs");

// Options of compilation that are whole words.
const Arguments kPlain = split("-ansi -pedantic -pedantic-errors -w -pipe -p -pg -O -g");

// Of -f: these read or write files of their own, run programs, make no object, take the next
// argument as their value, or have the source preprocessed once more.
const Arguments kNeverF = split(
    "plugin dump profile test-coverage stack-usage callgraph-info save-optimi self-test syntax "
    "modules module compare-debug opt-info auto-prof coverage branch-prob repo offload "
    "diagnostics-f lto-part use-ld preprocessed pch directives-only time-trace "
    "intrinsic-modules-path");

// Of -f: these take a value, which is a word, a number, or a path that is only written into the
// object.
const Arguments kValuedF = split(
    "visibility debug-prefix-map file-prefix-map macro-prefix-map diagnostics-color cf-protection "
    "sanitize no-sanitize sanitize-recover no-sanitize-recover tls-model patchable-function-entry "
    "max-errors template-depth excess-precision fp-contract abi-version message-length random-seed "
    "trivial-auto-var-init zero-call-used-regs strict-flex-arrays align-functions align-jumps "
    "align-loops align-labels min-function-alignment stack-limit-register pack-struct "
    "vect-cost-model");

bool is_one(const Arguments& words, string_view word) {
  return std::ranges::find(words, word) != words.end();
}

constexpr string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool made_of(string_view text, string_view extra) {
  return std::ranges::all_of(text, [&](char c) {
    return kLetters.find(c) != string_view::npos || extra.find(c) != string_view::npos;
  });
}

bool allowed_f(string_view option) {
  const bool never = std::ranges::any_of(kNeverF, [&](string_view start) {
    return option.starts_with(start) ||
           (option.starts_with("no-") && option.substr(3).starts_with(start));
  });
  if (never) return false;
  const std::size_t equals = option.find('=');
  if (equals == string_view::npos) return !option.empty() && made_of(option, "-+");
  const string_view name = option.substr(0, equals);
  return is_one(kValuedF, name) && made_of(option.substr(equals + 1), "-+_.,:=/");
}

// What depends on the processor of the host is not the same on another.
bool allowed_m(string_view option) {
  return !option.empty() && made_of(option, "-+_.,=") && option.find("native") == string_view::npos;
}

bool allowed_g(string_view option) {
  return made_of(option, "-=") && !option.starts_with("split-dwarf") &&
         !option.starts_with("en-decls") && !option.starts_with("nat");
}

string_view suffix_of(string_view path) {
  const string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == string_view::npos ? string_view() : name.substr(dot + 1);
}

// The suffix of what a source is preprocessed to; empty if it is of no language that is
// distributed.
string_view preprocessed(string_view source) {
  const string_view suffix = suffix_of(source);
  if (suffix == "c") return "i";
  static const Arguments cxx = split("cc cpp cxx c++ C cp");
  return is_one(cxx, suffix) ? "ii" : "";
}

std::string with_suffix(string_view path, string_view suffix) {
  const std::size_t end = path.size() - suffix_of(path).size();
  return std::string(path.substr(0, end)) + std::string(suffix);
}

class Reader {
 public:
  explicit Reader(const Arguments& line) : line_(line) {}

  Command read() {
    if (line_.empty()) return refuse("there is no compiler");
    command_.compiler = line_[0];
    if (command_.compiler.find('/') != std::string::npos)
      return refuse("the compiler is named by a path");
    command_.preprocess = {line_[0], "-E"};
    for (at_ = 1; at_ < line_.size() && command_.local.empty(); at_++) take(line_[at_]);
    return finish();
  }

 private:
  Command refuse(const std::string& why) {
    command_.local = why;
    return command_;
  }

  // Keeps the argument, and its value, for this host's preprocessor.
  void keep(const std::string& argument, bool with_next) {
    command_.preprocess.push_back(argument);
    if (with_next) {
      if (++at_ == line_.size()) {
        refuse("the value of " + argument + " is missing");
        return;
      }
      command_.preprocess.push_back(line_[at_]);
    }
  }

  void take(const std::string& argument) {
    if (argument == "-c") {
      compiles_ = true;
    } else if (argument.starts_with("-o")) {
      take_output(argument);
    } else if (!argument.starts_with("-")) {
      take_source(argument);
    } else if (is_one(kWords, argument)) {
      depends_ = depends_ || argument == "-MD" || argument == "-MMD";
      keep(argument, false);
    } else if (is_one(kDependencies, argument)) {
      names_file_ = names_file_ || argument == "-MF";
      names_target_ = names_target_ || argument != "-MF";
      keep(argument, true);
    } else if (argument.starts_with("-Wp,-MD,") || argument.starts_with("-Wp,-MMD,")) {
      keep(argument, false);
    } else if (std::ranges::any_of(kValued, [&](const std::string& option) {
                 return argument.starts_with(option);
               })) {
      keep(argument, is_one(kValued, argument));
    } else if (argument == "--param" && ++at_ < line_.size()) {
      take("--param=" + line_[at_]);
    } else if (is_allowed(argument)) {
      command_.preprocess.push_back(argument);
      command_.compile.push_back(argument);
    } else {
      refuse(argument + " is not for another host");
    }
  }

  void take_output(const std::string& argument) {
    if (!command_.object.empty())
      refuse("there are two outputs");
    else if (argument != "-o")
      command_.object = argument.substr(2);
    else if (++at_ < line_.size())
      command_.object = line_[at_];
    else
      refuse("the value of -o is missing");
    if (command_.object == "-" || command_.object.starts_with("/dev/"))
      refuse("the output is no file");
  }

  void take_source(const std::string& argument) {
    if (argument.starts_with("@"))
      refuse("arguments are in a file");
    else if (!command_.source.empty())
      refuse("there are several sources");
    else if (preprocessed(argument).empty())
      refuse(argument + " is neither C nor C++");
    command_.source = argument;
  }

  Command finish() {
    if (!command_.local.empty()) return command_;
    if (!compiles_) return refuse("it links, or does not compile");
    if (command_.source.empty()) return refuse("there is no source");
    command_.suffix = preprocessed(command_.source);
    if (command_.object.empty()) {
      const std::string name = command_.source.substr(command_.source.rfind('/') + 1);
      command_.object = with_suffix(name, "o");
    }
    // The compiler would name these after the object, of which the preprocessor knows nothing.
    if (depends_ && !names_file_) {
      const bool dotted = !suffix_of(command_.object).empty();
      command_.preprocess.insert(
          command_.preprocess.end(),
          {"-MF", dotted ? with_suffix(command_.object, "d") : command_.object + ".d"});
    }
    if (depends_ && !names_target_)
      command_.preprocess.insert(command_.preprocess.end(), {"-MQ", command_.object});
    command_.preprocess.push_back(command_.source);
    return command_;
  }

  const Arguments& line_;
  std::size_t at_ = 0;
  Command command_;
  bool compiles_ = false;
  bool depends_ = false;
  bool names_file_ = false;
  bool names_target_ = false;
};

}  // namespace

bool is_allowed(string_view argument) {
  if (is_one(kPlain, argument)) return true;
  if (argument.size() < 3 || argument[0] != '-') return false;
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

Command read_command(const Arguments& line) { return Reader(line).read(); }

}  // namespace rdma::rdistcc
