// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners: the connections whose Request is awaited, the event of a Request, and those that our
 * application has yet to answer.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "base/weft.h"
#include "conn/conn.h"

DEFINE_SPINLOCK(weft_listen_lock);

static void listener_free(struct kref *refs)
{
	kfree(container_of(refs, struct weft_listener, refs));
}

void weft_listener_put(struct weft_listener *listener)
{
	kref_put(&listener->refs, listener_free);
}

/* Returns true if rdma_cm's cm_id has a listener. @half_open: its handshakes under way. */
bool weft_listener_find(struct weft_device *dev, const void *cm_context, u32 *half_open)
{
	struct weft_listener *listener;
	bool found = false;

	spin_lock(&weft_listen_lock);
	hash_for_each_possible(dev->listeners_by_cm, listener, by_cm, (unsigned long)cm_context) {
		if (listener->id->context != cm_context)
			continue;
		*half_open = listener->num_half_open;
		found = true;
		break;
	}
	spin_unlock(&weft_listen_lock);
	return found;
}

/* Returns a listener of the device that is in use, or NULL. */
struct weft_listener *weft_listener_any(struct weft_device *dev)
{
	struct weft_listener *listener;
	unsigned int bucket;

	lockdep_assert_held(&weft_listen_lock);
	hash_for_each(dev->listeners_by_cm, bucket, listener, by_cm)
		return listener;
	return NULL;
}

/*
 * If there are too many handshakes, gives the oldest up: a peer that connects and then sends
 * nothing must not keep others out.
 */
static void listener_make_room(struct weft_listener *listener)
{
	struct weft_conn *oldest;

	lockdep_assert_held(&weft_listen_lock);
	if (listener->num_half_open < listener->max_half_open)
		return;
	oldest = list_first_entry(&listener->half_open, struct weft_conn, half_open);
	list_del_init(&oldest->half_open);
	listener->num_half_open--;
	weft_conn_post(oldest, WEFT_EV_EVICT);
}

/* Has a connection in NEW wait for its Request. */
void weft_listener_add(struct weft_listener *listener, struct weft_conn *conn)
{
	lockdep_assert_held(&weft_listen_lock);
	listener_make_room(listener);
	kref_get(&listener->refs);
	conn->listener = listener;
	list_add_tail(&conn->half_open, &listener->half_open);
	listener->num_half_open++;
}

/* Gives up every connection whose Request is awaited. */
void weft_listener_evict(struct weft_listener *listener)
{
	struct weft_conn *conn, *next;

	lockdep_assert_held(&weft_listen_lock);
	list_for_each_entry_safe(conn, next, &listener->half_open, half_open) {
		list_del_init(&conn->half_open);
		weft_conn_post(conn, WEFT_EV_EVICT);
	}
	listener->num_half_open = 0;
}

/* Takes a connection off its listener, if it still has one. */
void weft_listener_leave(struct weft_conn *conn)
{
	struct weft_listener *listener = conn->listener;

	lockdep_assert_held(&conn->lock.mutex);
	if (!listener)
		return;
	spin_lock(&weft_listen_lock);
	if (!list_empty(&conn->half_open)) {
		list_del_init(&conn->half_open);
		listener->num_half_open--;
	}
	conn->listener = NULL;
	spin_unlock(&weft_listen_lock);
	weft_listener_put(listener);
}

/* Announces a Request. Returns 0, -ECONNABORTED if nobody listens any more, or iw_cm's error. */
int weft_listener_deliver(struct weft_conn *conn, struct iw_cm_event *event)
{
	struct weft_listener *listener = conn->listener;
	int ret = -ECONNABORTED;

	lockdep_assert_held(&conn->lock.mutex);
	spin_lock(&weft_listen_lock);
	if (listener->id)
		ret = listener->id->event_handler(listener->id, event);
	spin_unlock(&weft_listen_lock);
	weft_listener_leave(conn);
	return ret;
}

/*
 * --- Requests that our application has yet to answer ---
 *
 * If its listener goes away or memory is short, iw_cm silently drops the event of a Request. So the
 * event carries a number and not a pointer with a reference, and if no answer comes, the
 * connection's timeout ends it.
 */

static DEFINE_XARRAY_ALLOC1(tokens);
static u32 next_token;

/*
 * Enters a connection in the table under a new number, @conn->token. The table takes a reference.
 */
int weft_conn_token_add(struct weft_conn *conn)
{
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	weft_conn_get(conn);
	ret = xa_alloc_cyclic(&tokens, &conn->token, conn, xa_limit_32b, &next_token, GFP_KERNEL);
	if (ret < 0) {
		conn->token = 0;
		weft_conn_put(conn);
		return ret;
	}
	return 0;
}

void weft_conn_token_drop(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (!conn->token)
		return;
	if (xa_cmpxchg(&tokens, conn->token, conn, NULL, GFP_KERNEL) == conn)
		weft_conn_put(conn);
	conn->token = 0;
}

/* Takes the connection of a number, with its reference, off the table. */
struct weft_conn *weft_conn_token_take(u32 token)
{
	return token ? xa_erase(&tokens, token) : NULL;
}
