// SPDX-License-Identifier: GPL-2.0
/* The module: its parts in order, its exports, and its tracepoints. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "base/baton.h"
#include "base/compat.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "llp/arrivals.h"
#include "llp/tcp.h"
#include "llp/transport.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "queue/cq.h"
#include "tx/tx.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

/* Defines the tracepoints. */
#define CREATE_TRACE_POINTS
#include "base/trace.h"

MODULE_DESCRIPTION("Weft: RDMA (iWARP) on any Ethernet card");
MODULE_LICENSE("GPL");
MODULE_VERSION(WEFT_VERSION);
MODULE_ALIAS_RDMA_LINK("weft");

struct workqueue_struct *weft_workqueue;
struct workqueue_struct *weft_near_workqueue;

static int __init weft_init(void)
{
	int ret = -ENOMEM;

	weft_workqueue = alloc_workqueue("weft", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!weft_workqueue)
		return ret;
	weft_near_workqueue = alloc_workqueue("weft-near",
					      WQ_PERCPU | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!weft_near_workqueue)
		goto destroy_workqueue;
	ret = weft_dmabuf_init();
	if (ret)
		goto destroy_near_workqueue;
	ret = weft_lane_init(weft_conn_serve);
	if (ret)
		goto exit_dmabuf;
	ret = weft_device_init();
	if (ret)
		goto exit_conn;
	return 0;

exit_conn:
	destroy_workqueue(weft_conn_wq);
exit_dmabuf:
	weft_dmabuf_exit();
destroy_near_workqueue:
	destroy_workqueue(weft_near_workqueue);
destroy_workqueue:
	destroy_workqueue(weft_workqueue);
	return ret;
}

static void __exit weft_exit(void)
{
	weft_device_exit();
	destroy_workqueue(weft_conn_wq);
	weft_dmabuf_exit();
	weft_loan_exit();
	destroy_workqueue(weft_near_workqueue);
	destroy_workqueue(weft_workqueue);
	rcu_barrier(); /* RCU may still have regions to free */
}

module_init(weft_init);
module_exit(weft_exit);

/* --- what transports that are modules of their own get; see llp/transport.h --- */

WEFT_EXPORT(weft_transport_register);
WEFT_EXPORT(weft_transport_withdraw);

WEFT_EXPORT(weft_workqueue);
WEFT_EXPORT(weft_baton_try);
WEFT_EXPORT(weft_baton_unlock);
WEFT_EXPORT(weft_addr_netdev);

WEFT_EXPORT(weft_arrival_new);
WEFT_EXPORT(weft_arrivals_init);
WEFT_EXPORT(weft_arrivals_add);
WEFT_EXPORT(weft_arrivals_pass);
WEFT_EXPORT(weft_arrivals_drop);

WEFT_EXPORT(weft_mpa_encode);
WEFT_EXPORT(weft_mpa_encode_depths);
WEFT_EXPORT(weft_mpa_decode);
WEFT_EXPORT(weft_mpa_decode_depths);

WEFT_EXPORT(weft_sock_bind);
WEFT_EXPORT(weft_sock_listen);
WEFT_EXPORT(weft_sock_connect);
WEFT_EXPORT(weft_sock_charge);
WEFT_EXPORT(weft_sock_charge_as);
WEFT_EXPORT(weft_sock_set_tos);
WEFT_EXPORT(weft_sock_name_v4);
WEFT_EXPORT(weft_sock_name_v6);

/* The calls that llp/llp.h makes without a table. */
WEFT_EXPORT(weft_tcp_class);
WEFT_EXPORT(weft_tcp_lock);
WEFT_EXPORT(weft_tcp_unlock);
WEFT_EXPORT(weft_tcp_want_space);
WEFT_EXPORT(weft_tcp_send_page);
WEFT_EXPORT(weft_tcp_read);
WEFT_EXPORT(weft_tcp_end);
