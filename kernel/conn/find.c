// SPDX-License-Identifier: GPL-2.0
/*
 * Lookup of connections, and the view for operators. The view takes no mutex of the connection,
 * because a process that is stopped while it looks would stop the connection too.
 */
#include <linux/kref.h>
#include <linux/lockdep.h>
#include <linux/string.h>

#include "base/weft.h"
#include "conn/internal.h"

/* Enters a connection in NEW in the list of a device. */
void weft_conn_attach(struct weft_conn *conn, struct weft_device *dev)
{
	conn->dev = dev;
	spin_lock(&dev->conns_lock);
	list_add_tail(&conn->entry, &dev->conns);
	spin_unlock(&dev->conns_lock);
}

/*
 * Sets the stream, or takes it away (NULL) before it is closed. Afterwards nobody looks at the old
 * stream any more.
 */
void weft_conn_set_llp(struct weft_conn *conn, struct weft_llp *llp)
{
	struct weft_device *dev = conn->dev;

	lockdep_assert_held(&conn->lock.mutex);
	/* Only its maker knows a connection that has no device. */
	if (!dev) {
		conn->llp = llp;
		return;
	}
	spin_lock(&dev->conns_lock);
	conn->llp = llp;
	spin_unlock(&dev->conns_lock);
}

/* conns_lock keeps the stream from being closed. */
static void conn_show_stream(struct weft_llp *llp, struct weft_conn_info *info)
{
	weft_llp_addresses(llp, &info->local, &info->remote);
	info->over = llp->class->name;
	while (llp->class->show_path && info->num_paths < WEFT_MAX_SHOWN &&
	       llp->class->show_path(llp, info->num_paths, &info->path[info->num_paths]))
		info->num_paths++;
}

/* Fills in @info for an operator. The caller has a reference on @conn and keeps its device. */
void weft_conn_info(struct weft_conn *conn, struct weft_conn_info *info)
{
	static const char *const names[WEFT_CONN_NUM_STATES] = {
		[WEFT_CONN_NEW] = "new",
		[WEFT_CONN_CONNECTING] = "connecting",
		[WEFT_CONN_REQUESTED] = "requested",
		[WEFT_CONN_ACCEPTED] = "accepted",
		[WEFT_CONN_PENDING] = "pending",
		[WEFT_CONN_STREAMING] = "streaming",
		[WEFT_CONN_CLOSING] = "closing",
		[WEFT_CONN_CLOSED] = "closed",
	};
	struct weft_device *dev = conn->dev;

	memset(info, 0, sizeof(*info));
	info->state = names[READ_ONCE(conn->state)];
	info->initiator = conn->initiator;
	spin_lock(&dev->conns_lock);
	if (conn->llp)
		conn_show_stream(conn->llp, info);
	spin_unlock(&dev->conns_lock);
}

/* Makes the connection known under rdma_cm's cm_id, or under none (NULL). */
void weft_conn_set_context(struct weft_conn *conn, const void *cm_context)
{
	struct weft_device *dev = conn->dev;

	lockdep_assert_held(&conn->lock.mutex);
	spin_lock(&dev->conns_lock);
	hash_del(&conn->by_cm);
	conn->cm_context = cm_context;
	if (cm_context)
		hash_add(dev->conns_by_cm, &conn->by_cm, (unsigned long)cm_context);
	spin_unlock(&dev->conns_lock);
}

/* Returns the connection of rdma_cm's cm_id with a reference, or NULL. */
struct weft_conn *weft_conn_find(struct weft_device *dev, const void *cm_context)
{
	struct weft_conn *conn, *found = NULL;

	spin_lock(&dev->conns_lock);
	hash_for_each_possible(dev->conns_by_cm, conn, by_cm, (unsigned long)cm_context) {
		if (conn->cm_context == cm_context) {
			kref_get(&conn->refs);
			found = conn;
			break;
		}
	}
	spin_unlock(&dev->conns_lock);
	return found;
}
