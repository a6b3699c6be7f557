// SPDX-License-Identifier: GPL-2.0
//
// Prints where userlib/provider_abi.h puts each operation, "offset name" a line, or
// (argument "driver") the offsets of the driver description's entries that every
// simple provider fills in, and its size. For abi_check.sh to hold against
// rdma-core's own objects.
#include <stdio.h>
#include <string.h>

#include "provider_abi.h"

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "driver") == 0) {
    printf("%zu %zu %zu %zu %zu\n%zu\n", offsetof(verbs_device_ops, name),
           offsetof(verbs_device_ops, match_table), offsetof(verbs_device_ops, alloc_context),
           offsetof(verbs_device_ops, alloc_device), offsetof(verbs_device_ops, uninit_device),
           sizeof(verbs_device_ops));
    return 0;
  }
#define OP(name) printf("%zu " #name "\n", offsetof(verbs_context_ops, name))
  OP(advise_mr);
  OP(alloc_dm);
  OP(alloc_mw);
  OP(alloc_null_mr);
  OP(alloc_parent_domain);
  OP(alloc_pd);
  OP(alloc_td);
  OP(async_event);
  OP(attach_counters_point_flow);
  OP(attach_mcast);
  OP(bind_mw);
  OP(close_xrcd);
  OP(cq_event);
  OP(create_ah);
  OP(create_counters);
  OP(create_cq);
  OP(create_cq_ex);
  OP(create_flow);
  OP(create_flow_action_esp);
  OP(create_qp);
  OP(create_qp_ex);
  OP(create_rwq_ind_table);
  OP(create_srq);
  OP(create_srq_ex);
  OP(create_wq);
  OP(dealloc_mw);
  OP(dealloc_pd);
  OP(dealloc_td);
  OP(dereg_mr);
  OP(destroy_ah);
  OP(destroy_counters);
  OP(destroy_cq);
  OP(destroy_flow);
  OP(destroy_flow_action);
  OP(destroy_qp);
  OP(destroy_rwq_ind_table);
  OP(destroy_srq);
  OP(destroy_wq);
  OP(detach_mcast);
  OP(free_context);
  OP(free_dm);
  OP(get_srq_num);
  OP(import_dm);
  OP(import_mr);
  OP(import_pd);
  OP(modify_cq);
  OP(modify_flow_action_esp);
  OP(modify_qp);
  OP(modify_qp_rate_limit);
  OP(modify_srq);
  OP(modify_wq);
  OP(open_qp);
  OP(open_xrcd);
  OP(poll_cq);
  OP(post_recv);
  OP(post_send);
  OP(post_srq_ops);
  OP(post_srq_recv);
  OP(query_device_ex);
  OP(query_ece);
  OP(query_port);
  OP(query_qp);
  OP(query_qp_data_in_order);
  OP(query_rt_values);
  OP(query_srq);
  OP(read_counters);
  OP(reg_dm_mr);
  OP(reg_dmabuf_mr);
  OP(reg_mr);
  OP(req_notify_cq);
  OP(rereg_mr);
  OP(resize_cq);
  OP(set_ece);
  OP(unimport_dm);
  OP(unimport_mr);
  OP(unimport_pd);
#undef OP
  return 0;
}
