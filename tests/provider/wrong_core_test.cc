// SPDX-License-Identifier: GPL-2.0
// A libibverbs whose private interface is another than the one that libweft was built
// for, under the right name. Some of its functions are defined here over the real ones,
// and do on demand what a libibverbs of another layout would.
#include <unistd.h>

#include <algorithm>

#include "fixture.hpp"
#include "provider_abi.h"

namespace {

using weft_test::open_device;
using weft_test::QueuePairTest;
using weft_test::real;
using weft_test::refusal;

constexpr size_t kOperations = sizeof(verbs_context_ops) / sizeof(void*);
constexpr size_t kNowhere = SIZE_MAX;

// How this libibverbs differs.
struct Difference {
  // Where it has an operation that ours doesn't, or lacks one that ours has.
  size_t insert_at = kNowhere;
  size_t remove_at = kNowhere;
  // It looks for the mark of an extended queue pair where there is none, or always finds one.
  bool mark_moved = false;
  bool mark_everywhere = false;
  // It has a longer structure, or one more field before a context, and writes to it.
  bool longer_context = false;
  bool longer_queue_pair = false;
  bool longer_completion_queue = false;
  bool longer_region = false;
};
Difference its;
const verbs_device_ops* registered;

}  // namespace

INTERPOSED void verbs_set_ops(verbs_context* context, const verbs_context_ops* ops) {
  // Read like a libibverbs with more operations would: past the end as well.
  void* table[kOperations + 2] = {};
  memcpy(table, ops, sizeof(table));
  if (its.insert_at != kNowhere) {  // the operations behind it in the table are one place further
    std::copy(&table[its.insert_at + 1], &table[kOperations + 1], &table[its.insert_at]);
  }
  if (its.remove_at != kNowhere)
    std::copy_backward(&table[its.remove_at], &table[kOperations], &table[kOperations + 1]);
  real<void(verbs_context*, const verbs_context_ops*)>("verbs_set_ops")(
      context, reinterpret_cast<const verbs_context_ops*>(table));
  if (its.longer_context) *(reinterpret_cast<uint64_t*>(context) - 1) = 1;
}

// Writes to the field that a longer structure has at its end.
template <typename Structure>
void write_behind(Structure* structure, bool longer) {
  if (longer) {
    const uint64_t value = 1;
    memcpy(reinterpret_cast<char*>(structure) + sizeof(Structure), &value, sizeof(value));
  }
}

INTERPOSED int ibv_cmd_create_qp_ex(ibv_context* context, verbs_qp* qp, ibv_qp_init_attr_ex* attr,
                                    struct ibv_create_qp* cmd, size_t cmd_size,
                                    ib_uverbs_create_qp_resp* resp, size_t resp_size) {
  write_behind(qp, its.longer_queue_pair);
  return real<decltype(ibv_cmd_create_qp_ex)>("ibv_cmd_create_qp_ex")(context, qp, attr, cmd,
                                                                      cmd_size, resp, resp_size);
}

INTERPOSED int ibv_cmd_create_cq_ex(ibv_context* context, const ibv_cq_init_attr_ex* attr,
                                    WEFT_SINCE_59(verbs_create_cq_prov_attr* prov, ) verbs_cq* cq,
                                    struct ibv_create_cq_ex* cmd, size_t cmd_size,
                                    ib_uverbs_ex_create_cq_resp* resp, size_t resp_size,
                                    uint32_t cmd_flags) {
  write_behind(cq, its.longer_completion_queue);
  return real<decltype(ibv_cmd_create_cq_ex)>("ibv_cmd_create_cq_ex")(
      context, attr, WEFT_SINCE_59(prov, ) cq, cmd, cmd_size, resp, resp_size, cmd_flags);
}

INTERPOSED int ibv_cmd_reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t hca_va, int access,
                              verbs_mr* mr, struct ibv_reg_mr* cmd, size_t cmd_size,
                              ib_uverbs_reg_mr_resp* resp, size_t resp_size) {
  write_behind(mr, its.longer_region);
  return real<decltype(ibv_cmd_reg_mr)>("ibv_cmd_reg_mr")(pd, addr, length, hca_va, access, mr, cmd,
                                                          cmd_size, resp, resp_size);
}

INTERPOSED void verbs_register_driver(const verbs_device_ops* ops) {
  if (strcmp(ops->name, "weft") == 0) registered = ops;
  real<void(const verbs_device_ops*)>(
      ("verbs_register_driver_" + std::to_string(WEFT_RDMA_CORE_TAG)).c_str())(ops);
}

INTERPOSED ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (its.mark_everywhere) return &reinterpret_cast<verbs_qp*>(qp)->qp_ex;
  return its.mark_moved ? nullptr : real<ibv_qp_ex*(ibv_qp*)>("ibv_qp_to_qp_ex")(qp);
}

namespace {

class WrongCoreTest : public testing::Test {
 protected:
  ~WrongCoreTest() override { its = {}; }

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

TEST_F(WrongCoreTest, TheRightOneIsTaken) { expect_refused(false, "as it is"); }

// Behind the last operation that we have, others may come and go.
TEST_F(WrongCoreTest, OneOperationMoreOrLessIsNoticed) {
  constexpr size_t kLast = offsetof(verbs_context_ops, resize_cq) / sizeof(void*);
  for (size_t at = 0; at < kOperations; at++) {
    its = {.insert_at = at};
    expect_refused(at <= kLast, "one more at " + std::to_string(at));
    its = {.remove_at = at};
    expect_refused(at < kLast, "one less at " + std::to_string(at));
  }
}

TEST_F(WrongCoreTest, AnotherDescriptionOfADeviceIsNoticed) {
  expect_refused(false, "so that the plugin is loaded");
  ASSERT_NE(registered, nullptr);
  verbs_sysfs_dev described = {.driver_id = WEFT_DRIVER_ID, .abi_ver = WEFT_ABI_VERSION};
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

TEST_F(WrongCoreTest, AnotherLayoutOfQueuePairsIsNoticed) {
  its = {.mark_moved = true};
  expect_refused(true, "the mark is looked for elsewhere");
  its = {.mark_everywhere = true};
  expect_refused(true, "the mark is found where there is none");
}

TEST_F(WrongCoreTest, ALongerContextIsNoticed) {
  its.longer_context = true;
  expect_refused(true, "one more field before a context");
}

TEST_F(WrongCoreTest, ALongerDeviceIsNoticed) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 1);
  auto* device = reinterpret_cast<verbs_device*>(list[0]);
  write_behind(device, true);
  expect_refused(true, "one more field behind a device");
  memset(reinterpret_cast<char*>(device) + sizeof(*device), 0, sizeof(uint64_t));
  const verbs_device_ops* ops = device->ops;
  device->ops = nullptr;  // it is kept elsewhere
  errno = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(refusal(registered->alloc_context(list[0], dup(0), nullptr)), EPROTONOSUPPORT);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("struct verbs_device"), std::string::npos);
  device->ops = ops;
  ibv_free_device_list(list);
  expect_refused(false, "as it was");
}

// Nothing that was made stays behind (the fixture looks), and nothing of ours was overwritten.
TEST_F(QueuePairTest, LongerObjectsAreNoticed) {
  char buffer[8];
  testing::internal::CaptureStderr();
  its = {.longer_queue_pair = true};
  EXPECT_EQ(refusal(create_qp()), EPROTONOSUPPORT);
  its = {.longer_completion_queue = true};
  EXPECT_EQ(refusal(ibv_create_cq(context_, kCqe, nullptr, nullptr, 0)), EPROTONOSUPPORT);
  its = {.longer_region = true};
  EXPECT_EQ(refusal(ibv_reg_mr(pd_, buffer, sizeof(buffer), 0)), EPROTONOSUPPORT);
  its = {};
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
  for (const char* structure : {"struct verbs_qp", "struct verbs_cq", "struct verbs_mr"})
    EXPECT_NE(said.find(structure), std::string::npos) << said;
}

}  // namespace
