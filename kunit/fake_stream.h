/* SPDX-License-Identifier: GPL-2.0 */
/* What the streams in memory (fake_llp.c) and their class (fake_class.c) share. */
#ifndef WEFT_KUNIT_FAKE_STREAM_H
#define WEFT_KUNIT_FAKE_STREAM_H

#include "fake_llp.h"

/* Of the list of all streams, and of who is whose peer. Taken before a stream's lock. */
extern struct mutex fakes_lock;

/* What a packet buffer of @out has besides its bytes. */
struct fake_mark {
	bool sealed;	/* nothing is added to it */
};

static inline struct fake_mark *fake_mark_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct fake_mark) > sizeof(skb->cb));
	return (struct fake_mark *)skb->cb;
}

/* Returns a fault once. */
static inline int fake_once(int *fault)
{
	int ret = *fault;

	*fault = 0;
	return ret;
}

static inline bool fake_full(const struct fake *f)
{
	return f->unread >= f->script.hold;
}

struct fake *fake_new(struct net *net, const struct weft_llp_ops *ops, void *owner);
bool fake_address_taken(const struct fake *f);
void fake_drop_out(struct fake *f);
void fake_tell_readable(struct fake *f);

#endif /* WEFT_KUNIT_FAKE_STREAM_H */
