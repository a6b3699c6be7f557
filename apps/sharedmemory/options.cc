// SPDX-License-Identifier: GPL-2.0
#include "options.h"

#include <bit>
#include <set>

namespace rdma::sharedmemory {
namespace {

struct Known {
  std::string_view name;
  std::size_t size;  // if none is given
  std::unique_ptr<Kernel> (*make)(Layout& layout, int hosts, const Options& options);
};

constexpr std::array<Known, 5> kKnown{{{"fft", 65536, make_fft},
                                       {"lu", 512, make_lu},
                                       {"radix", 262144, make_radix},
                                       {"barnes", 4096, make_barnes},
                                       {"ocean", 256, make_ocean}}};

const Known& find(std::string_view name) {
  const auto* const found = std::ranges::find(kKnown, name, &Known::name);
  refuse_if(found == kKnown.end(), Cause::kInput, "there is no kernel '", name,
            "'; there are fft, lu, radix, barnes and ocean");
  return *found;
}

std::vector<Address> addresses(std::string_view text) {
  std::vector<Address> found;
  for (;;) {
    const auto comma = text.find(',');
    found.push_back(Address::parse(text.substr(0, comma)));
    refuse_if(found.back().host == "*" || found.back().port == 0, Cause::kInput,
              "--hosts takes each host's own address and port, as in "
              "10.0.0.1:7000,10.0.0.2:7000, not '",
              text.substr(0, comma), "'");
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

// Large enough for every kernel, and too small to overflow what they compute from it.
constexpr std::size_t kMostSize = std::size_t{1} << 32;

void check_hosts(const Options& options) {
  refuse_if(options.alone != options.hosts.empty(), Cause::kInput,
            "give either --alone, or --hosts and --rank");
  if (options.alone) return;
  const int count = options.host_count();
  refuse_if(count < 2 || count > kMostHosts, Cause::kInput, "--hosts takes 2 to ", kMostHosts,
            " addresses, not ", count, "; one process by itself is --alone");
  refuse_if(options.rank >= count, Cause::kInput, "--rank ", options.rank, " is none of the ",
            count, " hosts, which count from 0");
  std::set<std::string> names;
  for (const Address& each : options.hosts)
    refuse_if(!names.insert(each.text()).second, Cause::kInput, "--hosts names ", each.text(),
              " twice");
}

}  // namespace

void Options::read_from(CLI::App& app) {
  app.option_defaults()->always_capture_default();
  app.add_option("KERNEL", kernel,
                 "fft (--size: points, a power of 4), lu (rows, a multiple of --block), radix "
                 "(keys), barnes (bodies) or ocean (cells a side, a power of 2)")
      ->required();
  app.add_option_function<std::string>(
      "--hosts", [this](const std::string& text) { hosts = addresses(text); },
      "HOST:PORT,... where each listens, host 0 first; the same on all");
  app.add_option("--rank", rank, "which of them this one is")->check(CLI::Range(0, kMostHosts - 1));
  app.add_flag("--alone", alone, "one process, without network");
  app.add_option_function<std::string>(
      "--transport", [this](const std::string& text) { transport = parse_transport(text); },
      "rdma (the default), or tcp to compare with");
  app.add_option("--size", size, "how much there is to do; 0: some")
      ->check(CLI::Range(std::size_t{0}, kMostSize));
  app.add_option("--steps", steps, "of time of barnes, cycles of ocean")
      ->check(CLI::Range(1, 10000));
  app.add_option("--block", block, "rows of a block of lu")->check(CLI::Range(1, 1024));
  app.add_option("--bits", bits, "of a digit of radix, to 16")->check(CLI::Range(1, 32));
  app.add_option("--seed", seed, "another input");
  app.add_option_function<int>(
         "--patience", [this](int seconds) { patience = std::chrono::seconds(seconds); },
         "seconds to wait until all hosts are there (60)")
      ->check(CLI::Range(1, 86400));
  app.add_flag("!--unverified", verify, "do not compare with one process");
  app.add_flag("--json", json, "the times as JSON, seconds");
  app.final_callback([this] {
    const Known& known = find(kernel);
    if (size == 0) size = known.size;
    check_hosts(*this);
  });
}

std::string Options::task() const {
  return sentence(kernel, " --size ", size, " --steps ", steps, " --block ", block, " --bits ",
                  bits, " --seed ", seed,
                  std::endian::native == std::endian::big ? ", big-endian" : "");
}

std::unique_ptr<Kernel> Options::make(Layout& layout, int on_hosts) const {
  return find(kernel).make(layout, on_hosts, *this);
}

}  // namespace rdma::sharedmemory
