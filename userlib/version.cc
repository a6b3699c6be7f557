// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Finds the release of rdma-core. The private interface has no call that tells, and its symbol
// version did not change when struct verbs_qp grew. The library's file name tells:
// libibverbs.so.1.<abi>.<release>, which every build of rdma-core installs and the loader's link
// points to.
//
// The name is a hint for a clear message before libweft uses anything. A fork of rdma-core, or a
// change that a distribution takes back into an older release, keeps the name and changes the
// layout, so the checks at the end do not go by names.
#include "version.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "provider_abi.h"
#include "weft-abi.h"

namespace weft {
namespace {

// "libibverbs.so.1.14.44.0" gives 44; 0 when the name is not of that form.
unsigned long release_of(const char* path) {
  static const char kName[] = "/libibverbs.so.";
  const char* name = strrchr(path, '/');
  if (name == nullptr || strncmp(name, kName, sizeof(kName) - 1) != 0)
    return 0;
  const char* at = name + sizeof(kName) - 1;
  for (int skip = 0; skip < 2; skip++) {  // the soname's number, the public ABI's
    at = strchr(at, '.');
    if (at == nullptr)
      return 0;
    at++;
  }
  return strtoul(at, nullptr, 10);
}

// libibverbs' driver id if it could not ask the kernel for one.
constexpr uint32_t kDriverUnknown = 0;

constexpr char kRemedy[] =
    "install the package libweft of this release, or rebuild: make && sudo make install";

// Is there a Weft device on this machine? Its settings are below its name in sysfs.
bool device_is_here() {
  DIR* devices = opendir("/sys/class/infiniband");
  if (devices == nullptr)
    return false;
  bool found = false;
  while (const dirent* entry = readdir(devices)) {
    char settings[sizeof(entry->d_name) + sizeof("/weft/crc")];
    snprintf(settings, sizeof(settings), "%s/weft/crc", entry->d_name);
    if (faccessat(dirfd(devices), settings, F_OK, 0) == 0) {
      found = true;
      break;
    }
  }
  closedir(devices);
  return found;
}

// Every program that uses verbs loads every plugin. So one that can't be used says nothing
// on a machine without a Weft device.
__attribute__((format(printf, 1, 2))) void complain(const char* format, ...) {
  if (getenv("IBV_SHOW_WARNINGS") == nullptr && !device_is_here())
    return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
}

// Pointers to functions of different types, as libibverbs keeps some of them.
template <typename Function, typename Other>
bool same(Function* kept, Other* given) {
  return reinterpret_cast<void*>(kept) == reinterpret_cast<void*>(given);
}

bool interface_is_other(const char* device, const char* what) {
  fprintf(stderr,
          "libweft: %s: libibverbs has another private interface (%s) than that of the rdma-core "
          "%d that libweft was built for; %s\n",
          device, what, WEFT_RDMA_CORE_RELEASE, kRemedy);
  return false;
}

}  // namespace

bool rdma_core_matches() {
  Dl_info info = {};
  char path[PATH_MAX];

  if (dladdr(reinterpret_cast<void*>(&verbs_uninit_context), &info) == 0 ||
      info.dli_fname == nullptr || realpath(info.dli_fname, path) == nullptr) {
    complain("libweft: cannot tell which libibverbs this is; libweft is not loaded; %s\n", kRemedy);
    return false;
  }
  const unsigned long release = release_of(path);
  if (release == 0) {
    complain(
        "libweft: %s does not name its rdma-core release (built for %d); libweft is not loaded; "
        "%s\n",
        path, WEFT_RDMA_CORE_RELEASE, kRemedy);
    return false;
  }
  if (release != WEFT_RDMA_CORE_RELEASE) {
    complain(
        "libweft: built for rdma-core %d, but %s is rdma-core %lu; libweft is not loaded; %s\n",
        WEFT_RDMA_CORE_RELEASE, path, release, kRemedy);
    return false;
  }
  return true;
}

bool is_ours_without_id(const verbs_sysfs_dev& sysfs) {
  static constexpr char kSetting[] = "/weft/crc";
  char settings[sizeof(sysfs.ibdev_path) + sizeof(kSetting)];
  snprintf(settings, sizeof(settings), "%.*s%s", static_cast<int>(sizeof(sysfs.ibdev_path)),
           sysfs.ibdev_path, kSetting);
  return sysfs.driver_id == kDriverUnknown && access(settings, F_OK) == 0;
}

bool description_matches(const verbs_sysfs_dev& sysfs) {
  return sysfs.driver_id == WEFT_DRIVER_ID || is_ours_without_id(sysfs) ||
         interface_is_other("a device", "struct verbs_sysfs_dev");
}

bool device_matches(const verbs_device& device, const verbs_device_ops* ops, const Room& behind) {
  return (device.ops == ops && behind.untouched()) ||
         interface_is_other(device.device.name, "struct verbs_device");
}

bool operations_match(const verbs_context& context, const verbs_context_ops& ops,
                      const Room& before) {
  const ibv_context_ops& kept = context.context.ops;
  const bool match =
      same(kept.alloc_mw, ops.alloc_mw) && same(kept.bind_mw, ops.bind_mw) &&
      same(kept.dealloc_mw, ops.dealloc_mw) && same(kept.poll_cq, ops.poll_cq) &&
      same(kept.post_recv, ops.post_recv) && same(kept.post_send, ops.post_send) &&
      same(kept.post_srq_recv, ops.post_srq_recv) && same(kept.req_notify_cq, ops.req_notify_cq) &&
      same(kept._compat_alloc_pd, ops.alloc_pd) && same(kept._compat_rereg_mr, ops.rereg_mr) &&
      same(kept._compat_resize_cq, ops.resize_cq) &&
      same(context.alloc_parent_domain, ops.alloc_parent_domain) &&
      same(context.alloc_td, ops.alloc_td) && same(context.create_qp_ex, ops.create_qp_ex) &&
      same(context.dealloc_td, ops.dealloc_td) && same(context.modify_cq, ops.modify_cq) &&
      same(context.query_device_ex, ops.query_device_ex) &&
      same(context.query_rt_values, ops.query_rt_values);
  const char* device = context.context.device->name;
  return (match || interface_is_other(device, "struct verbs_context_ops")) &&
         (before.untouched() || interface_is_other(device, "struct verbs_context"));
}

bool queue_pair_matches(ibv_context* context) {
  struct {
    verbs_qp qp;
    Room behind;
  } made_up = {};
  made_up.qp.qp.context = context;
  const bool plain = ibv_qp_to_qp_ex(&made_up.qp.qp) == nullptr;
  made_up.qp.comp_mask = VERBS_QP_EX;
  const bool extended = ibv_qp_to_qp_ex(&made_up.qp.qp) == &made_up.qp.qp_ex;
  return (plain && extended) || interface_is_other(context->device->name, "struct verbs_qp");
}

bool length_matches(const Room& behind, const ibv_context* context, const char* what) {
  return behind.untouched() || interface_is_other(context->device->name, what);
}

}  // namespace weft
