// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners, and the listening sockets that they share.
 *
 * For an application that listens on every address, or on one of lo's, rdma_cm
 * makes one listener per device, all with the same address and port. Two such
 * devices in one network namespace cannot each have a socket, and binding the
 * sockets to their Ethernet devices would lose the connections that a host
 * makes to itself, since these arrive on lo. So the socket is shared, and a connection
 * belongs to the device whose Ethernet device has the address that it came to:
 * rdma_cm judges by the same.
 */

#include <linux/inetdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "conn_internal.h"
#include "device.h"

/* Connections taken in one go before others get a turn. */
#define ACCEPT_BUDGET	32
/* How soon to try again when memory was short; nothing else would tell. */
#define ACCEPT_RETRY	(HZ / 10 + 1)

/**
 * struct listen_port - a listening socket
 * @entry: in the list of ports, under listen_lock
 * @net: the socket's namespace, which the Ethernet devices of @listeners keep
 * @addr: where it listens
 * @v6only: not on IPv4 addresses as well
 * @listeners: who listens. Under listen_lock; never empty while in the list
 * @llp: the socket. Under @accepting; NULL once it is being closed
 * @accepting: held to accept. Taken before listen_lock
 * @work: accepts; delayed when memory or sockets were short
 *
 * Made with its first listener; the last one that leaves takes it out of the
 * list, closes the socket, waits for the work and frees it.
 */
struct listen_port {
	struct list_head entry;
	struct net *net;
	struct sockaddr_storage addr;
	bool v6only;
	struct list_head listeners;
	struct weft_llp *llp;
	struct mutex accepting; /* one accepter at a time, or the closer */
	struct delayed_work work;
};

/**
 * struct weft_listener - one iw_cm listener
 * @refs: held by the cm_id, until it is destroyed, and by every connection
 *	that is to be announced
 * @entry: in the port's list
 * @dev: whose connections it takes; valid while @id is set
 * @id: whom to tell; NULL once it no longer listens. A reference
 * @port: where it listens; valid while @id is set
 * @foreign: made from another network namespace than the device's. In its
 *	shared mode the RDMA subsystem lets wildcard listeners reach over, and
 *	rdma_cm then refuses what they get; so they get only what nobody else
 *	wants
 * @half_open: connections whose Request is awaited, oldest first
 * @num_half_open: how many
 * @max_half_open: how many at once
 *
 * All but @refs is protected by listen_lock.
 */
struct weft_listener {
	struct kref refs;
	struct list_head entry;
	struct weft_device *dev;
	struct iw_cm_id *id;
	struct listen_port *port;
	bool foreign;
	struct list_head half_open;
	u32 num_half_open;
	u32 max_half_open;
};

/* Lock order: a connection's mutex or a port's @accepting, listen_lock. */
static DEFINE_MUTEX(listen_lock);
static LIST_HEAD(ports);

static void listener_free(struct kref *refs)
{
	kfree(container_of(refs, struct weft_listener, refs));
}

/* --- addresses --- */

static bool addr_equal(const struct sockaddr_storage *a,
		       const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port &&
		       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       a6->sin6_scope_id == b6->sin6_scope_id &&
	       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/* Addresses that rdma_cm makes a listener of for every device. */
static bool addr_is_shared(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET)
		return v4->sin_addr.s_addr == htonl(INADDR_ANY) ||
		       ipv4_is_loopback(v4->sin_addr.s_addr);
	return ipv6_addr_any(&v6->sin6_addr) ||
	       ipv6_addr_loopback(&v6->sin6_addr);
}

/* Is @addr one of the device's? */
static bool addr_is_on(struct sockaddr_storage *addr, struct net_device *netdev)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;
	struct net_device *found;

	if (addr->ss_family == AF_INET) {
		found = ip_dev_find(dev_net(netdev), v4->sin_addr.s_addr);
		dev_put(found);
		return found == netdev;
	}
	return IS_ENABLED(CONFIG_IPV6) &&
	       ipv6_chk_addr(dev_net(netdev), &v6->sin6_addr, netdev, 1);
}

/* --- accepting --- */

/* Whose is a connection that came to @local? With listen_lock held. */
static struct weft_listener *port_choose(struct listen_port *port,
					 struct sockaddr_storage *local)
{
	struct weft_listener *listener, *chosen = NULL;

	list_for_each_entry(listener, &port->listeners, entry) {
		if (chosen && listener->foreign)
			continue;
		if (!addr_is_shared(&port->addr) ||
		    addr_is_on(local, listener->dev->netdev))
			chosen = listener;
	}
	return chosen;
}

/*
 * Peers that connect and then say nothing must not keep others out: where there
 * is no place left, the oldest handshake loses its own.
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

/*
 * Accepts a connection. -EAGAIN: there is none; any other error but
 * -ECONNABORTED: there may be one, but not now. With @port->accepting held.
 */
static int port_accept_one(struct listen_port *port)
{
	struct sockaddr_storage local, remote;
	struct weft_listener *listener = NULL;
	struct weft_conn *conn;
	struct weft_llp *llp;

	conn = weft_conn_new(false);
	if (!conn)
		return -ENOMEM;
	llp = weft_llp_accept(port->llp, &weft_conn_stream_ops, conn);
	if (IS_ERR(llp)) {
		weft_conn_put(conn);
		return PTR_ERR(llp);
	}
	conn->llp = llp;

	mutex_lock(&listen_lock);
	if (!weft_cm_names(llp, &local, &remote))
		listener = port_choose(port, &local);
	if (listener) {
		listener_make_room(listener);
		kref_get(&listener->refs);
		conn->listener = listener;
		list_add_tail(&conn->half_open, &listener->half_open);
		listener->num_half_open++;
		weft_conn_attach(conn, listener->dev);
	}
	/*
	 * The request may be there: it is read ahead of those accepted later.
	 * Posted first, since after the other one the connection may be gone.
	 */
	weft_conn_post(conn, WEFT_EV_READABLE);
	weft_conn_post(conn, listener ? WEFT_EV_START : WEFT_EV_EVICT);
	mutex_unlock(&listen_lock);
	return 0;
}

static void port_work(struct work_struct *work)
{
	struct listen_port *port = container_of(to_delayed_work(work),
						struct listen_port, work);
	int budget = ACCEPT_BUDGET;
	int ret = 0;

	mutex_lock(&port->accepting);
	/* A connection that was reset before we got to it is no end. */
	while (port->llp && budget-- && (!ret || ret == -ECONNABORTED))
		ret = port_accept_one(port);
	if (port->llp && ret != -EAGAIN)
		queue_delayed_work(weft_conn_wq, &port->work,
				   !ret || ret == -ECONNABORTED ? 0 : ACCEPT_RETRY);
	mutex_unlock(&port->accepting);
}

static void port_news(struct weft_llp *llp)
{
	struct listen_port *port = llp->owner;

	queue_delayed_work(weft_conn_wq, &port->work, 0);
}

static void port_no_news(struct weft_llp *llp)
{
}

static const struct weft_llp_ops port_ops = {
	.readable = port_news,
	.writable = port_no_news,
	.changed = port_news,
};

/* --- ports --- */

/* Without listen_lock; the port is in no list, or not yet. */
static void port_free(struct listen_port *port)
{
	struct weft_llp *llp;

	mutex_lock(&port->accepting);
	llp = port->llp;
	port->llp = NULL;
	mutex_unlock(&port->accepting);
	if (llp)
		weft_llp_close(llp, true);
	/* No callback queues it any more. */
	cancel_delayed_work_sync(&port->work);
	kfree(port);
}

static int port_open(struct listen_port *port, struct iw_cm_id *id, int backlog)
{
	struct weft_llp *llp;
	int ret;

	llp = weft_llp_open(port->net, port->addr.ss_family, &port_ops, port);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	port->llp = llp;
	ret = weft_llp_bind(llp, &port->addr, port->v6only);
	/* Accepted sockets inherit it. */
	if (!ret && id->tos_set)
		ret = weft_llp_set_tos(llp, id->tos);
	return ret ?: weft_llp_listen(llp, backlog);
}

static struct listen_port *port_new(struct net *net, struct iw_cm_id *id)
{
	struct listen_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	INIT_LIST_HEAD(&port->entry);
	INIT_LIST_HEAD(&port->listeners);
	mutex_init(&port->accepting);
	INIT_DELAYED_WORK(&port->work, port_work);
	port->net = net;
	port->addr = id->m_local_addr;
	port->v6only = id->afonly;
	return port;
}

/*
 * Adds the listener to a port that others use already: a shared address that
 * is not yet taken for its device. -ENOENT: there is no such port.
 */
static int port_join(struct weft_listener *listener, struct net *net)
{
	struct sockaddr_storage *addr = &listener->id->m_local_addr;
	struct weft_listener *other;
	struct listen_port *port;

	list_for_each_entry(port, &ports, entry) {
		if (!net_eq(port->net, net) || !addr_equal(&port->addr, addr))
			continue;
		if (!addr_is_shared(addr) ||
		    port->v6only != listener->id->afonly)
			return -EADDRINUSE;
		list_for_each_entry(other, &port->listeners, entry) {
			if (other->dev == listener->dev &&
			    other->foreign == listener->foreign)
				return -EADDRINUSE;
		}
		listener->port = port;
		list_add_tail(&listener->entry, &port->listeners);
		return 0;
	}
	return -ENOENT;
}

/* --- listeners --- */

/**
 * weft_iw_create_listen() - iw_cm: listen
 * @id: for whom, and where
 * @backlog: how many requests iw_cm queues; never 0
 *
 * Context: process, may sleep.
 * Return: 0, -EADDRINUSE, -ENOMEM, or what the socket says.
 */
int weft_iw_create_listen(struct iw_cm_id *id, int backlog)
{
	struct weft_device *dev = to_weft_device(id->device);
	struct net *net = dev_net(dev->netdev);
	struct listen_port *port = NULL;
	struct weft_listener *listener;
	int ret;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return -ENOMEM;
	kref_init(&listener->refs);
	INIT_LIST_HEAD(&listener->half_open);
	listener->dev = dev;
	listener->id = id;
	listener->foreign = !net_eq(current->nsproxy->net_ns, net);
	listener->max_half_open = max(backlog, WEFT_MIN_HALF_OPEN);

	mutex_lock(&listen_lock);
	ret = port_join(listener, net);
	if (ret == -ENOENT) {
		port = port_new(net, id);
		ret = port ? port_open(port, id, listener->max_half_open) :
			     -ENOMEM;
		if (!ret) {
			listener->port = port;
			list_add_tail(&listener->entry, &port->listeners);
			list_add_tail(&port->entry, &ports);
		}
	}
	if (!ret) {
		id->add_ref(id);
		id->provider_data = listener;
	}
	mutex_unlock(&listen_lock);
	if (ret) {
		if (port)
			port_free(port);
		kfree(listener);
	}
	return ret;
}

/*
 * Takes a listener out of use. Returns its port if nobody else uses that, for
 * the caller to free without the lock. With listen_lock held.
 */
static struct listen_port *listener_detach(struct weft_listener *listener)
{
	struct listen_port *port = listener->port;
	struct weft_conn *conn, *next;

	if (!listener->id)
		return NULL;
	listener->id->rem_ref(listener->id);
	listener->id = NULL;
	list_for_each_entry_safe(conn, next, &listener->half_open, half_open) {
		list_del_init(&conn->half_open);
		weft_conn_post(conn, WEFT_EV_EVICT);
	}
	listener->num_half_open = 0;

	list_del(&listener->entry);
	if (!list_empty(&port->listeners))
		return NULL;
	list_del(&port->entry);
	return port;
}

/**
 * weft_iw_destroy_listen() - iw_cm: listen no longer
 * @id: as given to weft_iw_create_listen()
 *
 * Connections that were announced already live on.
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int weft_iw_destroy_listen(struct iw_cm_id *id)
{
	struct weft_listener *listener = id->provider_data;
	struct listen_port *port;

	mutex_lock(&listen_lock);
	port = listener_detach(listener);
	mutex_unlock(&listen_lock);
	if (port)
		port_free(port);
	id->provider_data = NULL;
	kref_put(&listener->refs, listener_free);
	return 0;
}

/**
 * weft_listener_find() - find the listener of a cm_id of rdma_cm's
 * @dev: device
 * @cm_context: the cm_id
 * @half_open: handshakes under way
 *
 * Context: process, may sleep.
 * Return: false if there is none.
 */
bool weft_listener_find(struct weft_device *dev, const void *cm_context,
			u32 *half_open)
{
	struct weft_listener *listener;
	struct listen_port *port;
	bool found = false;

	mutex_lock(&listen_lock);
	list_for_each_entry(port, &ports, entry) {
		list_for_each_entry(listener, &port->listeners, entry) {
			if (listener->dev == dev &&
			    listener->id->context == cm_context) {
				*half_open = listener->num_half_open;
				found = true;
			}
		}
	}
	mutex_unlock(&listen_lock);
	return found;
}

/* With listen_lock held. */
static struct weft_listener *listener_any(struct weft_device *dev)
{
	struct weft_listener *listener;
	struct listen_port *port;

	list_for_each_entry(port, &ports, entry) {
		list_for_each_entry(listener, &port->listeners, entry) {
			if (listener->dev == dev)
				return listener;
		}
	}
	return NULL;
}

/**
 * weft_listener_stop_all() - take a device's listeners out of use
 * @dev: device
 *
 * They stay for weft_iw_destroy_listen() to free.
 *
 * Context: process, may sleep.
 */
void weft_listener_stop_all(struct weft_device *dev)
{
	struct weft_listener *listener;
	struct listen_port *port;

	do {
		mutex_lock(&listen_lock);
		listener = listener_any(dev);
		port = listener ? listener_detach(listener) : NULL;
		mutex_unlock(&listen_lock);
		if (port)
			port_free(port);
	} while (listener);
}

/* --- for connections in ACCEPTED --- */

/**
 * weft_listener_leave() - the connection is no longer the listener's
 * @conn: connection
 *
 * Context: process, @conn->mutex held. Harmless when repeated.
 */
void weft_listener_leave(struct weft_conn *conn)
{
	struct weft_listener *listener = conn->listener;

	if (!listener)
		return;
	mutex_lock(&listen_lock);
	if (!list_empty(&conn->half_open)) {
		list_del_init(&conn->half_open);
		listener->num_half_open--;
	}
	conn->listener = NULL;
	mutex_unlock(&listen_lock);
	kref_put(&listener->refs, listener_free);
}

/**
 * weft_listener_deliver() - announce a connection request
 * @conn: connection that came through a listener
 * @event: the announcement
 *
 * Context: process, @conn->mutex held.
 * Return: 0, -ECONNABORTED if nobody listens any more, or iw_cm's error if it
 * has no place in its queue.
 */
int weft_listener_deliver(struct weft_conn *conn, struct iw_cm_event *event)
{
	struct weft_listener *listener = conn->listener;
	int ret = -ECONNABORTED;

	mutex_lock(&listen_lock);
	if (listener->id)
		ret = listener->id->event_handler(listener->id, event);
	mutex_unlock(&listen_lock);
	weft_listener_leave(conn);
	return ret;
}
