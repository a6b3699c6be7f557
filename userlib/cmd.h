/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The uverbs commands that libweft issues. Each function returns 0 or a positive errno value.
 * The implementation is C, because C lets a structure follow one of ib_user_verbs.h's that ends
 * in a flexible array.
 */
#ifndef WEFT_CMD_H
#define WEFT_CMD_H

#include "provider_abi.h"

#include "weft-abi.h"

#ifdef __cplusplus
extern "C" {
#endif

int weft_cmd_get_context(struct verbs_context* context, struct weft_ucontext_resp* weft);

/* fw_ver gets the kernel's 64-bit version number. */
int weft_cmd_query_device(struct ibv_context* context,
                          const struct ibv_query_device_ex_input* input,
                          struct ibv_device_attr_ex* attr, size_t attr_size, uint64_t* fw_ver);

int weft_cmd_query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr);

int weft_cmd_alloc_pd(struct ibv_context* context, struct ibv_pd* pd);

int weft_cmd_reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access,
                    struct verbs_mr* mr);

int weft_cmd_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                           int access, struct verbs_mr* mr);

int weft_cmd_rereg_mr(struct verbs_mr* mr, uint32_t flags, struct ibv_pd* pd, void* addr,
                      size_t length, int access);

int weft_cmd_alloc_mw(struct ibv_pd* pd, enum ibv_mw_type type, struct ibv_mw* mw);

int weft_cmd_create_cq(struct ibv_context* context, const struct ibv_cq_init_attr_ex* attr,
                       struct verbs_cq* cq, struct weft_create_cq_resp* weft);
int weft_cmd_modify_cq(struct ibv_cq* cq, struct ibv_modify_cq_attr* attr);
int weft_cmd_resize_cq(struct ibv_cq* cq, int cqe, struct weft_create_cq_resp* weft);

/* attr->attr gets the limits that the kernel granted. */
int weft_cmd_create_srq(struct ibv_pd* pd, struct ibv_srq* srq, struct ibv_srq_init_attr* attr,
                        struct weft_create_srq_resp* weft);
int weft_cmd_modify_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, int attr_mask);
int weft_cmd_query_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr);

/* attr->cap gets the capabilities that the kernel granted. */
int weft_cmd_create_qp(struct verbs_qp* qp, struct ibv_qp_init_attr_ex* attr,
                       struct weft_create_qp_resp* weft);

int weft_cmd_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                      struct ibv_qp_init_attr* init_attr);

int weft_cmd_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask);

/* Tell the kernel that the send, the receive, the shared receive queue has new work requests. */
int weft_cmd_send_doorbell(struct ibv_qp* qp);
int weft_cmd_recv_doorbell(struct ibv_qp* qp);
int weft_cmd_srq_doorbell(struct ibv_srq* srq);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_CMD_H */
