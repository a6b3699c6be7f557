// SPDX-License-Identifier: GPL-2.0
/* iw_cm's operations on connections. After an error of connect or accept no event follows. */

#include <linux/errno.h>
#include <linux/string.h>

#include "base/weft.h"
#include "conn/conn.h"
#include "conn/internal.h"

/*
 * Opens a connection. Among the errors: -EADDRNOTAVAIL if the device belongs to another network
 * namespace, -EPERM if the application may not use the queue pair.
 */
int weft_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct weft_device *dev = to_weft_device(id->device);
	struct weft_handshake *hs;
	struct weft_conn *conn;
	int ret;

	if (!weft_cm_param_ok(dev, param) ||
	    id->m_local_addr.ss_family != id->m_remote_addr.ss_family)
		return -EINVAL;
	/* For a loopback address rdma_cm takes any device, even of another namespace. */
	if (!rdma_dev_access_netns(&dev->ib, weft_cm_net(id)))
		return -EADDRNOTAVAIL;

	conn = weft_conn_new(true, dev->lane);
	if (!conn)
		return -ENOMEM;
	hs = conn->hs;
	hs->private_len = param->private_data_len;
	memcpy(hs->private_data, param->private_data, param->private_data_len);

	weft_conn_get(conn);
	weft_baton_lock(&conn->lock);
	id->add_ref(id);
	conn->cm_id = id;
	weft_conn_attach(conn, dev);
	weft_conn_set_context(conn, id->context);
	ret = weft_cm_prepare(conn);
	if (!ret)
		ret = weft_cm_bind_qp(conn, id, param->qpn);
	if (!ret) {
		hs->policy = weft_conn_policy(conn);
		hs->policy.ird = param->ird;
		hs->policy.ord = param->ord;
		weft_conn_post(conn, WEFT_EV_START);
	} else {
		weft_cm_forget(conn);
		weft_conn_step(conn, WEFT_EV_EVICT, NULL);
	}
	weft_conn_unlock(conn);
	weft_conn_put(conn);
	return ret;
}

static int cm_answer(enum weft_conn_event event, struct weft_cm_call *call)
{
	struct weft_conn *conn;

	/* The peer may have left, or the timeout may have come first. */
	call->ret = -ECONNRESET;
	conn = weft_conn_token_take((uintptr_t)call->id->provider_data);
	if (!conn)
		return call->ret;
	weft_baton_lock(&conn->lock);
	weft_conn_step(conn, event, call);
	weft_conn_unlock(conn);
	weft_conn_put(conn);
	return call->ret;
}

/* Accepts a connection. Among the errors: -EPERM if the application may not use the queue pair. */
int weft_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct weft_cm_call call = { .id = id, .param = param };

	return cm_answer(WEFT_EV_ACCEPT, &call);
}

/* Refuses a connection. Returns -ECONNRESET if the connection has ended meanwhile. */
int weft_iw_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len)
{
	struct weft_cm_call call = {
		.id = id,
		.private_data = pdata,
		.private_len = pdata_len,
	};

	return cm_answer(WEFT_EV_REJECT, &call);
}
