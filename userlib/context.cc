// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "context.hpp"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <type_traits>

#include "clock.hpp"
#include "cmd.h"
#include "cq.hpp"
#include "mr.hpp"
#include "mw.hpp"
#include "pd.hpp"
#include "qp.hpp"
#include "recv.hpp"
#include "send.hpp"
#include "srq.hpp"
#include "version.hpp"

namespace weft {
namespace {

// An opened device. libibverbs allocates it, zeroed. The public struct verbs_context grows at its
// front.
struct Context {
  Room before;
  verbs_context base;
  QpTable qps;

  static Context* of(ibv_context* context) {
    auto* base = reinterpret_cast<char*>(verbs_get_ctx(context));
    return reinterpret_cast<Context*>(base - offsetof(Context, base));
  }
};
static_assert(std::is_trivially_default_constructible_v<Context>);

// Our table of operations, with null pointers behind it. A libibverbs that reads a longer
// table finds its further operations missing, and not whatever lies behind.
struct PaddedOps {
  verbs_context_ops known;
  verbs_op_unused beyond[64];
};

constexpr PaddedOps kContextOps = {.known = {
                                       .alloc_mw = alloc_mw,
                                       .alloc_parent_domain = alloc_parent_domain,
                                       .alloc_pd = alloc_pd,
                                       .alloc_td = alloc_td,
                                       .bind_mw = bind_mw,
                                       .create_cq = create_cq,
                                       .create_cq_ex = create_cq_ex,
                                       .create_qp = create_qp,
                                       .create_qp_ex = create_qp_ex,
                                       .create_srq = create_srq,
                                       .dealloc_mw = dealloc_mw,
                                       .dealloc_pd = dealloc_pd,
                                       .dealloc_td = dealloc_td,
                                       .dereg_mr = dereg_mr,
                                       .destroy_cq = destroy_cq,
                                       .destroy_qp = destroy_qp,
                                       .destroy_srq = destroy_srq,
                                       .free_context = free_context,
                                       .modify_cq = modify_cq,
                                       .modify_qp = modify_qp,
                                       .modify_srq = modify_srq,
                                       .poll_cq = poll_cq,
                                       .post_recv = post_recv,
                                       .post_send = post_send,
                                       .post_srq_recv = post_srq_recv,
                                       .query_device_ex = query_device_ex,
                                       .query_port = query_port,
                                       .query_qp = query_qp,
                                       .query_rt_values = query_rt_values,
                                       .query_srq = query_srq,
                                       .reg_dmabuf_mr = reg_dmabuf_mr,
                                       .reg_mr = reg_mr,
#if WEFT_RDMA_CORE_RELEASE >= 59
                                       .reg_mr_ex = reg_mr_ex,
#endif
                                       .req_notify_cq = req_notify_cq,
                                       .rereg_mr = rereg_mr,
                                       .resize_cq = resize_cq,
                                   }};

// Returns true if the module has libweft's interface. If not, prints one line that names the older
// of the two and the remedy.
bool module_matches(const char* device, uint32_t module_abi) {
  if (module_abi == WEFT_ABI_VERSION)
    return true;
  const bool old_module = module_abi < WEFT_ABI_VERSION;
  fprintf(
      stderr,
      "libweft: %s: the kernel module (ABI %u) is %s than libweft (ABI %d); %s; if that does not "
      "help, install both of one version: the packages weft-dkms and libweft, or make && sudo make "
      "install\n",
      device, module_abi, old_module ? "older" : "newer", WEFT_ABI_VERSION,
      old_module ? "reload the module: modprobe -r weft && modprobe weft" : "restart this program");
  return false;
}

}  // namespace

QpTable* qps_of(ibv_context* context) {
  return &Context::of(context)->qps;
}

// Takes `cmd_fd` over, as libibverbs wants it of this function.
verbs_context* alloc_context(ibv_device* device, int cmd_fd, void* /*private_data*/) {
  const Device* weft_device = Device::of(device);
  if (!device_matches(weft_device->base, &kDeviceOps, weft_device->behind) ||
      !module_matches(device->name, weft_device->kernel_abi)) {
    close(cmd_fd);
    errno = EPROTONOSUPPORT;
    return nullptr;
  }

  // The third argument is the offset of the verbs_context, spelled as a pointer.
  auto* context = static_cast<Context*>(_verbs_init_and_alloc_context(
      device, cmd_fd, sizeof(Context), reinterpret_cast<verbs_context*>(offsetof(Context, base)),
      WEFT_DRIVER_ID));
  if (context == nullptr)
    return nullptr;
  weft_ucontext_resp resp = {};
  int ret = weft_cmd_get_context(&context->base, &resp);
  if (ret == 0) {
    verbs_set_ops(&context->base, &kContextOps.known);
    if (!operations_match(context->base, kContextOps.known, context->before) ||
        !queue_pair_matches(&context->base.context)) {
      ret = EPROTONOSUPPORT;
    }
  }
  if (ret != 0) {
    verbs_uninit_context(&context->base);
    free(context);
    errno = ret;
    return nullptr;
  }
  return &context->base;
}

void free_context(ibv_context* ibv) {
  Context* context = Context::of(ibv);
  verbs_uninit_context(&context->base);
  free(context);
}

// `attr` may come from a program that knows a shorter structure than we do.
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, size_t attr_size) {
  static constexpr size_t kClockEnd =
      offsetof(ibv_device_attr_ex, hca_core_clock) + sizeof(attr->hca_core_clock);
  uint64_t fw_ver = 0;
  const int ret = weft_cmd_query_device(context, input, attr, attr_size, &fw_ver);
  if (ret != 0)
    return ret;
  // Three 16-bit numbers, as the kernel's query_device packs them.
  snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
           static_cast<unsigned>(fw_ver >> 32 & 0xffff),
           static_cast<unsigned>(fw_ver >> 16 & 0xffff), static_cast<unsigned>(fw_ver & 0xffff));
  if (attr_size >= kClockEnd) {
    attr->completion_timestamp_mask = kCompletionClockMask;
    attr->hca_core_clock = kCompletionClockKhz;
  }
  return 0;
}

int query_port(ibv_context* context, uint8_t port_num, ibv_port_attr* attr) {
  return weft_cmd_query_port(context, port_num, attr);
}

// Ticks, not seconds: as elsewhere in verbs, all of them stand in tv_nsec, so that
// the value can be held against a completion's timestamp. In a process of 32 bits they have no room
// there: EOPNOTSUPP.
int query_rt_values(ibv_context* /*context*/, ibv_values_ex* values) {
  if ((values->comp_mask & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0)
    return EINVAL;
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
    const int64_t now = read_clock_ns(kCompletionClock);
    using Ticks = decltype(values->raw_clock.tv_nsec);
    if constexpr (sizeof(Ticks) < sizeof(now))
      return EOPNOTSUPP;
    values->raw_clock = {.tv_sec = 0, .tv_nsec = static_cast<Ticks>(now)};
  }
  return 0;
}

}  // namespace weft
