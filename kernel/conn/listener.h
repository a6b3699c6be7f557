/* SPDX-License-Identifier: GPL-2.0 */
/* Listeners, as ports and connections know them. */
#ifndef WEFT_LISTENER_H
#define WEFT_LISTENER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>

struct iw_cm_event;
struct iw_cm_id;
struct listen_port;
struct weft_conn;
struct weft_device;

/**
 * struct weft_listener - one iw_cm listener
 * @refs: of the cm_id, until it is destroyed, and of each connection yet to be announced
 * @entry: in the port's list
 * @by_cm: in the device's table by rdma_cm's cm_id, while @id is set
 * @dev: the device of its connections; valid while @id is set
 * @id: gets the events; NULL once it no longer listens. A reference
 * @port: its socket; valid while @id is set
 * @half_open: connections whose Request is awaited, oldest first
 * @num_half_open: how many
 * @max_half_open: the most at once
 *
 * All but @refs is protected by weft_listen_lock, except before it is published.
 */
struct weft_listener {
	struct kref refs;
	struct list_head entry;
	struct hlist_node by_cm;
	struct weft_device *dev;
	struct iw_cm_id *id;
	struct listen_port *port;
	struct list_head half_open;
	u32 num_half_open;
	u32 max_half_open;
};

/*
 * Lock order: a connection's mutex, weft_listen_lock, then a device's conns_lock or a lane's.
 * Process context. A spinlock, so that its holder is not preempted while lanes and ports wait.
 */
extern spinlock_t weft_listen_lock;

void weft_listener_put(struct weft_listener *listener);
void weft_listener_add(struct weft_listener *listener, struct weft_conn *conn);
void weft_listener_evict(struct weft_listener *listener);
struct weft_listener *weft_listener_any(struct weft_device *dev);
int weft_listener_deliver(struct weft_conn *conn, struct iw_cm_event *event);
void weft_listener_leave(struct weft_conn *conn);

/* --- port.c --- */

void weft_listener_stop_all(struct weft_device *dev);

#endif /* WEFT_LISTENER_H */
