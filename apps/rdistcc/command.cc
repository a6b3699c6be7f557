// SPDX-License-Identifier: GPL-2.0
#include "command.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "allowed.h"

namespace rdma::rdistcc {

namespace {

using std::string_view;

// Options of the preprocessor: they are for this host alone. Those of the first list have their
// value in the next argument or behind them, those of the second only in the next.
constexpr std::array<string_view, 13> kValued{
    "-D",         "-U",      "-I",       "-include",  "-imacros",     "-isystem",
    "-idirafter", "-iquote", "-iprefix", "-isysroot", "-iwithprefix", "-iwithprefixbefore",
    "-imultilib"};
constexpr std::array<string_view, 3> kDependencies{"-MF", "-MT", "-MQ"};
constexpr std::array<string_view, 10> kWords{
    "-nostdinc", "-nostdinc++", "-undef", "-C", "-CC", "-MD", "-MMD", "-MP", "-MG", "-trigraphs"};

template <std::size_t kCount>
bool is_one(const std::array<string_view, kCount>& words, string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
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
  if (suffix == "c") {
    return "i";
  }
  constexpr std::array<string_view, 6> kCxx{"cc", "cpp", "cxx", "c++", "C", "cp"};
  return is_one(kCxx, suffix) ? "ii" : "";
}

std::string with_suffix(string_view path, string_view suffix) {
  const std::size_t end = path.size() - suffix_of(path).size();
  return std::string(path.substr(0, end)) + std::string(suffix);
}

class Reader {
 public:
  explicit Reader(const Arguments& line) : line_(line) {}

  Command read() {
    if (line_.empty()) {
      return local("there is no compiler");
    }
    command_.compiler = line_[0];
    if (command_.compiler.find('/') != std::string::npos) {
      return local("the compiler is named by a path");
    }
    command_.preprocess = {line_[0], "-E"};
    for (at_ = 1; at_ < line_.size() && command_.local.empty(); at_++) {
      take(line_[at_]);
    }
    return finish();
  }

 private:
  Command local(const std::string& why) {
    command_.local = why;
    return command_;
  }
  void refuse(const std::string& why) { command_.local = why; }

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
    } else if (const auto* found =
                   std::find_if(kValued.begin(), kValued.end(),
                                [&](string_view option) { return argument.starts_with(option); });
               found != kValued.end()) {
      keep(argument, is_one(kValued, argument));
    } else if (argument == "--param") {
      take_parameter();
    } else if (is_allowed(argument)) {
      command_.preprocess.push_back(argument);
      command_.compile.push_back(argument);
    } else {
      refuse(argument + " is not for another host");
    }
  }

  void take_output(const std::string& argument) {
    if (!command_.object.empty()) {
      refuse("there are two outputs");
    } else if (argument != "-o") {
      command_.object = argument.substr(2);
    } else if (++at_ < line_.size()) {
      command_.object = line_[at_];
    } else {
      refuse("the value of -o is missing");
    }
    if (command_.object == "-" || command_.object.starts_with("/dev/")) {
      refuse("the output is no file");
    }
  }

  void take_source(const std::string& argument) {
    if (argument.starts_with("@")) {
      refuse("arguments are in a file");
    } else if (!command_.source.empty()) {
      refuse("there are several sources");
    } else if (preprocessed(argument).empty()) {
      refuse(argument + " is neither C nor C++");
    }
    command_.source = argument;
  }

  void take_parameter() {
    if (++at_ == line_.size() || !is_allowed("--param=" + line_[at_])) {
      refuse("the value of --param is missing or wrong");
      return;
    }
    command_.preprocess.push_back("--param=" + line_[at_]);
    command_.compile.push_back("--param=" + line_[at_]);
  }

  Command finish() {
    if (!command_.local.empty()) {
      return command_;
    }
    if (!compiles_) {
      return local("it links, or does not compile");
    }
    if (command_.source.empty()) {
      return local("there is no source");
    }
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
    if (depends_ && !names_target_) {
      command_.preprocess.insert(command_.preprocess.end(), {"-MQ", command_.object});
    }
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

Command read_command(const Arguments& line) {
  return Reader(line).read();
}

}  // namespace rdma::rdistcc
