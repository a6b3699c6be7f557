/* SPDX-License-Identifier: GPL-2.0 */
/* A device on fake streams, a queue pair and an application that notes iw_cm's events: a host. */
#ifndef WEFT_KUNIT_HOSTS_H
#define WEFT_KUNIT_HOSTS_H

#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "conn/conn.h"
#include "ends.h"

#define HOST_EVENTS	128
#define HOST_PORT	7174

/* What iw_cm was told. */
struct host_event {
	int event;	/* enum iw_cm_event_type */
	int status;	/* 0 or a negative errno value */
	u8 ird;	/* as the event has it */
	u8 ord;	/* likewise */
	void *provider_data;	/* likewise */
	bool named;	/* the event has both addresses */
	u8 private_len;	/* bytes of private data */
	u8 private[U8_MAX];	/* they */
};

/* A device and its application. */
struct host {
	struct bench *b;	/* the device, its queue pair and what that needs */
	struct rdma_cm_id *cm;	/* rdma_cm's identifier */
	struct iw_cm_id id;	/* iw_cm's */
	int refs;	/* references that are held on @id */
	int refuses; /* what a CONNECT_REQUEST returns: 0, or an error if iw_cm's queue is full */
	int lossy;	/* how many events are to fail first */
	struct host_event log[HOST_EVENTS];	/* what was told, in order */
	u32 events;	/* how many of @log */
	u32 seen;	/* how many of them a test has looked at */
};

/* A host, and a server that it connects to, or a peer that connects to its listener. */
struct meeting {
	struct host *h;
	struct fake *server;	/* NULL: the host listens */
	struct fake *peer;	/* the test's end, or NULL */
	struct iw_cm_id listener;	/* iw_cm's identifier of the listener */
	struct iw_cm_id id;	/* and of what it was told of */
	struct weft_mpa_frame frame;	/* what the peer has read last */
	u8 *private;	/* its private data */
};

struct host *host_new(struct kunit *test);
void host_free(struct kunit *test, struct host *h);
const struct host_event *host_expect(struct kunit *test, struct host *h, int event, int status);
void host_expect_silence(struct kunit *test, struct host *h);
struct weft_conn *host_conn(struct host *h);
enum weft_conn_state host_state(struct host *h);

struct fake *server_accept(struct fake *server);
struct weft_device *host_dev(struct host *h);
struct weft_qp *host_qp(struct host *h);
int host_connect(struct host *h, const char *private);
int host_connect_with(struct host *h, const void *private, u16 len);
int host_listen(struct host *h, struct iw_cm_id *id, const char *addr, int backlog);
void host_id(struct host *h, struct iw_cm_id *id);
struct fake *host_call(const char *addr);
void host_expire(struct host *h);

bool peer_reads(struct kunit *test, struct fake *peer, bool reply, struct weft_mpa_frame *frame,
		u8 *private);
void peer_sends(struct kunit *test, struct fake *peer, const struct weft_mpa_frame *frame,
		const char *private);
void peer_sends_with(struct kunit *test, struct fake *peer, const struct weft_mpa_frame *frame,
		     const void *private, u16 len);

extern const struct weft_mpa_frame a_request;
extern const struct weft_mpa_frame a_reply;

struct meeting *meeting_new(struct kunit *test, bool visited);
void meeting_accept(struct kunit *test, struct meeting *m);
void meeting_reads(struct kunit *test, struct meeting *m, bool reply);
void meeting_peer_goes(struct meeting *m);
void meeting_announced(struct meeting *m, const struct host_event *e);

int host_suite_init(struct kunit_suite *suite);
void host_suite_exit(struct kunit_suite *suite);

#endif /* WEFT_KUNIT_HOSTS_H */
