/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions of libibverbs for providers that libweft calls. The types are exactly
 * rdma-core's, so that tests/provider/headers_check can have a compiler compare these
 * declarations with rdma-core's own.
 */
#ifndef WEFT_PROVIDER_CALLS_H
#define WEFT_PROVIDER_CALLS_H

#include "since.h"

struct ibv_get_context;
struct ibv_query_port;
struct ibv_alloc_pd;
struct ibv_reg_mr;
struct ibv_rereg_mr;
struct ibv_alloc_mw;
struct ibv_create_cq_ex;
struct ibv_modify_cq;
struct ibv_resize_cq;
struct ibv_create_srq;
struct ibv_modify_srq;
struct ibv_query_srq;
struct ibv_create_qp;
struct ibv_query_qp;
struct ibv_modify_qp;
struct ibv_fd_arr;
struct ibv_command_buffer;
struct verbs_create_cq_prov_attr;

/* The name carries the tag, so that even a static link finds the right one. */
#ifndef verbs_register_driver
#define WEFT_REGISTER_OF(tag) verbs_register_driver_##tag
#define WEFT_REGISTER(tag) WEFT_REGISTER_OF(tag)
#define verbs_register_driver WEFT_REGISTER(WEFT_RDMA_CORE_TAG)
#endif
void verbs_register_driver(const struct verbs_device_ops* ops);

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
 * Marshalling of the standard uverbs commands. `cmd` is opaque here: the command header, the
 * command's structure of ib_user_verbs.h, and the driver's data; `resp` is the response structure
 * and the driver's data. Parameters that some release added are NULL, because libweft has no use
 * for them. All return 0 or a positive errno value.
 */
int ibv_cmd_get_context(
    struct verbs_context* context, struct ibv_get_context* cmd, size_t cmd_size,
    WEFT_SINCE_57(struct ibv_fd_arr* fds, ) struct ib_uverbs_get_context_resp* resp,
    size_t resp_size);
int ibv_cmd_query_device_any(struct ibv_context* context,
                             const struct ibv_query_device_ex_input* input,
                             struct ibv_device_attr_ex* attr, size_t attr_size,
                             struct ib_uverbs_ex_query_device_resp* resp, size_t* resp_size);
int ibv_cmd_query_port(struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr,
                       struct ibv_query_port* cmd, size_t cmd_size);
int ibv_cmd_alloc_pd(struct ibv_context* context, struct ibv_pd* pd, struct ibv_alloc_pd* cmd,
                     size_t cmd_size, struct ib_uverbs_alloc_pd_resp* resp, size_t resp_size);
int ibv_cmd_dealloc_pd(struct ibv_pd* pd);
int ibv_cmd_reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t hca_va, int access,
                   struct verbs_mr* vmr, struct ibv_reg_mr* cmd, size_t cmd_size,
                   struct ib_uverbs_reg_mr_resp* resp, size_t resp_size);
int ibv_cmd_dereg_mr(struct verbs_mr* vmr);
int ibv_cmd_rereg_mr(struct verbs_mr* vmr, uint32_t flags, void* addr, size_t length,
                     uint64_t hca_va, int access, struct ibv_pd* pd, struct ibv_rereg_mr* cmd,
                     size_t cmd_size, struct ib_uverbs_rereg_mr_resp* resp, size_t resp_size);
int ibv_cmd_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                          int access,
                          struct verbs_mr* vmr WEFT_SINCE_54(, struct ibv_command_buffer* driver));
int ibv_cmd_alloc_mw(struct ibv_pd* pd, enum ibv_mw_type type, struct ibv_mw* mw,
                     struct ibv_alloc_mw* cmd, size_t cmd_size,
                     struct ib_uverbs_alloc_mw_resp* resp, size_t resp_size);
int ibv_cmd_dealloc_mw(struct ibv_mw* mw);
/* Here `cmd` has the extended header after the first. `cmd_flags` is for devices that can't stamp.
 */
int ibv_cmd_create_cq_ex(
    struct ibv_context* context, const struct ibv_cq_init_attr_ex* attr,
    WEFT_SINCE_59(struct verbs_create_cq_prov_attr* prov_attr, ) struct verbs_cq* cq,
    struct ibv_create_cq_ex* cmd, size_t cmd_size, struct ib_uverbs_ex_create_cq_resp* resp,
    size_t resp_size, uint32_t cmd_flags);
/* `cmd` is both headers of an extended command and struct ib_uverbs_ex_modify_cq. */
int ibv_cmd_modify_cq(struct ibv_cq* cq, struct ibv_modify_cq_attr* attr, struct ibv_modify_cq* cmd,
                      size_t cmd_size);
int ibv_cmd_resize_cq(struct ibv_cq* cq, int cqe, struct ibv_resize_cq* cmd, size_t cmd_size,
                      struct ib_uverbs_resize_cq_resp* resp, size_t resp_size);
int ibv_cmd_destroy_cq(struct ibv_cq* cq);
int ibv_cmd_create_srq(struct ibv_pd* pd, struct ibv_srq* srq, struct ibv_srq_init_attr* attr,
                       struct ibv_create_srq* cmd, size_t cmd_size,
                       struct ib_uverbs_create_srq_resp* resp, size_t resp_size);
int ibv_cmd_modify_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, int attr_mask,
                       struct ibv_modify_srq* cmd, size_t cmd_size);
int ibv_cmd_query_srq(struct ibv_srq* srq, struct ibv_srq_attr* attr, struct ibv_query_srq* cmd,
                      size_t cmd_size);
int ibv_cmd_destroy_srq(struct ibv_srq* srq);
/* Sets up all of *qp but qp_ex. */
int ibv_cmd_create_qp_ex(struct ibv_context* context, struct verbs_qp* qp,
                         struct ibv_qp_init_attr_ex* attr, struct ibv_create_qp* cmd,
                         size_t cmd_size, struct ib_uverbs_create_qp_resp* resp, size_t resp_size);
int ibv_cmd_query_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                     struct ibv_qp_init_attr* init_attr, struct ibv_query_qp* cmd, size_t cmd_size);
int ibv_cmd_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
                      struct ibv_modify_qp* cmd, size_t cmd_size);
int ibv_cmd_destroy_qp(struct ibv_qp* qp);

#endif /* WEFT_PROVIDER_CALLS_H */
