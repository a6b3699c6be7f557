// SPDX-License-Identifier: GPL-2.0
/* Listeners: the event of a Request, and the connections that still wait for theirs. */

#include <linux/lockdep.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>

#include "base/weft.h"
#include "conn/internal.h"
#include "conn/listener.h"

DEFINE_SPINLOCK(weft_listen_lock);

static void listener_free(struct kref *refs)
{
	kfree(container_of(refs, struct weft_listener, refs));
}

/* Drops a reference. Any context. */
void weft_listener_put(struct weft_listener *listener)
{
	kref_put(&listener->refs, listener_free);
}

/**
 * weft_listener_find() - find the listener of a cm_id of rdma_cm's
 * @dev: device
 * @cm_context: the cm_id
 * @half_open: result: handshakes under way
 *
 * Context: process, may sleep.
 * Return: true if there is one.
 */
bool weft_listener_find(struct weft_device *dev, const void *cm_context,
			u32 *half_open)
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

/* Returns one of a device's listeners that are in use, or NULL. With weft_listen_lock held. */
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
 * Gives up the oldest handshake if there are too many, so that peers that connect and then
 * send nothing do not keep others out.
 */
static void listener_make_room(struct weft_listener *listener)
{
	struct weft_conn *oldest;

	if (listener->num_half_open < listener->max_half_open)
		return;
	oldest = list_first_entry(&listener->half_open, struct weft_conn,
				  half_open);
	list_del_init(&oldest->half_open);
	listener->num_half_open--;
	weft_conn_post(oldest, WEFT_EV_EVICT);
}

/**
 * weft_listener_add() - have a new connection wait for its Request here
 * @listener: gets the event of the Request
 * @conn: connection in NEW
 *
 * Context: process, weft_listen_lock held.
 */
void weft_listener_add(struct weft_listener *listener, struct weft_conn *conn)
{
	lockdep_assert_held(&weft_listen_lock);
	listener_make_room(listener);
	kref_get(&listener->refs);
	conn->listener = listener;
	list_add_tail(&conn->half_open, &listener->half_open);
	listener->num_half_open++;
}

/**
 * weft_listener_evict() - give up every connection whose Request is awaited
 * @listener: a listener that is taken out of use
 *
 * Context: process, weft_listen_lock held.
 */
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

/**
 * weft_listener_leave() - take a connection off its listener
 * @conn: connection
 *
 * Context: process, @conn->lock held. Harmless when repeated.
 */
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

/**
 * weft_listener_deliver() - announce a connection request
 * @conn: connection that came through a listener
 * @event: the announcement
 *
 * Context: process, @conn->lock held.
 * Return: 0, -ECONNABORTED if nobody listens any more, or iw_cm's error if its queue is
 * full.
 */
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
