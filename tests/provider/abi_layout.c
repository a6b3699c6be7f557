// SPDX-License-Identifier: GPL-2.0
//
// Prints the private interface as userlib/provider_abi.h has it, or, built with WEFT_THEIRS, as
// rdma-core's own driver.h has it: "offset name" of each operation, or with the argument "all" of
// all that libweft uses. For abi_check.sh to hold against rdma-core's objects, and for
// headers_check against its headers.
#ifdef WEFT_THEIRS
#include <infiniband/driver.h>
// The compiler refuses declarations of ours that are not theirs.
#include "provider_calls.h"
#define WEFT_OP(since, name, result, parameters)                                             \
  WEFT_SINCE_##since(_Static_assert(__builtin_types_compatible_p(                            \
                                        __typeof__(((struct verbs_context_ops*)NULL)->name), \
                                        result(*) parameters),                               \
                                    #name);)
#define WEFT_OP_UNUSED(since, name)
#include "provider_ops.h"
#else
#include "provider_abi.h"
#endif

#include <stdio.h>
#include <string.h>

#define FIELD(type, field) printf("%zu " #type "." #field "\n", offsetof(struct type, field))
#define SIZE(type) printf("%zu " #type "\n", sizeof(struct type))

static void print_operations(void) {
#define LINE(name) printf("%zu " #name "\n", offsetof(struct verbs_context_ops, name));
#define WEFT_OP(since, name, result, parameters) WEFT_SINCE_##since(LINE(name))
#define WEFT_OP_UNUSED(since, name) WEFT_SINCE_##since(LINE(name))
#include "provider_ops.h"
}

static void print_structures(void) {
  SIZE(verbs_context_ops);
  FIELD(verbs_match_ent, u);
  FIELD(verbs_match_ent, kind);
  SIZE(verbs_match_ent);
  printf("%d kind of an end\n%d kind of a driver id\n%d mark of an extended queue pair\n",
         VERBS_MATCH_SENTINEL, VERBS_MATCH_DRIVER_ID, VERBS_QP_EX);
  FIELD(verbs_sysfs_dev, match);
  FIELD(verbs_sysfs_dev, ibdev_name);
  FIELD(verbs_sysfs_dev, ibdev_path);
  FIELD(verbs_sysfs_dev, driver_id);
  FIELD(verbs_sysfs_dev, abi_ver);
  SIZE(verbs_sysfs_dev);
  FIELD(verbs_device_ops, name);
  FIELD(verbs_device_ops, match_min_abi_version);
  FIELD(verbs_device_ops, match_max_abi_version);
  FIELD(verbs_device_ops, match_table);
  FIELD(verbs_device_ops, match_device);
  FIELD(verbs_device_ops, alloc_context);
  FIELD(verbs_device_ops, alloc_device);
  FIELD(verbs_device_ops, uninit_device);
  SIZE(verbs_device_ops);
  FIELD(verbs_device, device);
  FIELD(verbs_device, ops);
  SIZE(verbs_device);
  FIELD(verbs_qp, qp);
  FIELD(verbs_qp, qp_ex);
  FIELD(verbs_qp, comp_mask);
  SIZE(verbs_qp);
  FIELD(verbs_cq, cq);
  FIELD(verbs_cq, cq_ex);
  SIZE(verbs_cq);
  FIELD(verbs_mr, ibv_mr);
  SIZE(verbs_mr);
}

// What every simple provider fills in of its description, and the description's size.
static void print_driver(void) {
  printf("%zu %zu %zu %zu %zu\n%zu\n", offsetof(struct verbs_device_ops, name),
         offsetof(struct verbs_device_ops, match_table),
         offsetof(struct verbs_device_ops, alloc_context),
         offsetof(struct verbs_device_ops, alloc_device),
         offsetof(struct verbs_device_ops, uninit_device), sizeof(struct verbs_device_ops));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "driver") == 0) {
    print_driver();
    return 0;
  }
  print_operations();
  if (strcmp(what, "all") == 0) {
    print_structures();
  }
  return 0;
}
