// SPDX-License-Identifier: GPL-2.0
/* The module: its parts in order, and `rdma link add`. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "base/compat.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "conn/conn.h"
#include "memory/dmabuf.h"
#include "tx/tx.h"

MODULE_DESCRIPTION("Weft: RDMA (iWARP) on any Ethernet card");
MODULE_LICENSE("GPL");
MODULE_VERSION(WEFT_VERSION);
MODULE_ALIAS_RDMA_LINK("weft");

struct workqueue_struct *weft_workqueue;
struct workqueue_struct *weft_near_workqueue;

static struct rdma_link_ops link_ops = {
	.type = "weft",
	.newlink = weft_device_create,
};

static int __init make_workqueues(void)
{
	weft_workqueue = alloc_workqueue("weft", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!weft_workqueue)
		return -ENOMEM;
	weft_near_workqueue = alloc_workqueue("weft-near",
					      WQ_PERCPU | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (weft_near_workqueue)
		return 0;
	destroy_workqueue(weft_workqueue);
	return -ENOMEM;
}

static void free_workqueues(void)
{
	destroy_workqueue(weft_near_workqueue);
	destroy_workqueue(weft_workqueue);
}

static int __init weft_init(void)
{
	int ret;

	ret = make_workqueues();
	if (ret)
		return ret;
	ret = weft_dmabuf_init();
	if (ret)
		goto free_workqueues;
	ret = weft_conn_init();
	if (ret)
		goto exit_dmabuf;
	ret = weft_device_init();
	if (ret)
		goto exit_conn;
	rdma_link_register(&link_ops);
	return 0;

exit_conn:
	weft_conn_exit();
exit_dmabuf:
	weft_dmabuf_exit();
free_workqueues:
	free_workqueues();
	return ret;
}

static void __exit weft_exit(void)
{
	rdma_link_unregister(&link_ops);
	weft_device_exit();
	weft_conn_exit();
	weft_dmabuf_exit();
	weft_loan_exit();
	free_workqueues();
	rcu_barrier(); /* RCU may still have regions to free */
}

module_init(weft_init);
module_exit(weft_exit);
