// SPDX-License-Identifier: GPL-2.0
// A program that has data in memory of its own may register that memory for one transfer, or
// copy the data to memory registered before: at which size does which pay?
#include <algorithm>

#include "event.h"
#include "experiment.h"

namespace rdma::perf {

void registration_client(Client& client) {
  Settings& settings = client.settings;
  const unsigned rounds = settings.count;
  // Any address the peer has leads to the device.
  const Channel channel = make_channel();
  const Identifier id = make_identifier(channel.get());
  resolve(id.get(), {client.address, 1}, std::chrono::seconds(10));
  const Owned<ibv_pd> pd = own(ibv_alloc_pd(id->verbs), "ibv_alloc_pd");
  const Memory from(*std::max_element(settings.sizes.begin(), settings.sizes.end()));
  const Memory to(from.size());
  for (const std::size_t size : settings.sizes) {
    settings.size = size;
    Samples registering(rounds);
    Samples releasing(rounds);
    Samples copying(rounds);
    for (unsigned i = 0; i < rounds; i++) {
      ibv_mr* mr = nullptr;
      registering.time(
          [&] { mr = ibv_reg_mr(pd.get(), from.bytes(), size, IBV_ACCESS_LOCAL_WRITE); });
      if (mr == nullptr) fail_errno("ibv_reg_mr");
      releasing.time([&] { ibv_dereg_mr(mr); });
      copying.time([&] {
        std::memcpy(to.bytes(), from.bytes(), size);
        asm volatile("" : : "r"(to.bytes()) : "memory");
      });
    }
    const double both = registering.median() + releasing.median();
    result_of(settings)
        .add("register_us", registering.median())
        .add("deregister_us", releasing.median())
        .add("copy_us", copying.median())
        .add("ratio_to_copy", both / copying.median())
        .print();
  }
}

}  // namespace rdma::perf
