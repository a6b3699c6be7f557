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

#include <linux/list.h>
#include <linux/workqueue.h>

struct weft_lane;

/* A connection's place in a lane. Once the connection has set it, used by lane.c alone. */
struct weft_lane_item {
	struct list_head entry; /* in the lane's list, while there are events */
	struct weft_lane *lane; /* the lane that serves it. A reference */
};

/* How a lane references and serves a connection; with @run as weft_lane_serve_here() says. */
struct weft_lane_ops {
	void (*get)(struct weft_lane_item *item);
	void (*put)(struct weft_lane_item *item);
	bool (*serve)(struct weft_lane_item *item, bool run);
};

/* For lanes, timers of connections and listeners. No work on it waits for a process or peer. */
extern struct workqueue_struct *weft_conn_wq;

struct weft_lane *weft_lane_new(void);
void weft_lane_get(struct weft_lane *lane);
void weft_lane_put(struct weft_lane *lane);

void weft_lane_move(struct weft_lane_item *item, struct weft_lane *lane);
void weft_lane_queue(struct weft_lane_item *item);
bool weft_lane_serve_here(struct weft_lane_item *item);
bool weft_lane_is_full(const struct weft_lane *lane);

int weft_lane_init(const struct weft_lane_ops *ops);

#endif /* WEFT_LANE_H */
