/* SPDX-License-Identifier: GPL-2.0 */
/* Connections, as other folders know them: iw_cm's operations, and the view for operators. */
#ifndef WEFT_CONN_IWCM_H
#define WEFT_CONN_IWCM_H

#include <linux/socket.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "llp/class.h"

struct weft_conn;
struct weft_device;
struct weft_qp_user;

struct weft_conn *to_weft_conn(struct weft_qp_user *user);

void weft_conn_put(struct weft_conn *conn);

/* A connection, as an operator sees it. */
struct weft_conn_info {
	const char *state; /* name of the state */
	bool initiator; /* this end opened it */
	const char *over; /* name of the class of the stream, if there is one */
	struct sockaddr_storage local; /* this end's address, or of family 0 */
	struct sockaddr_storage remote; /* the peer's */
	u32 num_paths; /* entries of @path; 0 without several paths */
	struct weft_path_info path[WEFT_MAX_SHOWN]; /* the paths */
};

void weft_conn_info(struct weft_conn *conn, struct weft_conn_info *info);
struct weft_conn *weft_conn_find(struct weft_device *dev, const void *cm_context);
bool weft_listener_find(struct weft_device *dev, const void *cm_context, u32 *half_open);

/* iw_cm operations (struct ib_device_ops). */
int weft_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int weft_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int weft_iw_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len);
int weft_iw_create_listen(struct iw_cm_id *id, int backlog);
int weft_iw_destroy_listen(struct iw_cm_id *id);
void weft_iw_add_ref(struct ib_qp *ib);
void weft_iw_rem_ref(struct ib_qp *ib);
struct ib_qp *weft_iw_get_qp(struct ib_device *ib, int qpn);

/* Ends every connection and listener of a device. May sleep. */
void weft_conn_stop_all(struct weft_device *dev);

#endif /* WEFT_CONN_IWCM_H */
