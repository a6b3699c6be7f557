/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lanes: the order in which connections are served.
 *
 * Connections of one lane are served one after the other, in the order of their
 * events, since a program that opens several may expect that the peer sees them in
 * that order (perftest does). Lanes are served beside each other, so that no process
 * waits for the work of another. A process has a lane for each device that it opened. A
 * listening socket has one for its connections, until they have queue pairs. And the
 * consumers in the kernel share one for each device. So a flood at a port, or thousands of
 * queue pairs of a process that fail at once, delay only that port or that process.
 */
#ifndef WEFT_LANE_H
#define WEFT_LANE_H

#include <linux/list.h>
#include <linux/types.h>

struct weft_lane;
struct workqueue_struct;

/**
 * struct weft_turn - a connection's place in a lane; part of the connection
 * @entry: in the lane's list, while there are events
 * @lane: the lane that serves it. A reference
 *
 * Only lane.c uses both.
 */
struct weft_turn {
	struct list_head entry;
	struct weft_lane *lane;
};

/*
 * How a lane takes and drops a reference on a connection, and serves it in its turn. @serve_here
 * is weft_lane_serve_here().
 */
struct weft_turn_ops {
	void (*get)(struct weft_turn *turn);
	void (*put)(struct weft_turn *turn);
	void (*serve)(struct weft_turn *turn);
	bool (*serve_here)(struct weft_turn *turn);
};

/* For lanes, timers of connections and listeners. No work on it waits for a process or peer. */
extern struct workqueue_struct *weft_conn_wq;

struct weft_lane *weft_lane_new(void);
void weft_lane_get(struct weft_lane *lane);
void weft_lane_put(struct weft_lane *lane);

void weft_turn_init(struct weft_turn *turn, struct weft_lane *lane);
void weft_lane_move(struct weft_turn *turn, struct weft_lane *lane);
void weft_lane_queue(struct weft_turn *turn);
bool weft_lane_serve_here(struct weft_turn *turn);
bool weft_lane_is_full(const struct weft_lane *lane);

int weft_lane_init(const struct weft_turn_ops *ops);
void weft_lane_exit(void);

#endif /* WEFT_LANE_H */
