// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of `rdma -dd res show` that only this driver knows: a snapshot, read without the locks
 * of the data path, so that an operator disturbs nothing. The core keeps the objects from being
 * freed meanwhile, but Weft may have destroyed a queue pair or completion queue already. No room in
 * a message is -EMSGSIZE.
 */
#include <linux/capability.h>
#include <linux/inet.h>
#include <linux/slab.h>
#include <rdma/restrack.h>
#include <rdma/rdma_netlink.h>

#include "base/weft.h"
#include "conn/iwcm.h"
#include "device/device.h"
#include "engine/engine.h"
#include "memory/mr.h"
#include "queue/cq.h"

struct fact {
	const char *name;
	u64 value;
};

/* Ends the driver's part of a message, or drops the part after an error. */
static int put_end(struct sk_buff *msg, struct nlattr *nest, int ret)
{
	if (ret)
		nla_nest_cancel(msg, nest);
	else
		nla_nest_end(msg, nest);
	return ret;
}

static int put_facts(struct sk_buff *msg, const struct fact *facts, size_t num)
{
	int ret = 0;

	for (; !ret && num--; facts++)
		ret = rdma_nl_put_driver_u64(msg, facts->name, facts->value);
	return ret;
}

static int put_address(struct sk_buff *msg, const char *name, const struct sockaddr_storage *addr)
{
	char text[INET6_ADDRSTRLEN + sizeof("[]:65535%4294967295")];

	if (!addr->ss_family)
		return 0;
	snprintf(text, sizeof(text), "%pISpc", addr);
	return rdma_nl_put_driver_string(msg, name, text);
}

/* Adds the fields of one of a connection's paths. */
static int put_path(struct sk_buff *msg, u32 number, const struct weft_path_info *path)
{
	const struct weft_path_counts *counts = &path->counts;
	const struct fact facts[] = {
		{ "tx_bytes", counts->tx_bytes },
		{ "rx_bytes", counts->rx_bytes },
		{ "replayed", counts->replayed },
		{ "joins", counts->joins },
		{ "leaves", counts->leaves },
	};
	char name[32];
	size_t i;
	int ret;

	snprintf(name, sizeof(name), "path%u", number);
	ret = path->up ? put_address(msg, name, &path->remote) :
			 rdma_nl_put_driver_string(msg, name, "down");
	for (i = 0; !ret && i < ARRAY_SIZE(facts); i++) {
		snprintf(name, sizeof(name), "path%u_%s", number, facts[i].name);
		ret = rdma_nl_put_driver_u64(msg, name, facts[i].value);
	}
	return ret;
}

/* Adds the fields of a connection and drops the reference on it. */
static int put_conn(struct sk_buff *msg, struct weft_conn *conn)
{
	struct weft_conn_info *info = kmalloc(sizeof(*info), GFP_KERNEL);
	int ret;
	u32 i;

	/* Without memory, show no fields. */
	if (!info) {
		weft_conn_put(conn);
		return 0;
	}
	weft_conn_info(conn, info);
	weft_conn_put(conn);
	ret = rdma_nl_put_driver_string(msg, "conn", info->state) ?:
	      rdma_nl_put_driver_string(msg, "role", info->initiator ? "initiator" : "responder");
	if (!ret && info->local.ss_family)
		ret = rdma_nl_put_driver_string(msg, "transport", info->over);
	ret = ret ?: put_address(msg, "local", &info->local) ?:
		     put_address(msg, "remote", &info->remote);
	for (i = 0; !ret && i < info->num_paths; i++)
		ret = put_path(msg, i, &info->path[i]);
	kfree(info);
	return ret;
}

/*
 * Adds the agreed terms and the progress of both directions, once data can flow. All of them lie in
 * the queue pair itself, because the objects behind its pointers may be freed meanwhile.
 */
static int put_flow(struct sk_buff *msg, const struct weft_qp *qp, const struct weft_flow *flow)
{
	const struct fact facts[] = {
		{ "mpa_revision", READ_ONCE(qp->agreed.revision) },
		{ "crc", READ_ONCE(qp->agreed.crc) },
		{ "tx_markers", READ_ONCE(qp->agreed.marks_out) },
		{ "rx_markers", READ_ONCE(qp->agreed.marks_in) },
		{ "extended", READ_ONCE(qp->agreed.extended) },
		{ "rtr", READ_ONCE(qp->agreed.rtr) },
		{ "ird", READ_ONCE(qp->agreed.ird) },
		{ "ord", READ_ONCE(qp->agreed.ord) },
		{ "sq_inflight", weft_glance(qp->inflight.head) - weft_glance(qp->inflight.tail) },
		{ "reads", weft_glance(qp->reads.head) - weft_glance(qp->reads.tail) },
		{ "answers", weft_glance(qp->peer_reads.head) - weft_glance(qp->peer_reads.tail) },
		{ "tx_segment", flow->tx_segment },
		{ "tx_longest", flow->tx_longest },
		{ "tx_bytes", flow->tx_taken },
		{ "tx_waiting", flow->tx_waiting },
		{ "tx_gated", weft_glance(qp->gate.shut) },
		{ "rx_stalled", flow->rx_stalled },
		{ "rx_kept_most", flow->rx_kept_most },
	};

	return put_facts(msg, facts, ARRAY_SIZE(facts));
}

int weft_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	struct weft_qp *qp = to_weft_qp(ib);
	struct weft_conn *conn = NULL;
	struct weft_flow flow;
	int ret = 0;
	bool flows;

	if (!nest)
		return -EMSGSIZE;
	spin_lock_irq(&qp->lock);
	/* The agreement is written before this state is set: earlier there is none to show. */
	flows = weft_qp_state(qp) == IB_QPS_RTS || qp->llp;
	if (qp->user) {
		conn = to_weft_conn(qp->user);
		qp->user->ops->hold(qp->user);
	}
	spin_unlock_irq(&qp->lock);
	if (conn) {
		weft_engine_glance(qp, &flow);
		ret = put_conn(msg, conn) ?: (flows ? put_flow(msg, qp, &flow) : 0);
	}
	return put_end(msg, nest, ret);
}

int weft_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	struct weft_cq *cq = to_weft_cq(ib);
	struct fact facts[] = {
		{ "size" }, { "produced" }, { "consumed" }, { "lost" },
	};
	const struct weft_cq_ctl *ctl;

	if (!nest)
		return -EMSGSIZE;
	spin_lock_irq(&cq->lock);
	ctl = cq->ring.mem;
	if (ctl) {
		facts[0].value = cq->ring.size;
		facts[1].value = cq->ring.head;
		facts[2].value = READ_ONCE(ctl->consumer);
		facts[3].value = cq->dead;
	}
	spin_unlock_irq(&cq->lock);
	return put_end(msg, nest, put_facts(msg, facts, ARRAY_SIZE(facts)));
}

/*
 * Reads a region that may lose its pages and all its references meanwhile. By default its address
 * is the process's own, from which another user could learn that process's memory layout. So only
 * an administrator sees the address, as with the core's keys.
 */
int weft_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	const struct weft_mr *mr = to_weft_mr(ib);
	const u32 refs = kref_read(&mr->refs);
	const struct fact facts[] = {
		{ "length", mr->length },
		{ "access", mr->access },
		{ "pages", READ_ONCE(mr->pages) },
		{ "users", refs ? refs - 1 : 0 },
	};
	int ret = 0;

	if (!nest)
		return -EMSGSIZE;
	if (ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN))
		ret = rdma_nl_put_driver_u64_hex(msg, "iova", mr->iova);
	return put_end(msg, nest, ret ?: put_facts(msg, facts, ARRAY_SIZE(facts)));
}

/* Adds the fields of the connection or listener of a cm_id. */
int weft_fill_res_cm_id(struct sk_buff *msg, struct rdma_cm_id *id)
{
	struct weft_device *dev;
	struct weft_conn *conn;
	struct nlattr *nest;
	u32 half_open;
	int ret = 0;

	if (!id->device)
		return 0;
	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!nest)
		return -EMSGSIZE;
	dev = to_weft_device(id->device);
	conn = weft_conn_find(dev, id);
	if (conn)
		ret = put_conn(msg, conn);
	else if (weft_listener_find(dev, id, &half_open))
		ret = rdma_nl_put_driver_u32(msg, "half_open", half_open);
	return put_end(msg, nest, ret);
}
