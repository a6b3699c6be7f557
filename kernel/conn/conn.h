/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: the states that tie a stream to a queue pair, for the files of this folder. From the
 * top: table.c (the states, and iw_cm's calls), handshake.c, port.c, streaming.c, cm.c, conn.c.
 */
#ifndef WEFT_CONN_H
#define WEFT_CONN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "base/baton.h"
#include "base/counters.h"
#include "conn/iwcm.h"
#include "conn/lane.h"
#include "engine/engine.h"
#include "llp/llp.h"
#include "mpa/setup.h"

/*
 * Timeouts. rdma_cm has none for iWARP, and a process that waits in rdma_destroy_id() for the end
 * of a handshake cannot be killed, so each is short.
 */

/* TCP's handshake: the first SYN, and two retransmits after one and three seconds. */
#define WEFT_TIME_CONNECT	(5 * HZ)
/* Our Request to the Reply. The peer's application may first create queues and register memory. */
#define WEFT_TIME_REPLY		(10 * HZ)
/* TCP connection to the whole Request, which the peer sends at once. */
#define WEFT_TIME_REQUEST	(5 * HZ)
/* Request to our application's answer. By then the peer has given up. */
#define WEFT_TIME_ANSWER	(60 * HZ)
/*
 * Our Reply to the initiator's ready-to-receive frame, if one was agreed. The initiator sends it at
 * once, and we may not send before.
 */
#define WEFT_TIME_READY		(10 * HZ)
/* Our FIN to the peer's. */
#define WEFT_TIME_CLOSE		(5 * HZ)
/* Peer's FIN until the receiver has read up to it. Longer than a SEND may wait for a receive. */
#define WEFT_TIME_READ_OUT	(15 * HZ)

/* A listener's limit of handshakes under way is its backlog, and at least this. */
#define WEFT_MIN_HALF_OPEN	64

enum weft_conn_state {
	WEFT_CONN_NEW,		/* being filled in; nothing happens before START */
	WEFT_CONN_CONNECTING,	/* initiator: TCP's handshake */
	WEFT_CONN_REQUESTED,	/* initiator: Request sent, Reply awaited */
	WEFT_CONN_ACCEPTED,	/* responder: Request awaited */
	WEFT_CONN_PENDING,	/* responder: our application's answer awaited */
	WEFT_CONN_STREAMING,	/* the queue pair has the stream */
	WEFT_CONN_CLOSING,	/* FIN sent; bytes are dropped up to the peer's FIN */
	WEFT_CONN_CLOSED,	/* over; only references are left */
	WEFT_CONN_NUM_STATES
};

/* Pending events are served in this order. */
enum weft_conn_event {
	WEFT_EV_STOP,		/* the device goes away */
	WEFT_EV_EVICT,		/* given up by its maker or its listener */
	WEFT_EV_START,		/* the connection is filled in */
	WEFT_EV_READABLE,	/* the stream: bytes or its end */
	WEFT_EV_PEER_CLOSED,	/* the receiver has read the peer's last byte */
	WEFT_EV_QP_FAILED,
	WEFT_EV_QP_CLOSING,
	WEFT_EV_CHANGED,	/* the stream: ask for its state */
	WEFT_EV_TIMEOUT,	/* the state's time is up */
	WEFT_EV_NUM_POSTED,
	/* These come from a caller that waits for the outcome. */
	WEFT_EV_ACCEPT = WEFT_EV_NUM_POSTED,
	WEFT_EV_REJECT,
	WEFT_CONN_NUM_EVENTS
};

struct listen_port;

/*
 * One connection, from the first packet to the last. Lock order: @lock, tx_lock of @qp, the socket
 * lock. Handlers of events are called with @lock held, and with tx_lock if there is a @qp.
 */
struct weft_conn {
	/*
	 * Of the device's list, until the state is CLOSED; of its lane, while it waits there or is
	 * served; of the timer, while it is armed; of the table of tokens, until our application
	 * answers the Request, which takes this reference over; of the queue pair, between
	 * weft_engine_bind() and weft_engine_unbind(). The stream has none: its callbacks end
	 * before the state is CLOSED.
	 */
	struct kref refs;
	struct weft_qp_user user; /* the connection, as @qp knows it. Fixed */
	struct weft_device *dev; /* the device; valid until the state is CLOSED */
	struct list_head entry; /* in the device's list, under its conns_lock */
	/*
	 * Protects all fields below that are not marked otherwise. Process context. iw_cm's calls
	 * wait for it; the lane only tries it, see weft_conn_unlock()
	 */
	struct weft_baton lock; /* see above */
	enum weft_conn_state state; /* see table.c */
	bool initiator; /* this end opened the connection. Fixed */
	struct weft_handshake *hs; /* the handshake; NULL when it is over */
	/*
	 * The stream, which this connection opens or accepts, and closes. Once there is a @dev,
	 * written under conns_lock as well, under which an operator's look reads it
	 */
	struct weft_llp *llp;
	struct weft_qp *qp; /* the queue pair, from binding to stopping. A reference */
	u32 qpn; /* number of @qp, kept after its release; 0 before */
	bool dropping; /* received bytes are dropped. Under the socket lock */
	/* Gets the events of the outcome and the end, until the last of them. A reference */
	struct iw_cm_id *cm_id;
	/* The name that rdma_cm has for @cm_id, only compared. Set with it, under conns_lock */
	const void *cm_context;
	struct hlist_node by_cm; /* in the device's table by @cm_context. Under conns_lock */
	/* NEW and ACCEPTED: gets the event of the Request. A reference, set before START */
	struct weft_listener *listener;
	struct list_head half_open; /* in the listener's list. Under weft_listen_lock */
	u32 token; /* PENDING: its number in the table of tokens, else 0 */
	bool peer_closed; /* STREAMING: the peer's FIN has been noticed */
	bool limited; /* @deadline is valid */
	unsigned long deadline; /* end of the state's time */
	unsigned long events; /* posted and not yet served, a bit each. Atomic */
	/*
	 * Serves it: the listening socket's lane or the device's, and from the binding of a queue
	 * pair that of the queue pair's owner. A reference, changed under lanes_lock
	 */
	struct weft_lane *lane;
	struct list_head in_lane; /* in the lane's list, while there are events. Under lanes_lock */
	struct delayed_work timer; /* posts TIMEOUT at @deadline */
};

typedef enum weft_conn_state (*weft_conn_handler)(struct weft_conn *conn, void *arg);

/* An accept or reject by iw_cm, for a connection in PENDING; @ret is its result. */
struct weft_cm_call {
	struct iw_cm_id *id;
	const struct iw_cm_conn_param *param;
	const void *private_data;
	u8 private_len;
	int ret;
};

/*
 * One iw_cm listener. All but @refs is protected by weft_listen_lock, except before it is
 * published.
 */
struct weft_listener {
	/* Of the cm_id, until it is destroyed, and of each connection yet to be announced */
	struct kref refs;
	struct list_head entry; /* in the port's list */
	struct hlist_node by_cm; /* in the device's table by rdma_cm's cm_id, while @id is set */
	struct weft_device *dev; /* the device of its connections; valid while @id is set */
	struct iw_cm_id *id; /* gets the events; NULL once it no longer listens. A reference */
	struct listen_port *port; /* its socket; valid while @id is set */
	struct list_head half_open; /* connections whose Request is awaited, oldest first */
	u32 num_half_open; /* how many */
	u32 max_half_open; /* the most at once */
};

/* --- conn.c --- */

struct weft_conn *weft_conn_new(bool initiator, struct weft_lane *lane);
void weft_conn_post(struct weft_conn *conn, enum weft_conn_event event);
void weft_conn_unlock(struct weft_conn *conn);
void weft_conn_set_timer(struct weft_conn *conn, unsigned long time);
struct weft_mpa_policy weft_conn_policy(const struct weft_conn *conn);
void weft_conn_attach(struct weft_conn *conn, struct weft_device *dev);
void weft_conn_set_context(struct weft_conn *conn, const void *cm_context);

/* --- cm.c --- */

bool weft_cm_param_ok(const struct weft_device *dev, const struct iw_cm_conn_param *param);
int weft_cm_bind_qp(struct weft_conn *conn, const struct iw_cm_id *id, u32 qpn);
void weft_cm_forget(struct weft_conn *conn);
void weft_cm_ended(struct weft_conn *conn, bool by_peer, int status);

/* --- port.c --- */

/*
 * Lock order: a connection's mutex, weft_listen_lock, then a device's conns_lock or a lane's.
 * Process context. A spinlock, so that its holder is not preempted while lanes and ports wait.
 */
extern spinlock_t weft_listen_lock;

void weft_listener_leave(struct weft_conn *conn);
void weft_listener_stop_all(struct weft_device *dev);

/* --- handshake.c --- */

int weft_cm_open_stream(struct weft_conn *conn, const struct weft_llp_class *class, bool any_port);
enum weft_conn_state weft_cm_start(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_connected(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_reply(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_no_reply(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_qp_gone(struct weft_conn *conn, void *arg);
void weft_conn_token_drop(struct weft_conn *conn);
struct weft_conn *weft_conn_token_take(u32 token);
enum weft_conn_state weft_cm_request(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_accept(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_reject(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_no_answer(struct weft_conn *conn, void *arg);

/* --- streaming.c --- */

extern const struct weft_llp_ops weft_conn_stream_ops;

void weft_conn_no_news(struct weft_llp *llp);
void weft_conn_set_llp(struct weft_conn *conn, struct weft_llp *llp);
int weft_conn_spread(struct weft_conn *conn, struct weft_mpa_agreed *agreed);
int weft_conn_hand_over(struct weft_conn *conn, const struct weft_mpa_agreed *agreed);
void weft_conn_release_qp(struct weft_conn *conn);
void weft_conn_drop_unread(struct weft_conn *conn);
void weft_conn_close(struct weft_conn *conn, bool abort);

enum weft_conn_state weft_streaming_qp_ended(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_streaming_peer_closed(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_streaming_broken(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_streaming_changed(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_streaming_timeout(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_closing_news(struct weft_conn *conn, void *arg);

/* --- table.c --- */

void weft_conn_step(struct weft_conn *conn, enum weft_conn_event event, void *arg);

#endif /* WEFT_CONN_H */
