/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lanes: the order in which connections are served. A lane serves its connections one after the
 * other, in the order of their events, because a program that opens several (perftest does) may
 * expect the peer to see them in that order.
 *
 * Lanes run in parallel, so that a flood at a port, or a process whose queue pairs all fail at
 * once, delays nobody else. A process has a lane for each device it opened, a listening socket one
 * for connections without queue pairs, and the kernel's consumers one for each device.
 */
#ifndef WEFT_LANE_H
#define WEFT_LANE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>

struct weft_conn;

/* With this backlog in a lane no more connections are accepted, which would only take memory. */
#define WEFT_LANE_FULL	64

/* Connections that wait to be served. */
struct weft_lane {
	/* Of its maker, of each connection in it, and of @work while it is queued or runs */
	struct kref refs;
	/* Connections with events, in the order of service, a reference each. Under lanes_lock */
	struct list_head waiting;
	u32 num_waiting; /* how many. Written under lanes_lock */
	/* Serves them. A work item never runs twice at once, which keeps the order */
	struct work_struct work;
};

/* For lanes, timers of connections and listeners. No work on it waits for a process or peer. */
extern struct workqueue_struct *weft_conn_wq;

struct weft_lane *weft_lane_new(void);
void weft_lane_put(struct weft_lane *lane);
void weft_lane_move(struct weft_conn *conn, struct weft_lane *lane);
void weft_lane_queue(struct weft_conn *conn);
/* Serves the posted events; see table.c. */
bool weft_conn_serve(struct weft_conn *conn, bool run);
int weft_lane_init(bool (*serve)(struct weft_conn *conn, bool run));

#endif /* WEFT_LANE_H */
