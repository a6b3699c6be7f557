// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "context.hpp"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <type_traits>

#include "cmd.h"
#include "cq.hpp"
#include "mr.hpp"
#include "pd.hpp"
#include "qp.hpp"

namespace weft {
namespace {

// An opened device. libibverbs allocates it, zeroed.
struct Context {
  verbs_context base;

  static Context* of(ibv_context* context) {
    return reinterpret_cast<Context*>(verbs_get_ctx(context));
  }
};
static_assert(offsetof(Context, base) == 0);
static_assert(std::is_trivially_default_constructible_v<Context>);

constexpr verbs_context_ops kContextOps = {
    .alloc_pd = alloc_pd,
    .create_cq = create_cq,
    .create_qp = create_qp,
    .dealloc_pd = dealloc_pd,
    .dereg_mr = dereg_mr,
    .destroy_cq = destroy_cq,
    .destroy_qp = destroy_qp,
    .free_context = free_context,
    .modify_qp = modify_qp,
    .poll_cq = poll_cq,
    .post_recv = post_recv,
    .post_send = post_send,
    .query_device_ex = query_device_ex,
    .query_port = query_port,
    .query_qp = query_qp,
    .reg_mr = reg_mr,
    .req_notify_cq = req_notify_cq,
};

}  // namespace

verbs_context* alloc_context(ibv_device* device, int cmd_fd, void* /*private_data*/) {
  const Device* weft_device = Device::of(device);
  if (weft_device->kernel_abi != WEFT_ABI_VERSION) {
    fprintf(stderr,
            "libweft: %s: the kernel module speaks ABI %u, libweft ABI %d; rebuild and reinstall "
            "both: make && sudo make install, then reload the module\n",
            device->name, weft_device->kernel_abi, WEFT_ABI_VERSION);
    close(cmd_fd);
    errno = EPROTONOSUPPORT;
    return nullptr;
  }

  // The third argument is the offset of the verbs_context, spelled as a pointer.
  auto* context = static_cast<Context*>(_verbs_init_and_alloc_context(
      device, cmd_fd, sizeof(Context), reinterpret_cast<verbs_context*>(offsetof(Context, base)),
      WEFT_DRIVER_ID));
  if (context == nullptr) {
    return nullptr;
  }
  weft_ucontext_resp resp = {};
  const int ret = weft_cmd_get_context(&context->base, &resp);
  if (ret != 0) {
    verbs_uninit_context(&context->base);
    free(context);
    errno = ret;
    return nullptr;
  }
  verbs_set_ops(&context->base, &kContextOps);
  return &context->base;
}

void free_context(ibv_context* ibv) {
  Context* context = Context::of(ibv);
  verbs_uninit_context(&context->base);
  free(context);
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, size_t attr_size) {
  uint64_t fw_ver = 0;
  const int ret = weft_cmd_query_device(context, input, attr, attr_size, &fw_ver);
  if (ret == 0) {
    // Three 16-bit numbers, as the kernel's query_device packs them.
    snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
             static_cast<unsigned>(fw_ver >> 32 & 0xffff),
             static_cast<unsigned>(fw_ver >> 16 & 0xffff), static_cast<unsigned>(fw_ver & 0xffff));
  }
  return ret;
}

int query_port(ibv_context* context, uint8_t port_num, ibv_port_attr* attr) {
  return weft_cmd_query_port(context, port_num, attr);
}

}  // namespace weft
