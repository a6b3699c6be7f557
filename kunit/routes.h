/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Both ends of a stream of several paths, which are streams in memory (fake_llp.h). Each segment
 * says its number and is filled by it, and a reader checks that none is missing, comes again or
 * is damaged.
 */
#ifndef WEFT_KUNIT_ROUTES_H
#define WEFT_KUNIT_ROUTES_H

#include "ends.h"
#include "paths/paths.h"

/* One end. */
struct route {
	struct kunit *test;	/* the test */
	struct weft_llp *llp;	/* the stream */
	struct weft_paths *p;	/* the same */
	struct weft_counters __percpu *counters;	/* of its device */
	bool idle;	/* it does not read when it is told that it can */
	u32 sent;	/* segments given to the stream */
	u32 taken;	/* segments read, each the one behind that before */
	int writable;	/* how often it was told of room */
	int changed;	/* how often of another state */
};

/* Both ends. */
struct routes {
	struct route a;	/* the initiator */
	struct route b;	/* the responder */
};

void routes_join(struct fake *a, struct fake *b);
struct routes *routes_make(struct kunit *test, u32 a_paths, u32 b_paths);
struct routes *routes_gather(struct kunit *test, u32 paths);

struct fake *route_fake(struct route *end, u32 number);
int route_send(struct route *end, u32 len);
void route_send_many(struct route *end, u32 num, u32 len);
void route_take(struct route *end);
void expect_taken(struct route *end, u32 segments);
void route_look(struct route *end);
void route_tell_ack(struct route *end);
void route_wait(struct route *end, u32 number, unsigned long time);
void route_feed(struct route *end, u32 number, const struct weft_path_hdr *hdr, u32 len);
u64 route_count(const struct route *end, enum weft_counter which);

#endif /* WEFT_KUNIT_ROUTES_H */
