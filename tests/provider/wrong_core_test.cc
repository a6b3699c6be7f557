// SPDX-License-Identifier: GPL-2.0
//
// A libibverbs whose private interface is another than the one that libweft was built
// for, under the right name. Three of its functions are defined here over the real ones,
// and do on demand what a libibverbs of another layout would.
#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "provider_abi.h"

#define INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

using weft_test::kernel;
using weft_test::open_device;
using weft_test::QueuePairTest;

constexpr size_t kOperations = sizeof(verbs_context_ops) / sizeof(void*);
constexpr size_t kNowhere = SIZE_MAX;

// Where this libibverbs has an operation that ours doesn't, or lacks one that ours has.
size_t insert_at = kNowhere;
size_t remove_at = kNowhere;
// It looks for the mark of an extended queue pair where there is none.
bool mark_moved = false;
const verbs_device_ops* registered;

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

INTERPOSED void verbs_set_ops(verbs_context* context, const verbs_context_ops* ops) {
  // Read like a libibverbs with more operations would: past the end as well.
  void* table[kOperations + 2] = {};
  memcpy(table, ops, sizeof(table));
  if (insert_at != kNowhere) {  // the operations behind it in the table are one place further
    std::copy(&table[insert_at + 1], &table[kOperations + 1], &table[insert_at]);
  }
  if (remove_at != kNowhere) {
    std::copy_backward(&table[remove_at], &table[kOperations], &table[kOperations + 1]);
  }
  real<void(verbs_context*, const verbs_context_ops*)>("verbs_set_ops")(
      context, reinterpret_cast<const verbs_context_ops*>(table));
}

INTERPOSED void verbs_register_driver_34(const verbs_device_ops* ops) {
  if (strcmp(ops->name, "weft") == 0) {
    registered = ops;
  }
  real<void(const verbs_device_ops*)>("verbs_register_driver_34")(ops);
}

INTERPOSED ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return mark_moved ? nullptr : real<ibv_qp_ex*(ibv_qp*)>("ibv_qp_to_qp_ex")(qp);
}

namespace {

class WrongCoreTest : public testing::Test {
 protected:
  ~WrongCoreTest() override {
    insert_at = kNowhere;
    remove_at = kNowhere;
  }

  // Opens the device; it must be refused in one line, or work.
  static void expect_refused(bool refused, const std::string& what) {
    testing::internal::CaptureStderr();
    ibv_context* context = open_device();
    const int error = errno;
    const std::string said = testing::internal::GetCapturedStderr();
    if (!refused) {
      ASSERT_NE(context, nullptr) << what;
      EXPECT_EQ(said, "") << what;
      EXPECT_EQ(ibv_close_device(context), 0);
      return;
    }
    ASSERT_EQ(context, nullptr) << what;
    EXPECT_EQ(error, EPROTONOSUPPORT) << what;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find("libweft: weft0: libibverbs has another private interface"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("make && sudo make install"), std::string::npos) << said;
  }
};

TEST_F(WrongCoreTest, TheRightOneIsTaken) {
  expect_refused(false, "as it is");
}

// Behind the last operation that we have, others may come and go.
TEST_F(WrongCoreTest, OneOperationMoreOrLessIsNoticed) {
  constexpr size_t kLast = offsetof(verbs_context_ops, resize_cq) / sizeof(void*);
  for (size_t at = 0; at < kOperations; at++) {
    insert_at = at;
    expect_refused(at <= kLast, "one more at " + std::to_string(at));
    insert_at = kNowhere;
    remove_at = at;
    expect_refused(at < kLast, "one less at " + std::to_string(at));
    remove_at = kNowhere;
  }
}

TEST_F(WrongCoreTest, AnotherDescriptionOfADeviceIsNoticed) {
  expect_refused(false, "so that the plugin is loaded");
  ASSERT_NE(registered, nullptr);
  verbs_sysfs_dev described = {};
  described.driver_id = WEFT_DRIVER_ID;
  described.abi_ver = WEFT_ABI_VERSION;
  verbs_device* device = registered->alloc_device(&described);
  ASSERT_NE(device, nullptr);
  registered->uninit_device(device);
  described.driver_id = 1;  // what we read is something else
  testing::internal::CaptureStderr();
  device = registered->alloc_device(&described);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(device, nullptr);
  EXPECT_NE(said.find("another private interface"), std::string::npos) << said;
}

TEST_F(QueuePairTest, AnotherLayoutOfQueuePairsIsNoticed) {
  ibv_qp_init_attr_ex attr = {};
  attr.send_cq = cq_;
  attr.recv_cq = cq_;
  attr.cap = {.max_send_wr = 1,
              .max_recv_wr = 1,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  attr.qp_type = IBV_QPT_RC;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = pd_;
  attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
  const size_t before = kernel().num_qps();
  mark_moved = true;
  testing::internal::CaptureStderr();
  ibv_qp* qp = ibv_create_qp_ex(context_, &attr);
  const int error = errno;
  const std::string said = testing::internal::GetCapturedStderr();
  mark_moved = false;
  EXPECT_EQ(qp, nullptr);
  EXPECT_EQ(error, EPROTONOSUPPORT);
  EXPECT_EQ(kernel().num_qps(), before);
  EXPECT_NE(said.find("struct verbs_qp"), std::string::npos) << said;
}

}  // namespace
