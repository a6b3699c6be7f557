/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every operation that a provider can offer, in libibverbs' (alphabetical) order, each with the
 * rdma-core release that added it. A row that libweft offers has the operation's type, result and
 * parameters. For the others libibverbs' default stands (EOPNOTSUPP).
 *
 * Before including this file define WEFT_OP() and WEFT_OP_UNUSED(), which turn a row into a member
 * of struct verbs_context_ops (provider_abi.h) or into a line of a test's output.
 */
/* clang-format off */
WEFT_OP_UNUSED(44, advise_mr)
WEFT_OP_UNUSED(64, alloc_buf)
WEFT_OP_UNUSED(44, alloc_dm)
WEFT_OP_UNUSED(59, alloc_dmah)
WEFT_OP(44, alloc_mw, struct ibv_mw*, (struct ibv_pd* pd, enum ibv_mw_type type))
WEFT_OP_UNUSED(44, alloc_null_mr)
WEFT_OP(44, alloc_parent_domain, struct ibv_pd*,
        (struct ibv_context* context, struct ibv_parent_domain_init_attr* attr))
WEFT_OP(44, alloc_pd, struct ibv_pd*, (struct ibv_context* context))
WEFT_OP(44, alloc_td, struct ibv_td*, (struct ibv_context* context, struct ibv_td_init_attr* attr))
WEFT_OP_UNUSED(44, async_event)
WEFT_OP_UNUSED(44, attach_counters_point_flow)
WEFT_OP_UNUSED(44, attach_mcast)
WEFT_OP(44, bind_mw, int, (struct ibv_qp* qp, struct ibv_mw* mw, struct ibv_mw_bind* mw_bind))
WEFT_OP_UNUSED(44, close_xrcd)
WEFT_OP_UNUSED(44, cq_event)
WEFT_OP_UNUSED(44, create_ah)
WEFT_OP_UNUSED(65, create_comp_cntr)
WEFT_OP_UNUSED(44, create_counters)
WEFT_OP(44, create_cq, struct ibv_cq*,
        (struct ibv_context* context, int cqe, struct ibv_comp_channel* channel, int comp_vector))
WEFT_OP(44, create_cq_ex, struct ibv_cq_ex*,
        (struct ibv_context* context, struct ibv_cq_init_attr_ex* init_attr))
WEFT_OP_UNUSED(44, create_flow)
WEFT_OP_UNUSED(44, create_flow_action_esp)
WEFT_OP(44, create_qp, struct ibv_qp*, (struct ibv_pd* pd, struct ibv_qp_init_attr* attr))
WEFT_OP(44, create_qp_ex, struct ibv_qp*,
        (struct ibv_context* context, struct ibv_qp_init_attr_ex* attr))
WEFT_OP_UNUSED(44, create_rwq_ind_table)
WEFT_OP(44, create_srq, struct ibv_srq*, (struct ibv_pd* pd, struct ibv_srq_init_attr* attr))
WEFT_OP_UNUSED(44, create_srq_ex)
WEFT_OP_UNUSED(44, create_wq)
WEFT_OP_UNUSED(59, dealloc_dmah)
WEFT_OP(44, dealloc_mw, int, (struct ibv_mw* mw))
WEFT_OP(44, dealloc_pd, int, (struct ibv_pd* pd))
WEFT_OP(44, dealloc_td, int, (struct ibv_td* td))
WEFT_OP(44, dereg_mr, int, (struct verbs_mr* vmr))
WEFT_OP_UNUSED(44, destroy_ah)
WEFT_OP_UNUSED(65, destroy_comp_cntr)
WEFT_OP_UNUSED(44, destroy_counters)
WEFT_OP(44, destroy_cq, int, (struct ibv_cq* cq))
WEFT_OP_UNUSED(44, destroy_flow)
WEFT_OP_UNUSED(44, destroy_flow_action)
WEFT_OP(44, destroy_qp, int, (struct ibv_qp* qp))
WEFT_OP_UNUSED(44, destroy_rwq_ind_table)
WEFT_OP(44, destroy_srq, int, (struct ibv_srq* srq))
WEFT_OP_UNUSED(44, destroy_wq)
WEFT_OP_UNUSED(44, detach_mcast)
WEFT_OP_UNUSED(62, dm_export_dmabuf_fd)
WEFT_OP_UNUSED(64, free_buf)
WEFT_OP(44, free_context, void, (struct ibv_context* context))
WEFT_OP_UNUSED(44, free_dm)
WEFT_OP_UNUSED(44, get_srq_num)
WEFT_OP_UNUSED(44, import_dm)
WEFT_OP_UNUSED(44, import_mr)
WEFT_OP_UNUSED(44, import_pd)
WEFT_OP_UNUSED(65, inc_comp_cntr)
WEFT_OP_UNUSED(65, inc_err_comp_cntr)
WEFT_OP(44, modify_cq, int, (struct ibv_cq* cq, struct ibv_modify_cq_attr* attr))
WEFT_OP_UNUSED(44, modify_flow_action_esp)
WEFT_OP(44, modify_qp, int, (struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask))
WEFT_OP_UNUSED(44, modify_qp_rate_limit)
WEFT_OP(44, modify_srq, int, (struct ibv_srq* srq, struct ibv_srq_attr* attr, int attr_mask))
WEFT_OP_UNUSED(44, modify_wq)
WEFT_OP_UNUSED(44, open_qp)
WEFT_OP_UNUSED(44, open_xrcd)
WEFT_OP(44, poll_cq, int, (struct ibv_cq* cq, int num_entries, struct ibv_wc* wc))
WEFT_OP(44, post_recv, int,
        (struct ibv_qp* qp, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr))
WEFT_OP(44, post_send, int,
        (struct ibv_qp* qp, struct ibv_send_wr* wr, struct ibv_send_wr** bad_wr))
WEFT_OP_UNUSED(44, post_srq_ops)
WEFT_OP(44, post_srq_recv, int,
        (struct ibv_srq* srq, struct ibv_recv_wr* wr, struct ibv_recv_wr** bad_wr))
WEFT_OP_UNUSED(65, qp_attach_comp_cntr)
WEFT_OP_UNUSED(65, query_comp_cntr_caps)
WEFT_OP(44, query_device_ex, int,
        (struct ibv_context* context, const struct ibv_query_device_ex_input* input,
         struct ibv_device_attr_ex* attr, size_t attr_size))
WEFT_OP_UNUSED(44, query_ece)
WEFT_OP(44, query_port, int,
        (struct ibv_context* context, uint8_t port_num, struct ibv_port_attr* attr))
WEFT_OP_UNUSED(62, query_port_speed)
WEFT_OP(44, query_qp, int,
        (struct ibv_qp* qp, struct ibv_qp_attr* attr, int attr_mask,
         struct ibv_qp_init_attr* init_attr))
WEFT_OP_UNUSED(44, query_qp_data_in_order)
WEFT_OP(44, query_rt_values, int, (struct ibv_context* context, struct ibv_values_ex* values))
WEFT_OP(44, query_srq, int, (struct ibv_srq* srq, struct ibv_srq_attr* attr))
WEFT_OP_UNUSED(65, read_comp_cntr)
WEFT_OP_UNUSED(44, read_counters)
WEFT_OP_UNUSED(65, read_err_comp_cntr)
WEFT_OP_UNUSED(44, reg_dm_mr)
WEFT_OP(44, reg_dmabuf_mr, struct ibv_mr*,
        (struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access))
WEFT_OP(44, reg_mr, struct ibv_mr*,
        (struct ibv_pd* pd, void* addr, size_t length, uint64_t hca_va, int access))
WEFT_OP(59, reg_mr_ex, struct ibv_mr*, (struct ibv_pd* pd, struct ibv_mr_init_attr* attr))
WEFT_OP(44, req_notify_cq, int, (struct ibv_cq* cq, int solicited_only))
WEFT_OP(44, rereg_mr, int,
        (struct verbs_mr* vmr, int flags, struct ibv_pd* pd, void* addr, size_t length,
         int access))
WEFT_OP(44, resize_cq, int, (struct ibv_cq* cq, int cqe))
WEFT_OP_UNUSED(65, set_comp_cntr)
WEFT_OP_UNUSED(44, set_ece)
WEFT_OP_UNUSED(65, set_err_comp_cntr)
WEFT_OP_UNUSED(44, unimport_dm)
WEFT_OP_UNUSED(44, unimport_mr)
WEFT_OP_UNUSED(44, unimport_pd)
/* clang-format on */
#undef WEFT_OP
#undef WEFT_OP_UNUSED
