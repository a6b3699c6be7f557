// SPDX-License-Identifier: GPL-2.0
// The functions by which libibverbs reaches the kernel, defined over libc's and libnl's: a test
// program's own win, and libfake_kernel.so's by LD_PRELOAD. Other devices get the real ones.
#include <errno.h>
#include <fcntl.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_kernel.hpp"

namespace {

using weft_test::FakeKernel;
using weft_test::real;

constexpr char kDevicePath[] = "/dev/infiniband/uverbs0";

dev_t device_number() { return makedev(231, 192); }

// The one netlink request under way, and what libibverbs wants called with the answer.
int request_type;
nl_recvmsg_msg_cb_t answer_function;
void* answer_argument;

void answer_with(nl_msg* message) {
  if (answer_function != nullptr) answer_function(message, answer_argument);
  nlmsg_free(message);
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are
// reserved ones.

// ---- the character device ---------------------------------------------------

INTERPOSED int open(const char* path, int flags, ...) {
  if (strcmp(path, kDevicePath) == 0) return FakeKernel::get().open_device();
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it does not see va_start()
    mode = va_arg(arguments, mode_t);
  }
  va_end(arguments);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

INTERPOSED int fstat(int fd, struct stat* status) {
  const int ret = real<int(int, struct stat*)>("fstat")(fd, status);
  if (ret == 0 && FakeKernel::get().owns(fd)) {
    status->st_mode = S_IFCHR | 0666;
    status->st_rdev = device_number();
  }
  return ret;
}

INTERPOSED int stat(const char* path, struct stat* status) {
  if (strcmp(path, kDevicePath) == 0) {
    *status = {};
    status->st_mode = S_IFCHR | 0666;
    status->st_rdev = device_number();
    return 0;
  }
  return real<int(const char*, struct stat*)>("stat")(path, status);
}

// An old kernel again: no ioctl interface, so that libibverbs writes commands.
INTERPOSED int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): as above
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (FakeKernel::get().owns(fd)) return FakeKernel::get().ioctl(argument);
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

INTERPOSED ssize_t write(int fd, const void* buffer, size_t bytes) {
  if (FakeKernel::get().owns(fd)) return FakeKernel::get().command(buffer, bytes);
  return syscall(SYS_write, fd, buffer, bytes);
}

INTERPOSED int close(int fd) {
  if (FakeKernel::get().owns(fd)) FakeKernel::get().closed();
  return static_cast<int>(syscall(SYS_close, fd));
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)

// ---- netlink: which devices there are ---------------------------------------

INTERPOSED int nl_connect(nl_sock* /*socket*/, int /*protocol*/) {
  return FakeKernel::get().netlink_closed ? -NLE_FAILURE : 0;
}

INTERPOSED int nl_send_simple(nl_sock* /*socket*/, int type, int /*flags*/, void* /*buffer*/,
                              size_t /*size*/) {
  request_type = type;
  return 0;
}

INTERPOSED int nl_send_auto(nl_sock* /*socket*/, nl_msg* message) {
  request_type = nlmsg_hdr(message)->nlmsg_type;
  return 0;
}

INTERPOSED int nl_socket_modify_cb(nl_sock* /*socket*/, nl_cb_type /*type*/, nl_cb_kind /*kind*/,
                                   nl_recvmsg_msg_cb_t function, void* argument) {
  answer_function = function;
  answer_argument = argument;
  return 0;
}

INTERPOSED int nl_recvmsgs_default(nl_sock* /*socket*/) {
  const FakeKernel& kernel = FakeKernel::get();
  const int type = request_type;
  request_type = 0;
  if (type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET)) {
    nl_msg* message = nlmsg_alloc_simple(type, NLM_F_MULTI);
    nla_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, kernel.index);
    nla_put_string(message, RDMA_NLDEV_ATTR_DEV_NAME, kernel.name.c_str());
    nla_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, 1);    // here: how many ports
    nla_put_u8(message, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 4);  // RDMA_NODE_RNIC
    nla_put_u64(message, RDMA_NLDEV_ATTR_NODE_GUID, 0x0200000000000001);
    answer_with(message);
  } else if (type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV)) {
    nl_msg* message = nlmsg_alloc_simple(type, 0);
    nla_put_u64(message, RDMA_NLDEV_ATTR_CHARDEV, device_number());
    nla_put_u64(message, RDMA_NLDEV_ATTR_CHARDEV_ABI, kernel.abi_version);
    nla_put_string(message, RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs0");
    nla_put_u32(message, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, kernel.driver_id);
    answer_with(message);
  }
  return 0;
}
