/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: the iw_cm operations, the MPA handshake, and the table of
 * states and events that ties a stream to a queue pair.
 */
#ifndef WEFT_CONN_H
#define WEFT_CONN_H

#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

struct weft_conn;
struct weft_device;
struct weft_qp;

/*
 * What a queue pair tells its connection. Callable from any context with any
 * lock of the data path held: each only posts an event.
 */

/* The queue pair failed or was moved to ERR; what it had to say is sent. */
void weft_conn_qp_failed(struct weft_conn *conn);
/* The queue pair was moved to SQD: close gracefully, its sends are done. */
void weft_conn_qp_closing(struct weft_conn *conn);
/* The receiver met the end of the stream. */
void weft_conn_peer_closed(struct weft_conn *conn);

/* A queue pair drops its reference on its connection. May sleep. */
void weft_conn_put(struct weft_conn *conn);

/* iw_cm operations (struct ib_device_ops). */
int weft_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int weft_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int weft_iw_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len);
int weft_iw_create_listen(struct iw_cm_id *id, int backlog);
int weft_iw_destroy_listen(struct iw_cm_id *id);

/* Ends every connection and listener of a device. May sleep. */
void weft_conn_stop_all(struct weft_device *dev);

int weft_conn_init(void);
void weft_conn_exit(void);

#endif /* WEFT_CONN_H */
