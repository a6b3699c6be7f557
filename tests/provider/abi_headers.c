// SPDX-License-Identifier: GPL-2.0
//
// Compiled by abi_check.sh against rdma-core's own driver.h: the numbers are those
// of userlib/provider_abi.h on a 64-bit machine.
#include <infiniband/driver.h>

static_assert(sizeof(struct verbs_match_ent) == 24, "verbs_match_ent");
static_assert(offsetof(struct verbs_match_ent, u) == 8, "u");
static_assert(offsetof(struct verbs_match_ent, kind) == 20, "kind");
static_assert(VERBS_MATCH_DRIVER_ID == 3, "VERBS_MATCH_DRIVER_ID");
static_assert(sizeof(struct verbs_sysfs_dev) == 992, "verbs_sysfs_dev");
static_assert(offsetof(struct verbs_sysfs_dev, driver_id) == 952, "driver_id");
static_assert(offsetof(struct verbs_sysfs_dev, abi_ver) == 968, "abi_ver");
static_assert(sizeof(struct verbs_device_ops) == 72, "verbs_device_ops");
static_assert(offsetof(struct verbs_device_ops, match_table) == 16, "match_table");
static_assert(offsetof(struct verbs_device_ops, alloc_context) == 40, "alloc_context");
static_assert(offsetof(struct verbs_device_ops, alloc_device) == 56, "alloc_device");
static_assert(sizeof(struct verbs_context_ops) == 608, "verbs_context_ops");
static_assert(offsetof(struct verbs_device, device) == 0, "device");
static_assert(sizeof(struct verbs_device) == sizeof(struct ibv_device) + 48, "verbs_device");
static_assert(sizeof(struct verbs_qp) == sizeof(struct ibv_qp_ex) + 16, "verbs_qp");
static_assert(sizeof(struct verbs_cq) == sizeof(struct ibv_cq_ex), "verbs_cq");
static_assert(sizeof(struct verbs_mr) == sizeof(struct ibv_mr) + 8, "verbs_mr");
static_assert(sizeof(struct ibv_create_cq) == 40, "ibv_create_cq");
static_assert(sizeof(struct ibv_create_qp) == 64, "ibv_create_qp");
static_assert(sizeof(struct ibv_modify_qp) == 120, "ibv_modify_qp");
static_assert(sizeof(struct ibv_query_qp) == 24, "ibv_query_qp");
static_assert(sizeof(struct ibv_reg_mr) == 48, "ibv_reg_mr");
static_assert(sizeof(struct ibv_get_context) == 16, "ibv_get_context");
