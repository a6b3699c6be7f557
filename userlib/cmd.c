// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cmd.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>

/* A command as libibverbs takes it: header, then the command's own structure. */
#define WEFT_CMD(type)            \
  struct {                        \
    struct ib_uverbs_cmd_hdr hdr; \
    struct type core;             \
  }

/* A response: the core's structure, then the kernel module's. */
#define WEFT_RESP(type, weft_type)                                       \
  union {                                                                \
    struct type core;                                                    \
    unsigned char bytes[sizeof(struct type) + sizeof(struct weft_type)]; \
  }

int weft_cmd_get_context(struct verbs_context* context, struct weft_ucontext_resp* weft) {
  WEFT_CMD(ib_uverbs_get_context) cmd;
  WEFT_RESP(ib_uverbs_get_context_resp, weft_ucontext_resp) resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  int ret = ibv_cmd_get_context(context, (void*)&cmd, sizeof(cmd),
                                WEFT_SINCE_57(NULL, ) & resp.core, sizeof(resp));
  memcpy(weft, resp.bytes + sizeof(resp.core), sizeof(*weft));
  return ret;
}

int weft_cmd_query_device(struct ibv_context* context,
                          const struct ibv_query_device_ex_input* input,
                          struct ibv_device_attr_ex* attr, size_t attr_size, uint64_t* fw_ver) {
  struct ib_uverbs_ex_query_device_resp resp;
  size_t resp_size = sizeof(resp);

  memset(&resp, 0, sizeof(resp));
  int ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp, &resp_size);
  *fw_ver = resp.base.fw_ver;
  return ret;
}

int weft_cmd_query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr) {
  WEFT_CMD(ib_uverbs_query_port) cmd;

  memset(&cmd, 0, sizeof(cmd));
  return ibv_cmd_query_port(context, port_num, attr, (void*)&cmd, sizeof(cmd));
}

int weft_cmd_alloc_pd(struct ibv_context* context, struct ibv_pd* pd) {
  WEFT_CMD(ib_uverbs_alloc_pd) cmd;
  struct ib_uverbs_alloc_pd_resp resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  return ibv_cmd_alloc_pd(context, pd, (void*)&cmd, sizeof(cmd), &resp, sizeof(resp));
}

int weft_cmd_reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access,
                    struct verbs_mr* mr) {
  WEFT_CMD(ib_uverbs_reg_mr) cmd;
  struct ib_uverbs_reg_mr_resp resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  return ibv_cmd_reg_mr(pd, addr, length, iova, access, mr, (void*)&cmd, sizeof(cmd), &resp,
                        sizeof(resp));
}

int weft_cmd_rereg_mr(struct verbs_mr* mr, uint32_t flags, struct ibv_pd* pd, void* addr,
                      size_t length, int access) {
  WEFT_CMD(ib_uverbs_rereg_mr) cmd;
  struct ib_uverbs_rereg_mr_resp resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  return ibv_cmd_rereg_mr(mr, flags, addr, length, (uintptr_t)addr, access, pd, (void*)&cmd,
                          sizeof(cmd), &resp, sizeof(resp));
}

int weft_cmd_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                           int access, struct verbs_mr* mr) {
  return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr WEFT_SINCE_54(, NULL));
}

int weft_cmd_alloc_mw(struct ibv_pd* pd, enum ibv_mw_type type, struct ibv_mw* mw) {
  WEFT_CMD(ib_uverbs_alloc_mw) cmd;
  struct ib_uverbs_alloc_mw_resp resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  return ibv_cmd_alloc_mw(pd, type, mw, (void*)&cmd, sizeof(cmd), &resp, sizeof(resp));
}

int weft_cmd_create_cq(struct ibv_context* context, const struct ibv_cq_init_attr_ex* attr,
                       struct verbs_cq* cq, struct weft_create_cq_resp* weft) {
  struct {
    struct ib_uverbs_cmd_hdr hdr;
    struct ib_uverbs_ex_cmd_hdr ex_hdr;
    struct ib_uverbs_ex_create_cq core;
  } cmd;
  WEFT_RESP(ib_uverbs_ex_create_cq_resp, weft_create_cq_resp) resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  int ret = ibv_cmd_create_cq_ex(context, attr, WEFT_SINCE_59(NULL, ) cq, (void*)&cmd, sizeof(cmd),
                                 &resp.core, sizeof(resp), 0);
  memcpy(weft, resp.bytes + sizeof(resp.core), sizeof(*weft));
  return ret;
}

int weft_cmd_modify_cq(struct ibv_cq* cq, struct ibv_modify_cq_attr* attr) {
  struct {
    struct ib_uverbs_cmd_hdr hdr;
    struct ib_uverbs_ex_cmd_hdr ex_hdr;
    struct ib_uverbs_ex_modify_cq core;
  } cmd;

  memset(&cmd, 0, sizeof(cmd));
  return ibv_cmd_modify_cq(cq, attr, (void*)&cmd, sizeof(cmd));
}

int weft_cmd_resize_cq(struct ibv_cq* cq, int cqe, struct weft_create_cq_resp* weft) {
  WEFT_CMD(ib_uverbs_resize_cq) cmd;
  WEFT_RESP(ib_uverbs_resize_cq_resp, weft_create_cq_resp) resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  int ret = ibv_cmd_resize_cq(cq, cqe, (void*)&cmd, sizeof(cmd), &resp.core, sizeof(resp));
  memcpy(weft, resp.bytes + sizeof(resp.core), sizeof(*weft));
  return ret;
}

int weft_cmd_create_srq(struct ibv_pd* pd, struct ibv_srq* srq, struct ibv_srq_init_attr* attr,
                        struct weft_create_srq_resp* weft) {
  WEFT_CMD(ib_uverbs_create_srq) cmd;
  WEFT_RESP(ib_uverbs_create_srq_resp, weft_create_srq_resp) resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  int ret = ibv_cmd_create_srq(pd, srq, attr, (void*)&cmd, sizeof(cmd), &resp.core, sizeof(resp));
  memcpy(weft, resp.bytes + sizeof(resp.core), sizeof(*weft));
  return ret;
}

int weft_cmd_modify_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, int attr_mask) {
  WEFT_CMD(ib_uverbs_modify_srq) cmd;

  memset(&cmd, 0, sizeof(cmd));
  return ibv_cmd_modify_srq(srq, attr, attr_mask, (void*)&cmd, sizeof(cmd));
}

int weft_cmd_query_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr) {
  WEFT_CMD(ib_uverbs_query_srq) cmd;

  memset(&cmd, 0, sizeof(cmd));
  return ibv_cmd_query_srq(srq, attr, (void*)&cmd, sizeof(cmd));
}

int weft_cmd_create_qp(struct verbs_qp* qp, struct ibv_qp_init_attr_ex* attr,
                       struct weft_create_qp_resp* weft) {
  WEFT_CMD(ib_uverbs_create_qp) cmd;
  WEFT_RESP(ib_uverbs_create_qp_resp, weft_create_qp_resp) resp;

  memset(&cmd, 0, sizeof(cmd));
  memset(&resp, 0, sizeof(resp));
  int ret = ibv_cmd_create_qp_ex(attr->pd->context, qp, attr, (void*)&cmd, sizeof(cmd), &resp.core,
                                 sizeof(resp));
  memcpy(weft, resp.bytes + sizeof(resp.core), sizeof(*weft));
  return ret;
}

int weft_cmd_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                      struct ibv_qp_init_attr* init_attr) {
  WEFT_CMD(ib_uverbs_query_qp) cmd;

  memset(&cmd, 0, sizeof(cmd));
  return ibv_cmd_query_qp(qp, attr, attr_mask, init_attr, (void*)&cmd, sizeof(cmd));
}

int weft_cmd_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask) {
  WEFT_CMD(ib_uverbs_modify_qp) cmd;

  memset(&cmd, 0, sizeof(cmd));
  return ibv_cmd_modify_qp(qp, attr, attr_mask, (void*)&cmd, sizeof(cmd));
}

/*
 * The module's own methods, called straight: libibverbs' functions for posting
 * allocate, and have the kernel do so, for work requests that are in the ring
 * already.
 */
static int weft_cmd_doorbell(const struct ibv_context* context, uint16_t object, uint16_t method,
                             uint16_t len, uint64_t data) {
  struct {
    struct ib_uverbs_ioctl_hdr hdr;
    struct ib_uverbs_attr attr;
  } cmd;

  memset(&cmd, 0, sizeof(cmd));
  cmd.hdr.length = sizeof(cmd);
  cmd.hdr.object_id = object;
  cmd.hdr.method_id = method;
  cmd.hdr.num_attrs = 1;
  cmd.hdr.driver_id = WEFT_DRIVER_ID;
  cmd.attr.attr_id = WEFT_ATTR_DOORBELL;
  cmd.attr.len = len;
  cmd.attr.flags = UVERBS_ATTR_F_MANDATORY;
  cmd.attr.data = data;
  return ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, &cmd) == 0 ? 0 : errno;
}

/* A queue pair's carries its number, as a value of the 8 bytes the kernel asks for. */
static int weft_cmd_qp_doorbell(const struct ibv_qp* qp, uint16_t method) {
  return weft_cmd_doorbell(qp->context, UVERBS_OBJECT_QP, method, sizeof(uint64_t), qp->qp_num);
}

int weft_cmd_send_doorbell(struct ibv_qp* qp) {
  return weft_cmd_qp_doorbell(qp, WEFT_METHOD_SEND_DOORBELL);
}

int weft_cmd_recv_doorbell(struct ibv_qp* qp) {
  return weft_cmd_qp_doorbell(qp, WEFT_METHOD_RECV_DOORBELL);
}

/* A shared receive queue has no number: its handle, which has no length of its own. */
int weft_cmd_srq_doorbell(struct ibv_srq* srq) {
  return weft_cmd_doorbell(srq->context, UVERBS_OBJECT_SRQ, WEFT_METHOD_SRQ_DOORBELL, 0,
                           srq->handle);
}
