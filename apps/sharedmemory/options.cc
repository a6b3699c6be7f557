// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <functional>

#include "barnes.h"
#include "failure.h"
#include "fft.h"
#include "lu.h"
#include "ocean.h"
#include "radix.h"

namespace sharedmemory {
namespace {

using apps::Cause;
using apps::Failure;

struct Known {
  std::string_view name;
  std::size_t size;  // if none is given
  std::unique_ptr<Kernel> (*make)(Layout& layout, int hosts, const Options& options);
};

const std::array<Known, 5> kKnown{{
    {"fft", 65536,
     [](Layout& layout, int hosts, const Options& options) -> std::unique_ptr<Kernel> {
       return std::make_unique<Fft>(layout, hosts, options.size, options.seed);
     }},
    {"lu", 512,
     [](Layout& layout, int hosts, const Options& options) -> std::unique_ptr<Kernel> {
       return std::make_unique<Lu>(layout, hosts, options.size, options.block, options.seed);
     }},
    {"radix", 262144,
     [](Layout& layout, int hosts, const Options& options) -> std::unique_ptr<Kernel> {
       return std::make_unique<Radix>(layout, hosts, options.size,
                                      static_cast<unsigned>(options.bits), options.seed);
     }},
    {"barnes", 4096,
     [](Layout& layout, int hosts, const Options& options) -> std::unique_ptr<Kernel> {
       return std::make_unique<Barnes>(layout, hosts, options.size, options.steps, options.seed);
     }},
    {"ocean", 256,
     [](Layout& layout, int hosts, const Options& options) -> std::unique_ptr<Kernel> {
       return std::make_unique<Ocean>(layout, hosts, options.size, options.steps, options.seed);
     }},
}};

const Known& find(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kKnown, [&](const Known& each) { return each.name == name; });
  if (found == kKnown.end()) {
    throw Failure(Cause::kInput, "there is no kernel '" + std::string(name) +
                                     "'; there are fft, lu, radix, barnes and ocean");
  }
  return *found;
}

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw Failure(Cause::kInput, std::string(option) + " takes a number from " +
                                     std::to_string(least) + " to " + std::to_string(most) +
                                     ", not '" + std::string(text) + "'");
  }
  return value;
}

std::vector<apps::Address> addresses(std::string_view text) {
  std::vector<apps::Address> found;
  for (;;) {
    const auto comma = text.find(',');
    found.push_back(apps::Address::parse(text.substr(0, comma)));
    if (found.back().host == "*" || found.back().port == 0) {
      throw Failure(Cause::kInput,
                    "--hosts takes each host's own address and port, as in "
                    "10.0.0.1:7000,10.0.0.2:7000, not '" +
                        std::string(text.substr(0, comma)) + "'");
    }
    if (comma == std::string_view::npos) {
      return found;
    }
    text.remove_prefix(comma + 1);
  }
}

// Large enough for every kernel, and too small to overflow what they compute from it.
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostSteps = 10000;
constexpr std::uint64_t kMostBlock = 1024;
constexpr std::uint64_t kMostBits = 32;
constexpr std::uint64_t kMostPatience = 86400;

struct Setting {
  std::string_view name;
  std::function<void(Options&, std::string_view)> set;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"--hosts", [](Options& o, std::string_view text) { o.hosts = addresses(text); }},
      {"--rank",
       [](Options& o, std::string_view text) {
         o.rank = static_cast<int>(number("--rank", text, 0, kMostHosts - 1));
       }},
      {"--transport",
       [](Options& o, std::string_view text) { o.transport = apps::parse_transport(text); }},
      {"--size",
       [](Options& o, std::string_view text) { o.size = number("--size", text, 1, kMostSize); }},
      {"--steps",
       [](Options& o, std::string_view text) { o.steps = number("--steps", text, 1, kMostSteps); }},
      {"--block",
       [](Options& o, std::string_view text) { o.block = number("--block", text, 1, kMostBlock); }},
      {"--bits",
       [](Options& o, std::string_view text) { o.bits = number("--bits", text, 1, kMostBits); }},
      {"--seed",
       [](Options& o, std::string_view text) { o.seed = number("--seed", text, 0, UINT64_MAX); }},
      {"--patience",
       [](Options& o, std::string_view text) {
         o.patience = std::chrono::seconds(number("--patience", text, 1, kMostPatience));
       }},
  };
  return all;
}

void check_hosts(const Options& options) {
  if (options.alone != options.hosts.empty()) {
    throw Failure(Cause::kInput, "give either --alone, or --hosts and --rank");
  }
  if (options.alone) {
    return;
  }
  if (options.hosts.size() < 2 || options.hosts.size() > kMostHosts) {
    throw Failure(Cause::kInput, "--hosts takes 2 to " + std::to_string(kMostHosts) +
                                     " addresses, not " + std::to_string(options.hosts.size()) +
                                     "; one process by itself is --alone");
  }
  if (options.rank >= static_cast<int>(options.hosts.size())) {
    throw Failure(Cause::kInput, "--rank " + std::to_string(options.rank) + " is none of the " +
                                     std::to_string(options.hosts.size()) +
                                     " hosts, which count from 0");
  }
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (options.hosts[i].text() == options.hosts[j].text()) {
        throw Failure(Cause::kInput, "--hosts names " + options.hosts[i].text() + " twice");
      }
    }
  }
}

}  // namespace

std::string_view usage() {
  return R"(usage: sharedmemory KERNEL --hosts HOST:PORT,HOST:PORT,... --rank N [options]
       sharedmemory KERNEL --alone [options]

Computes KERNEL on several hosts that write and read each other's memory. Start it on each host with
the same options and its own --rank. Each says how long it took, divided into computing, waiting for
others, moving data, and locks; host 0 compares the result with that of one process.

KERNEL, and what --size counts:
  fft      points of a Fourier transform, a power of 4 (65536)
  lu       rows of a dense matrix, a multiple of --block (512)
  radix    keys to sort (262144)
  barnes   bodies that pull each other (4096)
  ocean    cells a side of a square of water, a power of 2 (256)

  --hosts LIST        where each host listens, host 0 first; the same on all
  --rank N            which of them this one is, from 0 on
  --alone             one process, without network
  --transport WHAT    rdma (the default), or tcp to compare with
  --size N            how much there is to do
  --steps N           steps of time of barnes, cycles of ocean (2)
  --block N           rows of a block of lu (16)
  --bits N            bits of a digit of radix, to 16 (8)
  --seed N            another input (1)
  --patience SECONDS  how long to wait until all hosts are there (60)
  --unverified        do not compare with one process
  --json              the times as JSON, seconds

exit status: 0; 1 if a host ended, the network failed or the result is wrong; 2 for wrong arguments.
)";
}

Options Options::parse(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const auto setting = std::ranges::find_if(
        settings(), [&](const Setting& each) { return each.name == argument; });
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument == "--alone") {
      options.alone = true;
    } else if (argument == "--unverified") {
      options.verify = false;
    } else if (argument == "--json") {
      options.json = true;
    } else if (setting != settings().end()) {
      if (++i == arguments.size()) {
        throw Failure(Cause::kInput, std::string(argument) + " takes a value");
      }
      setting->set(options, arguments[i]);
    } else if (!argument.starts_with('-') && options.kernel.empty()) {
      options.kernel = argument;
    } else {
      throw Failure(Cause::kInput, "what is '" + std::string(argument) + "'?");
    }
  }
  if (options.kernel.empty()) {
    throw Failure(Cause::kInput, "no kernel is given; there are fft, lu, radix, barnes and ocean");
  }
  const Known& known = find(options.kernel);
  if (options.size == 0) {
    options.size = known.size;
  }
  check_hosts(options);
  return options;
}

std::string Options::task() const {
  return kernel + " --size " + std::to_string(size) + " --steps " + std::to_string(steps) +
         " --block " + std::to_string(block) + " --bits " + std::to_string(bits) + " --seed " +
         std::to_string(seed) + (std::endian::native == std::endian::big ? ", big-endian" : "");
}

std::unique_ptr<Kernel> Options::make(Layout& layout, int on_hosts) const {
  return find(kernel).make(layout, on_hosts, *this);
}

}  // namespace sharedmemory
