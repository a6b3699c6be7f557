// SPDX-License-Identifier: GPL-2.0
#include "rdma_region.h"

#include "waiting.h"

namespace rdma {

namespace {

class RdmaRegion : public Region {
 public:
  RdmaRegion(ibv_pd* domain, std::span<std::byte> bytes, Rights rights, Statistics& statistics)
      : Region(bytes), statistics_(statistics) {
    const Stopwatch watch(statistics_.registering);
    memory_ = register_memory(domain, bytes, rights);
    statistics_.registrations++;
    statistics_.bytes_registered += bytes.size();
  }
  ~RdmaRegion() override {
    const Stopwatch watch(statistics_.registering);
    memory_.reset();
  }
  RdmaRegion(const RdmaRegion&) = delete;
  RdmaRegion& operator=(const RdmaRegion&) = delete;

  RemoteRegion remote() const override {
    return {.address = reinterpret_cast<std::uintptr_t>(bytes().data()),
            .length = bytes().size(),
            .key = memory_->rkey};
  }
  std::uint32_t local_key() const { return memory_->lkey; }

 private:
  Statistics& statistics_;
  Owned<ibv_mr> memory_;
};

}  // namespace

Owned<ibv_mr> register_memory(ibv_pd* domain, std::span<std::byte> bytes, Rights rights) {
  if (bytes.empty()) {
    throw Failure(Cause::kInput, "a region needs a byte at least");
  }
  int access = IBV_ACCESS_LOCAL_WRITE;
  access |= (rights & kRemoteRead) != 0 ? IBV_ACCESS_REMOTE_READ : 0;
  access |= (rights & kRemoteWrite) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0;
  access |= (rights & kRemoteAtomic) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0;
  Owned<ibv_mr> memory(ibv_reg_mr(domain, bytes.data(), bytes.size(), access));
  if (memory == nullptr) {
    const std::string hint =
        errno == ENOMEM ? "; raise the limit of locked memory (ulimit -l)" : "";
    throw Failure(Cause::kSystem, "registering " + std::to_string(bytes.size()) +
                                      " bytes: " + std::strerror(errno) + hint);
  }
  return memory;
}

std::unique_ptr<Region> expose_rdma(ibv_pd* domain, std::span<std::byte> bytes, Rights rights,
                                    Statistics& statistics) {
  return std::make_unique<RdmaRegion>(domain, bytes, rights, statistics);
}

ibv_sge sge_of(const Region& region, std::size_t offset, std::size_t length) {
  const auto* own = dynamic_cast<const RdmaRegion*>(&region);
  if (own == nullptr) {
    throw Failure(Cause::kInput, "the region is of a link over another transport");
  }
  return {.addr = reinterpret_cast<std::uintptr_t>(region.bytes().data()) + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = own->local_key()};
}

}  // namespace rdma
