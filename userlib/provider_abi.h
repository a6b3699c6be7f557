/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of rdma-core's private provider interface that libweft needs: structures here,
 * operations in provider_ops.h, functions in provider_calls.h.
 *
 * libibverbs-dev installs the public verbs only; the header of the interface between libibverbs
 * and its providers stays in rdma-core's source tree. releases.h lists the releases that are
 * described here. All have the same structures, but for the table of operations, which grew, and
 * struct verbs_qp, which holds the public struct ibv_qp_ex. libweft is built for one release and
 * refuses others (version.cc).
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

#include "since.h"

#ifdef __cplusplus
extern "C" {
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

/* A provider's operations. verbs_set_ops() copies those that are not NULL. */
struct verbs_context_ops {
/* NOLINTBEGIN(bugprone-macro-parentheses): a type takes none. */
#define WEFT_OP(since, name, result, parameters) WEFT_SINCE_##since(result(*name) parameters;)
#define WEFT_OP_UNUSED(since, name) WEFT_SINCE_##since(verbs_op_unused name;)
/* NOLINTEND(bugprone-macro-parentheses) */
#include "provider_ops.h"
};

#include "provider_calls.h"

/* The release that this is built for has a row, and the table has that row's size. */
#define WEFT_RELEASES(first, last, tag, operations)                             \
  ((WEFT_RDMA_CORE_RELEASE >= (first) && WEFT_RDMA_CORE_RELEASE <= (last) &&    \
    WEFT_RDMA_CORE_TAG == (tag) &&                                              \
    sizeof(struct verbs_context_ops) == (operations) * sizeof(verbs_op_unused)) \
       ? 1                                                                      \
       : 0) +
static_assert(
#include "releases.h"
    0 == 1, "releases.h has no such release of rdma-core");
#undef WEFT_RELEASES

#ifdef __cplusplus
}
#endif

#endif /* WEFT_PROVIDER_ABI_H */
