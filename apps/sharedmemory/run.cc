// SPDX-License-Identifier: GPL-2.0
#include "run.h"

#include "objects.h"

namespace rdma::sharedmemory {
namespace {

[[noreturn]] void no_device(const Address& address) {
  throw Failure(Cause::kDevice,
                "no RDMA device of this host has the address " + address.host +
                    ". Add one (rdma link add weft0 type weft netdev eth0), give this host's own "
                    "--rank, or use --transport tcp");
}

}  // namespace

void check_device(const Address& address) {
  const Channel channel(rdma_create_event_channel());
  // A host without any device has no rdma_cm either.
  if (!channel && (errno == ENODEV || errno == ENOENT)) no_device(address);
  rdma_cm_id* made = nullptr;
  const bool has_connections =
      channel && rdma_create_id(channel.get(), &made, nullptr, RDMA_PS_TCP) == 0;
  refuse_if(!has_connections, Cause::kDevice,
            "this host has no RDMA connections (rdma_cm): ", std::strerror(errno),
            ". Load the module rdma_ucm, or use --transport tcp");
  const Identifier id(made);
  // The device alone is asked for, so any port will do.
  auto socket = Address{address.host, 0}.resolve();
  if (rdma_bind_addr(id.get(), socket.get()) != 0 || id->verbs == nullptr) no_device(address);
  ibv_device_attr attributes{};
  if (ibv_query_device(id->verbs, &attributes) != 0)
    fail_errno("the RDMA device of " + address.host + " does not say what it can", Cause::kDevice);
  refuse_if(attributes.atomic_cap != IBV_ATOMIC_GLOB, Cause::kDevice, "the RDMA device of ",
            address.host, " is not atomic to the processor (IBV_ATOMIC_GLOB), as locks here need ",
            "it. Use --transport tcp");
}

std::string difference_of(const Result& result, const Result& reference) {
  if (result.bytes.size() != reference.bytes.size())
    return sentence(result.bytes.size(), " bytes, not ", reference.bytes.size());
  const auto [at, other] = std::ranges::mismatch(result.bytes, reference.bytes);
  if (at == result.bytes.end()) return {};
  const auto offset = static_cast<std::size_t>(at - result.bytes.begin());
  return sentence("number ", offset / result.element, " is another one");
}

Outcome run(const Options& options, const Watch& watch) {
  Layout layout;
  const Control control(layout, options.host_count());
  const auto kernel = options.make(layout, options.host_count());
  if (!options.alone && options.transport == Transport::kRdma)
    check_device(options.hosts[static_cast<std::size_t>(options.rank)]);
  const Share share(layout.bytes());
  std::optional<Peers> peers;
  if (!options.alone)
    peers.emplace(
        Gathering{options.transport, options.hosts, options.rank, options.task(), options.patience},
        share.bytes());
  World world(share, control, peers ? &*peers : nullptr);
  world.watch = watch;
  Outcome outcome;
  kernel->fill(world);
  world.barrier();
  world.times().restart();
  kernel->run(world);
  world.barrier();
  world.times().stop();
  outcome.times = world.times();
  if (world.rank() == 0) outcome.result = kernel->gather(world);
  world.barrier();
  if (!peers) return outcome;
  peers->leave();
  if (outcome.result && options.verify) {
    Options by_itself = options;
    by_itself.alone = true;
    outcome.difference = difference_of(*outcome.result, *run(by_itself).result);
  }
  return outcome;
}

}  // namespace rdma::sharedmemory
