/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Both ends of a stream of several paths, which are streams in memory (fake_llp.h). Each segment
 * says its number and is filled by it, and a reader checks that none is missing, comes again or
 * is damaged.
 */
#ifndef WEFT_KUNIT_ROUTES_H
#define WEFT_KUNIT_ROUTES_H

#include <kunit/test.h>

#include "fake_llp.h"
#include "paths/paths.h"

/**
 * struct route - one end
 * @test: the test
 * @llp: the stream
 * @p: the same
 * @counters: of its device
 * @idle: it does not read when it is told that it can
 * @sent: segments given to the stream
 * @taken: segments read, each the one behind that before
 * @writable: how often it was told of room
 * @changed: how often of another state
 */
struct route {
	struct kunit *test;
	struct weft_llp *llp;
	struct weft_paths *p;
	struct weft_counters __percpu *counters;
	bool idle;
	u32 sent;
	u32 taken;
	int writable;
	int changed;
};

/**
 * struct routes - both ends
 * @a: the initiator
 * @b: the responder
 */
struct routes {
	struct route a;
	struct route b;
};

void routes_join(struct fake *a, struct fake *b);
struct routes *routes_make(struct kunit *test, u32 a_paths, u32 b_paths);
struct routes *routes_gather(struct kunit *test, u32 paths);
void routes_free(struct routes *r);

struct fake *route_fake(struct route *end, u32 number);
int route_send(struct route *end, u32 len);
void route_send_many(struct route *end, u32 num, u32 len);
void route_take(struct route *end);
void route_look(struct route *end);
void route_wait(struct route *end, u32 number, unsigned long time);
void route_feed(struct route *end, u32 number, const struct weft_path_hdr *hdr, u32 len);
u64 route_count(const struct route *end, enum weft_counter which);

#endif /* WEFT_KUNIT_ROUTES_H */
