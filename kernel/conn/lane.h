/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lanes: the order in which connections are served, and who waits for whom.
 *
 * Connections of one lane are served one after the other, in the order of their
 * events, since a program that opens several may count on the peer seeing them in
 * that order (perftest does). Lanes are served beside each other, since nobody is to
 * wait for another's work. So a process has a lane for each device that it opened, a
 * listening socket has one for what it accepts until that has a queue pair, and the
 * kernel's own consumers of a device have one. A flood at a port, or thousands of queue pairs of
 * a process that fail at once, then cost that port or that process.
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
 * @lane: where it is served. A reference
 *
 * Both are lane.c's, but for the first @lane.
 */
struct weft_turn {
	struct list_head entry;
	struct weft_lane *lane;
};

/* References on the connection, and its service, when its turn has come. */
struct weft_turn_ops {
	void (*get)(struct weft_turn *turn);
	void (*put)(struct weft_turn *turn);
	void (*serve)(struct weft_turn *turn);
};

/* Lanes, timers of connections and listeners. Nothing on it waits for a process or a peer. */
extern struct workqueue_struct *weft_conn_wq;

struct weft_lane *weft_lane_new(void);
void weft_lane_get(struct weft_lane *lane);
void weft_lane_put(struct weft_lane *lane);

void weft_turn_init(struct weft_turn *turn, struct weft_lane *lane);
void weft_lane_move(struct weft_turn *turn, struct weft_lane *lane);
void weft_lane_queue(struct weft_turn *turn);
bool weft_lane_is_full(const struct weft_lane *lane);

int weft_lane_init(const struct weft_turn_ops *ops);
void weft_lane_exit(void);

#endif /* WEFT_LANE_H */
