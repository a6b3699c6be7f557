/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of rdma-core's private provider interface that libweft needs.
 *
 * libibverbs-dev installs the public verbs only; the interface between
 * libibverbs and its providers is declared in a header that stays in
 * rdma-core's source tree. This file states the part of it that libweft uses,
 * as it is in rdma-core 44 to 56 (symbol version IBVERBS_PRIVATE_34). Layouts
 * are pinned below by static asserts and checked against the installed
 * library by tests/provider/abi_check.sh.
 *
 * The symbol version alone does not fix the layout: struct verbs_qp holds the
 * public struct ibv_qp_ex, which grew within version 34. libweft is therefore
 * tied to the rdma-core release it was built on (see version.cc).
 */
#ifndef WEFT_PROVIDER_ABI_H
#define WEFT_PROVIDER_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#if WEFT_RDMA_CORE_TAG != 34
#error "provider_abi.h describes IBVERBS_PRIVATE_34 (rdma-core 44 to 56) only"
#endif

struct verbs_device;
struct verbs_xrcd;

/* Link of a circular doubly linked list; libibverbs' own, never touched here. */
struct verbs_list_node {
  struct verbs_list_node *next, *prev;
};

/* How a provider claims a device. A table of these ends with kind 0. */
enum verbs_match_kind {
  VERBS_MATCH_SENTINEL = 0,
  VERBS_MATCH_PCI = 1,
  VERBS_MATCH_MODALIAS = 2,
  VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
  void* driver_data;
  union {
    const char* modalias;
    uint64_t driver_id;
  } u;
  uint16_t vendor;
  uint16_t device;
  uint8_t kind; /* enum verbs_match_kind */
};

/* An RDMA device that libibverbs found, by netlink or in sysfs. */
struct verbs_sysfs_dev {
  struct verbs_list_node entry;
  void* provider_data;
  const struct verbs_match_ent* match;
  unsigned int flags;
  char sysfs_name[IBV_SYSFS_NAME_MAX]; /* uverbsN */
  dev_t sysfs_cdev;
  char ibdev_name[IBV_SYSFS_NAME_MAX]; /* weft0 */
  char ibdev_path[IBV_SYSFS_PATH_MAX];
  char modalias[512];
  uint64_t node_guid;
  uint32_t driver_id;
  enum ibv_node_type node_type;
  int ibdev_idx;
  uint32_t num_ports;
  uint32_t abi_ver; /* the kernel driver's, not uverbs' */
  struct timespec time_created;
};

struct verbs_device_ops {
  const char* name;

  uint32_t match_min_abi_version;
  uint32_t match_max_abi_version;
  const struct verbs_match_ent* match_table;
  const struct verbs_device_ops** static_providers;

  bool (*match_device)(struct verbs_sysfs_dev* sysfs_dev);

  /* Owns cmd_fd from the call on: closes it when it returns NULL. */
  struct verbs_context* (*alloc_context)(struct ibv_device* device, int cmd_fd, void* private_data);
  struct verbs_context* (*import_context)(struct ibv_device* device, int cmd_fd);

  struct verbs_device* (*alloc_device)(struct verbs_sysfs_dev* sysfs_dev);
  void (*uninit_device)(struct verbs_device* device);
};

struct verbs_device {
  struct ibv_device device; /* first: the two are converted by address */
  const struct verbs_device_ops* ops;
  int refcount; /* libibverbs' own atomic */
  struct verbs_list_node entry;
  struct verbs_sysfs_dev* sysfs; /* libibverbs' own, lives as long as the device */
  uint64_t core_support;
};

/* In verbs_qp.comp_mask: which of its parts are there. */
enum verbs_qp_mask {
  VERBS_QP_XRCD = 1 << 0,
  VERBS_QP_EX = 1 << 1, /* qp_ex is the user's to call */
};

struct verbs_qp {
  union {
    struct ibv_qp qp;
    struct ibv_qp_ex qp_ex;
  };
  uint32_t comp_mask;
  struct verbs_xrcd* xrcd;
};

struct verbs_cq {
  union {
    struct ibv_cq cq;
    struct ibv_cq_ex cq_ex;
  };
};

enum verbs_mr_type {
  VERBS_MR_TYPE_MR,
  VERBS_MR_TYPE_NULL_MR,
  VERBS_MR_TYPE_IMPORTED_MR,
  VERBS_MR_TYPE_DMABUF_MR,
};

struct verbs_mr {
  struct ibv_mr ibv_mr;
  enum verbs_mr_type mr_type;
  int access;
};

/* An operation that libweft leaves to libibverbs' default (EOPNOTSUPP). */
typedef void (*verbs_op_unused)(void);

/*
 * Every operation a provider can offer, in libibverbs' (alphabetical) order.
 * verbs_set_ops() copies the ones that are not NULL.
 */
struct verbs_context_ops {
  verbs_op_unused advise_mr;
  verbs_op_unused alloc_dm;
  struct ibv_mw* (*alloc_mw)(struct ibv_pd* pd, enum ibv_mw_type type);
  verbs_op_unused alloc_null_mr;
  struct ibv_pd* (*alloc_parent_domain)(struct ibv_context* context,
                                        struct ibv_parent_domain_init_attr* attr);
  struct ibv_pd* (*alloc_pd)(struct ibv_context* context);
  struct ibv_td* (*alloc_td)(struct ibv_context* context, struct ibv_td_init_attr* attr);
  verbs_op_unused async_event;
  verbs_op_unused attach_counters_point_flow;
  verbs_op_unused attach_mcast;
  int (*bind_mw)(struct ibv_qp* qp, struct ibv_mw* mw, struct ibv_mw_bind* mw_bind);
  verbs_op_unused close_xrcd;
  verbs_op_unused cq_event;
  verbs_op_unused create_ah;
  verbs_op_unused create_counters;
  struct ibv_cq* (*create_cq)(struct ibv_context* context, int cqe,
                              struct ibv_comp_channel* channel, int comp_vector);
  struct ibv_cq_ex* (*create_cq_ex)(struct ibv_context* context,
                                    struct ibv_cq_init_attr_ex* init_attr);
  verbs_op_unused create_flow;
  verbs_op_unused create_flow_action_esp;
  struct ibv_qp* (*create_qp)(struct ibv_pd* pd, struct ibv_qp_init_attr* attr);
  struct ibv_qp* (*create_qp_ex)(struct ibv_context* context, struct ibv_qp_init_attr_ex* attr);
  verbs_op_unused create_rwq_ind_table;
  struct ibv_srq* (*create_srq)(struct ibv_pd* pd, struct ibv_srq_init_attr* attr);
  verbs_op_unused create_srq_ex;
  verbs_op_unused create_wq;
  int (*dealloc_mw)(struct ibv_mw* mw);
  int (*dealloc_pd)(struct ibv_pd* pd);
  int (*dealloc_td)(struct ibv_td* td);
  int (*dereg_mr)(struct verbs_mr* vmr);
  verbs_op_unused destroy_ah;
  verbs_op_unused destroy_counters;
  int (*destroy_cq)(struct ibv_cq* cq);
  verbs_op_unused destroy_flow;
  verbs_op_unused destroy_flow_action;
  int (*destroy_qp)(struct ibv_qp* qp);
  verbs_op_unused destroy_rwq_ind_table;
  int (*destroy_srq)(struct ibv_srq* srq);
  verbs_op_unused destroy_wq;
  verbs_op_unused detach_mcast;
  void (*free_context)(struct ibv_context* context);
  verbs_op_unused free_dm;
  verbs_op_unused get_srq_num;
  verbs_op_unused import_dm;
  verbs_op_unused import_mr;
  verbs_op_unused import_pd;
  int (*modify_cq)(struct ibv_cq* cq, struct ibv_modify_cq_attr* attr);
  verbs_op_unused modify_flow_action_esp;
  int (*modify_qp)(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask);
  verbs_op_unused modify_qp_rate_limit;
  int (*modify_srq)(struct ibv_srq* srq, struct ibv_srq_attr* attr, int attr_mask);
  verbs_op_unused modify_wq;
  verbs_op_unused open_qp;
  verbs_op_unused open_xrcd;
  int (*poll_cq)(struct ibv_cq* cq, int num_entries, struct ibv_wc* wc);
  int (*post_recv)(struct ibv_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
  int (*post_send)(struct ibv_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr);
  verbs_op_unused post_srq_ops;
  int (*post_srq_recv)(struct ibv_srq* srq, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr);
  int (*query_device_ex)(struct ibv_context* context, const struct ibv_query_device_ex_input* input,
                         struct ibv_device_attr_ex* attr, size_t attr_size);
  verbs_op_unused query_ece;
  int (*query_port)(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr);
  int (*query_qp)(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                  struct ibv_qp_init_attr* init_attr);
  verbs_op_unused query_qp_data_in_order;
  int (*query_rt_values)(struct ibv_context* context, struct ibv_values_ex* values);
  int (*query_srq)(struct ibv_srq* srq, struct ibv_srq_attr* attr);
  verbs_op_unused read_counters;
  verbs_op_unused reg_dm_mr;
  struct ibv_mr* (*reg_dmabuf_mr)(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova,
                                  int fd, int access);
  struct ibv_mr* (*reg_mr)(struct ibv_pd* pd, void* addr, size_t length, uint64_t hca_va,
                           int access);
  int (*req_notify_cq)(struct ibv_cq* cq, int solicited_only);
  int (*rereg_mr)(struct verbs_mr* vmr, int flags, struct ibv_pd* pd, void* addr, size_t length,
                  int access);
  int (*resize_cq)(struct ibv_cq* cq, int cqe);
  verbs_op_unused set_ece;
  verbs_op_unused unimport_dm;
  verbs_op_unused unimport_mr;
  verbs_op_unused unimport_pd;
};

/* The name carries the tag, so that even a static link finds the right one. */
void verbs_register_driver_34(const struct verbs_device_ops* ops);

/*
 * Allocates (zeroed) alloc_size bytes and sets up the verbs_context that
 * starts `context_offset` (an offset in a pointer's clothes) into them.
 * Owns cmd_fd: closes it on failure.
 */
void* _verbs_init_and_alloc_context(struct ibv_device* device, int cmd_fd, size_t alloc_size,
                                    struct verbs_context* context_offset, uint32_t driver_id);
void verbs_uninit_context(struct verbs_context* context);
void verbs_set_ops(struct verbs_context* context, const struct verbs_context_ops* ops);

/*
 * Marshalling of the standard uverbs commands. `cmd` starts with the command
 * header, the command's own structure of ib_user_verbs.h follows it and the
 * driver's data follows that; `resp` is the response structure and the
 * driver's data. All return 0 or a positive errno value.
 */
int ibv_cmd_get_context(struct verbs_context* context, struct ib_uverbs_cmd_hdr* cmd,
                        size_t cmd_size, struct ib_uverbs_get_context_resp* resp, size_t resp_size);
int ibv_cmd_query_device_any(struct ibv_context* context,
                             const struct ibv_query_device_ex_input* input,
                             struct ibv_device_attr_ex* attr, size_t attr_size,
                             struct ib_uverbs_ex_query_device_resp* resp, size_t* resp_size);
int ibv_cmd_query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr,
                       struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size);
int ibv_cmd_alloc_pd(struct ibv_context* context, struct ibv_pd* pd, struct ib_uverbs_cmd_hdr* cmd,
                     size_t cmd_size, struct ib_uverbs_alloc_pd_resp* resp, size_t resp_size);
int ibv_cmd_dealloc_pd(struct ibv_pd* pd);
int ibv_cmd_reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t hca_va, int access,
                   struct verbs_mr* vmr, struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size,
                   struct ib_uverbs_reg_mr_resp* resp, size_t resp_size);
int ibv_cmd_dereg_mr(struct verbs_mr* vmr);
int ibv_cmd_rereg_mr(struct verbs_mr* vmr, uint32_t flags, void* addr, size_t length,
                     uint64_t hca_va, int access, struct ibv_pd* pd, struct ib_uverbs_cmd_hdr* cmd,
                     size_t cmd_size, struct ib_uverbs_rereg_mr_resp* resp, size_t resp_size);
int ibv_cmd_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                          int access, struct verbs_mr* vmr);
int ibv_cmd_alloc_mw(struct ibv_pd* pd, enum ibv_mw_type type, struct ibv_mw* mw,
                     struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size,
                     struct ib_uverbs_alloc_mw_resp* resp, size_t resp_size);
int ibv_cmd_dealloc_mw(struct ibv_mw* mw);
/* Here `cmd` has the extended header after the first. `cmd_flags` is for devices that can't stamp.
 */
int ibv_cmd_create_cq_ex(struct ibv_context* context, const struct ibv_cq_init_attr_ex* attr,
                         struct verbs_cq* cq, struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size,
                         struct ib_uverbs_ex_create_cq_resp* resp, size_t resp_size,
                         uint32_t cmd_flags);
struct ibv_modify_cq;
/* `cmd` is both headers of an extended command and struct ib_uverbs_ex_modify_cq. */
int ibv_cmd_modify_cq(struct ibv_cq* cq, struct ibv_modify_cq_attr* attr, struct ibv_modify_cq* cmd,
                      size_t cmd_size);
int ibv_cmd_resize_cq(struct ibv_cq* cq, int cqe, struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size,
                      struct ib_uverbs_resize_cq_resp* resp, size_t resp_size);
int ibv_cmd_destroy_cq(struct ibv_cq* cq);
int ibv_cmd_create_srq(struct ibv_pd* pd, struct ibv_srq* srq, struct ibv_srq_init_attr* attr,
                       struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size,
                       struct ib_uverbs_create_srq_resp* resp, size_t resp_size);
int ibv_cmd_modify_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, int attr_mask,
                       struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size);
int ibv_cmd_query_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, struct ib_uverbs_cmd_hdr* cmd,
                      size_t cmd_size);
int ibv_cmd_destroy_srq(struct ibv_srq* srq);
/* Sets up all of *qp but qp_ex. */
int ibv_cmd_create_qp_ex(struct ibv_context* context, struct verbs_qp* qp,
                         struct ibv_qp_init_attr_ex* attr, struct ib_uverbs_cmd_hdr* cmd,
                         size_t cmd_size, struct ib_uverbs_create_qp_resp* resp, size_t resp_size);
int ibv_cmd_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                     struct ibv_qp_init_attr* init_attr, struct ib_uverbs_cmd_hdr* cmd,
                     size_t cmd_size);
int ibv_cmd_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                      struct ib_uverbs_cmd_hdr* cmd, size_t cmd_size);
int ibv_cmd_destroy_qp(struct ibv_qp* qp);

static_assert(sizeof(struct verbs_match_ent) == 24, "verbs_match_ent");
static_assert(sizeof(struct verbs_sysfs_dev) == 992, "verbs_sysfs_dev");
static_assert(offsetof(struct verbs_sysfs_dev, driver_id) == 952, "driver_id");
static_assert(offsetof(struct verbs_sysfs_dev, abi_ver) == 968, "abi_ver");
static_assert(sizeof(struct verbs_device_ops) == 72, "verbs_device_ops");
static_assert(offsetof(struct verbs_device_ops, alloc_context) == 40, "alloc_context");
static_assert(sizeof(struct verbs_context_ops) == 608, "verbs_context_ops");
static_assert(offsetof(struct verbs_context_ops, alloc_pd) == 0x28, "alloc_pd");
static_assert(offsetof(struct verbs_context_ops, poll_cq) == 0x1a8, "poll_cq");
static_assert(offsetof(struct verbs_context_ops, req_notify_cq) == 0x228, "req_notify_cq");
static_assert(offsetof(struct verbs_device, device) == 0, "verbs_device");
static_assert(offsetof(struct ibv_qp_ex, qp_base) == 0, "ibv_qp_ex");

#ifdef __cplusplus
}
#endif

#endif /* WEFT_PROVIDER_ABI_H */
