/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the connection manager share: conn.c (connections and
 * their table of states and events), handshake.c (MPA frames over the stream),
 * cm.c (iw_cm) and listener.c.
 */
#ifndef WEFT_CONN_INTERNAL_H
#define WEFT_CONN_INTERNAL_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "conn.h"
#include "llp/llp.h"
#include "wire/mpa.h"
#include "wire/negotiate.h"

/*
 * Limits of time. rdma_cm has none of its own for iWARP, and a process that
 * waits in rdma_destroy_id() for a connection under way cannot be killed, so
 * each of these is short.
 */

/* TCP's own handshake: the first SYN, and two more after one and three seconds. */
#define WEFT_LIMIT_CONNECT	(5 * HZ)
/*
 * From our Request to the peer's Reply. The peer's application answers, and may
 * have queues to create and memory to register first.
 */
#define WEFT_LIMIT_REPLY	(10 * HZ)
/* From a TCP connection to the whole Request: nothing but the network in between. */
#define WEFT_LIMIT_REQUEST	(5 * HZ)
/* From a Request to our application's answer. The peer will have given up. */
#define WEFT_LIMIT_ANSWER	(60 * HZ)
/*
 * From our Reply to the frame that shows that the initiator is in full
 * operation, where it has agreed to send one: nothing but the network in
 * between, and until then we may not send.
 */
#define WEFT_LIMIT_READY	(10 * HZ)
/* From our FIN to the peer's. */
#define WEFT_LIMIT_CLOSE	(5 * HZ)
/*
 * From the arrival of the peer's FIN until the receiver has read up to it. A
 * SEND that waits for a receive may hold the receiver up for less than this.
 */
#define WEFT_LIMIT_READ_OUT	(15 * HZ)

/* Incoming handshakes under way per listener, if its backlog is smaller. */
#define WEFT_MIN_HALF_OPEN	64

enum weft_conn_state {
	WEFT_CONN_NEW,		/* being put together; nothing happens before START */
	WEFT_CONN_CONNECTING,	/* initiator: TCP's handshake */
	WEFT_CONN_REQUESTED,	/* initiator: Request sent, Reply awaited */
	WEFT_CONN_ACCEPTED,	/* responder: Request awaited */
	WEFT_CONN_PENDING,	/* responder: our application's answer awaited */
	WEFT_CONN_STREAMING,	/* the queue pair has the stream */
	WEFT_CONN_CLOSING,	/* FIN sent; the peer's is awaited, the rest dropped */
	WEFT_CONN_CLOSED,	/* over; only references are left */
	WEFT_CONN_NUM_STATES
};

/* In the order in which they are served when several are pending. */
enum weft_conn_event {
	WEFT_EV_STOP,		/* the device goes away */
	WEFT_EV_EVICT,		/* its maker gives it up, or its listener does */
	WEFT_EV_START,		/* the connection has been put together */
	WEFT_EV_READABLE,	/* the stream: bytes or its end */
	WEFT_EV_PEER_CLOSED,	/* the receiver has read the peer's last byte */
	WEFT_EV_QP_FAILED,
	WEFT_EV_QP_CLOSING,
	WEFT_EV_CHANGED,	/* the stream: ask for its state */
	WEFT_EV_TIMEOUT,	/* the state's limit of time */
	WEFT_EV_NUM_POSTED,
	/* These come from a caller that waits for the outcome. */
	WEFT_EV_ACCEPT = WEFT_EV_NUM_POSTED,
	WEFT_EV_REJECT,
	WEFT_CONN_NUM_EVENTS
};

struct weft_listener;

/**
 * struct weft_handshake - an MPA handshake under way
 * @policy: this end's wishes
 * @request: initiator: the Request that was sent
 * @peer: the peer's frame, once it is complete
 * @got: bytes in @buf
 * @total: length of the peer's frame once its header is here, else 0
 * @buf: the peer's frame as received
 * @peer_private: where in @buf its private data begins
 * @private_len: bytes in @private_data
 * @private_data: initiator: our application's, kept for a second try
 *
 * Belongs to a connection and is protected by its mutex.
 */
struct weft_handshake {
	struct weft_mpa_policy policy;
	struct weft_mpa_frame request;
	struct weft_mpa_frame peer;
	u32 got;
	u32 total;
	u8 buf[WEFT_MPA_MAX_FRAME];
	u32 peer_private;
	u16 private_len;
	u8 private_data[WEFT_MPA_MAX_PRIVATE];
};

/**
 * struct weft_conn - one connection, from the first packet to the last
 * @refs: held by
 *	- the device's list, until the state is CLOSED;
 *	- the work, while it is queued or runs;
 *	- the timer, while it is armed;
 *	- the table of tokens, while our application has not answered a Request;
 *	  whoever takes the token out takes the reference over;
 *	- the queue pair, from weft_qp_bind() until weft_qp_unbind() gives it
 *	  back.
 *	The stream has none: its callbacks end before the state is CLOSED.
 * @dev: the device; valid until the state is CLOSED
 * @entry: in the device's list, under its conns_lock
 * @mutex: protects all below that is not marked otherwise. Taken in process
 *	context by the work and by iw_cm's calls, before any other lock here
 * @state: see the table in conn.c
 * @initiator: this end opened the connection. Fixed
 * @hs: the handshake; gone when it is over
 * @llp: the stream. Ours: we open or accept it, and close it
 * @qp: the queue pair, from binding to stopping. A reference
 * @qpn: its number, also when it has been let go of; 0 before
 * @streaming: @qp while the stream's callbacks go to it. Under the socket lock
 * @cm_id: whom to tell of the outcome and the end: from iw_connect or iw_accept
 *	to the last event. A reference
 * @cm_context: rdma_cm's name for @cm_id, only ever compared. Set with it, and
 *	written and read without a lock
 * @listener: NEW and ACCEPTED: whom to tell of the Request. A reference. Set
 *	before START
 * @half_open: in the listener's list of handshakes. Under the listeners' lock
 * @token: PENDING: our number in the table of tokens, else 0
 * @peer_closed: STREAMING: the peer's FIN has been noticed
 * @limited: @deadline counts
 * @deadline: when the state's time is up
 * @events: posted and not yet served, a bit each. Atomic
 * @work: serves them; an item of work never runs twice at once, so this is the
 *	connection's ordered queue
 * @timer: posts TIMEOUT at @deadline
 */
struct weft_conn {
	struct kref refs;
	struct weft_device *dev;
	struct list_head entry;
	struct mutex mutex; /* all but what is marked otherwise */
	enum weft_conn_state state;
	bool initiator;
	struct weft_handshake *hs;
	struct weft_llp *llp;
	struct weft_qp *qp;
	u32 qpn;
	struct weft_qp *streaming;
	struct iw_cm_id *cm_id;
	const void *cm_context;
	struct weft_listener *listener;
	struct list_head half_open;
	u32 token;
	bool peer_closed;
	bool limited;
	unsigned long deadline;
	unsigned long events;
	struct work_struct work;
	struct delayed_work timer;
};

/* --- conn.c --- */

typedef enum weft_conn_state (*weft_conn_handler)(struct weft_conn *conn,
						  void *arg);

extern const struct weft_llp_ops weft_conn_stream_ops;
extern struct workqueue_struct *weft_conn_wq;

struct weft_conn *weft_conn_new(bool initiator);
void weft_conn_attach(struct weft_conn *conn, struct weft_device *dev);
void weft_conn_post(struct weft_conn *conn, enum weft_conn_event event);
void weft_conn_step(struct weft_conn *conn, enum weft_conn_event event,
		    void *arg);
int weft_conn_stream(struct weft_conn *conn,
		     const struct weft_mpa_agreed *agreed);
void weft_conn_release_qp(struct weft_conn *conn);
void weft_conn_close(struct weft_conn *conn, bool abort);
void weft_conn_set_timeouts(struct weft_conn *conn);

int weft_conn_token_add(struct weft_conn *conn);
void weft_conn_token_drop(struct weft_conn *conn);
struct weft_conn *weft_conn_token_take(u32 token);

/* --- handshake.c --- */

int weft_handshake_read(struct weft_handshake *hs, struct weft_llp *llp,
			bool reply);
int weft_handshake_send(struct weft_llp *llp,
			const struct weft_mpa_frame *frame,
			const void *private_data);
int weft_handshake_terminate(struct weft_llp *llp, bool crc, u8 code);

/* --- cm.c: what the table of states and events calls --- */

enum weft_conn_state weft_cm_start(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_connected(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_reply(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_no_reply(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_qp_gone(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_request(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_accept(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_reject(struct weft_conn *conn, void *arg);
enum weft_conn_state weft_cm_no_answer(struct weft_conn *conn, void *arg);
void weft_cm_ended(struct weft_conn *conn, bool by_peer, int status);
int weft_cm_names(struct weft_llp *llp, struct sockaddr_storage *local,
		  struct sockaddr_storage *remote);

/* --- listener.c --- */

int weft_listener_deliver(struct weft_conn *conn, struct iw_cm_event *event);
void weft_listener_leave(struct weft_conn *conn);
void weft_listener_stop_all(struct weft_device *dev);

#endif /* WEFT_CONN_INTERNAL_H */
