// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners: the sockets that they share, the connections whose Request is awaited, and iw_cm's
 * operations.
 *
 * A socket is in the application's network namespace, never in the device's, so that its ports,
 * addresses and firewall are those of the application. For a wildcard or loopback address rdma_cm
 * makes one listener for each device of the machine, and these share a socket.
 */
#include <linux/etherdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/ipv6.h>
#include <rdma/rdma_cm.h>

#include "base/address.h"
#include "base/weft.h"
#include "conn/conn.h"
#include "llp/transport.h"

#define ACCEPT_BUDGET	32
/* Retry delay when memory was short, because no event follows. */
#define ACCEPT_RETRY	(HZ / 10 + 1)

/*
 * A listening socket. Made with its first listener, and entered in the table when its socket
 * listens. The last listener that leaves frees it. Until then a new listener of the same address
 * waits, because the socket still has the address.
 */
struct listen_port {
	struct hlist_node entry; /* in the table of ports, under weft_listen_lock */
	/* The socket's namespace, which rdma_cm's identifiers of @listeners hold */
	struct net *net;
	struct sockaddr_storage addr; /* the address it listens on */
	const struct weft_llp_class *class; /* the class of stream that its connections have */
	bool v6only; /* an IPv6 wildcard takes no IPv4 connections */
	struct list_head listeners; /* under weft_listen_lock; empty while the port ends */
	struct weft_llp *llp; /* the socket. Only the work uses it, until @ended */
	bool ended; /* the work no longer touches @llp */
	/* Serves accepted connections until they have queue pairs. A reference */
	struct weft_lane *lane;
	struct delayed_work work; /* accepts; delayed when memory or sockets were short */
};

/* A hash, because in a list a program with 20000 ports made every other listener wait. */
static DEFINE_HASHTABLE(ports, 10);

static DECLARE_WAIT_QUEUE_HEAD(port_gone);

DEFINE_SPINLOCK(weft_listen_lock);

static void listener_free(struct kref *refs)
{
	kfree(container_of(refs, struct weft_listener, refs));
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

/* Takes a connection off its listener. */
void weft_listener_leave(struct weft_conn *conn)
{
	struct weft_listener *listener = conn->listener;

	lockdep_assert_held(&conn->lock.mutex);
	spin_lock(&weft_listen_lock);
	if (!list_empty(&conn->half_open)) {
		list_del_init(&conn->half_open);
		listener->num_half_open--;
	}
	conn->listener = NULL;
	spin_unlock(&weft_listen_lock);
	kref_put(&listener->refs, listener_free);
}

/*
 * Has a connection in NEW wait for its Request. If there are too many handshakes, gives the oldest
 * up: a peer that connects and then sends nothing must not keep others out.
 */
static void listener_add(struct weft_listener *listener, struct weft_conn *conn)
{
	struct weft_conn *oldest;

	lockdep_assert_held(&weft_listen_lock);
	if (listener->num_half_open >= listener->max_half_open) {
		oldest = list_first_entry(&listener->half_open, struct weft_conn, half_open);
		list_del_init(&oldest->half_open);
		listener->num_half_open--;
		weft_conn_post(oldest, WEFT_EV_EVICT);
	}
	kref_get(&listener->refs);
	conn->listener = listener;
	list_add_tail(&conn->half_open, &listener->half_open);
	listener->num_half_open++;
}

/* Returns true for an address on which rdma_cm makes a listener for each device. */
static bool addr_is_shared(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET)
		return v4->sin_addr.s_addr == htonl(INADDR_ANY) ||
		       ipv4_is_loopback(v4->sin_addr.s_addr);
	return ipv6_addr_any(&v6->sin6_addr) || ipv6_addr_loopback(&v6->sin6_addr);
}

/*
 * Returns the listener for a connection at @local: that of the Ethernet device with the address,
 * else one with that device's MAC address. rdma_cm compares MAC addresses too, and an ipvlan device
 * in a container has that of the host's device. NULL: drop the connection.
 */
static struct weft_listener *port_choose(struct listen_port *port,
					 const struct sockaddr_storage *local)
{
	struct weft_listener *listener, *chosen = NULL;
	struct net_device *netdev, *carrier;

	lockdep_assert_held(&weft_listen_lock);
	/* Any other address belongs to one device, which rdma_cm has chosen. */
	if (!addr_is_shared(&port->addr))
		return list_first_entry_or_null(&port->listeners, struct weft_listener, entry);

	netdev = weft_addr_netdev(port->net, local);
	if (!netdev)
		return NULL;
	list_for_each_entry(listener, &port->listeners, entry) {
		carrier = listener->dev->netdev;
		if (carrier == netdev) {
			chosen = listener;
			break;
		}
		if (!chosen && ether_addr_equal(carrier->dev_addr, netdev->dev_addr))
			chosen = listener;
	}
	dev_put(netdev);
	return chosen;
}

/*
 * Accepts a connection. Returns 0; -EAGAIN if there is none, or the port ends; -ECONNABORTED if it
 * was reset; or an error after which to retry later, such as -ENOMEM.
 */
static int port_accept_one(struct listen_port *port)
{
	struct sockaddr_storage local, remote;
	struct weft_listener *listener = NULL;
	struct weft_conn *conn;
	struct weft_llp *llp;
	bool named;

	if (READ_ONCE(port->ended) || !port->llp->class->incoming(port->llp))
		return -EAGAIN;
	conn = weft_conn_new(false, port->lane);
	if (!conn)
		return -ENOMEM;
	llp = port->llp->class->accept(port->llp, &weft_conn_stream_ops, conn);
	if (IS_ERR(llp)) {
		weft_conn_put(conn);
		return PTR_ERR(llp);
	}
	conn->llp = llp;

	named = !llp->class->addresses(llp, &local, &remote);

	spin_lock(&weft_listen_lock);
	if (named)
		listener = port_choose(port, &local);
	if (listener) {
		listener_add(listener, conn);
		weft_conn_attach(conn, listener->dev);
	}
	/*
	 * A lane may serve these events before this function returns, and EVICT ends the
	 * connection.
	 */
	kref_get(&conn->refs);
	/* The Request may be here already. Read it before those of later connections. */
	weft_conn_post(conn, WEFT_EV_READABLE);
	weft_conn_post(conn, listener ? WEFT_EV_START : WEFT_EV_EVICT);
	spin_unlock(&weft_listen_lock);
	weft_conn_put(conn);
	return 0;
}

static void port_work(struct work_struct *work)
{
	struct listen_port *port = container_of(to_delayed_work(work), struct listen_port, work);
	int budget = ACCEPT_BUDGET;
	unsigned int flags;
	int ret = 0;

	flags = memalloc_noio_save(); /* as in lane_work() */
	/* Go on after a connection that was reset before it was accepted. */
	while (budget-- && (!ret || ret == -ECONNABORTED))
		ret = READ_ONCE(port->lane->num_waiting) >= WEFT_LANE_FULL ?
		      -EBUSY : port_accept_one(port);
	memalloc_noio_restore(flags);
	if (ret == -EBUSY)
		queue_delayed_work(weft_conn_wq, &port->work, 1);
	else if (ret != -EAGAIN)
		queue_delayed_work(weft_conn_wq, &port->work,
				   !ret || ret == -ECONNABORTED ? 0 : ACCEPT_RETRY);
}

static void port_news(struct weft_llp *llp)
{
	struct listen_port *port = llp->owner;

	queue_delayed_work(weft_conn_wq, &port->work, 0);
}

static const struct weft_llp_ops port_ops = {
	.readable = port_news,
	.writable = weft_conn_no_news,
	.changed = port_news,
};

/*
 * Ends the work, closes the socket and frees a port without listeners. May sleep. @ended, not a
 * lock, keeps the work off the socket, because a worker could wait for a throttled lock holder.
 */
static void port_free(struct listen_port *port)
{
	WRITE_ONCE(port->ended, true);
	/* Until the close, callbacks may still queue the work, which does nothing now. */
	cancel_delayed_work_sync(&port->work);
	if (port->llp)
		weft_llp_close(port->llp, true);
	cancel_delayed_work_sync(&port->work);
	spin_lock(&weft_listen_lock);
	hash_del(&port->entry); /* does nothing if it never listened */
	spin_unlock(&weft_listen_lock);
	wake_up_all(&port_gone);
	weft_lane_put(port->lane);
	kfree(port);
}

/* Returns the class that the settings have for connections to the listener's port. */
static const struct weft_llp_class *listener_class(const struct weft_listener *listener)
{
	u16 port = weft_addr_port(&listener->id->m_local_addr);

	return weft_transport_for(&listener->dev->transports, port)->class;
}

/*
 * Adds the listener to an existing port. Returns 0, -ENOENT if there is none, -EAGAIN if it is
 * ending, or -EADDRINUSE if its address cannot be shared.
 */
static int port_join(struct weft_listener *listener, struct net *net)
{
	struct sockaddr_storage *addr = &listener->id->m_local_addr;
	const struct weft_llp_class *class = listener_class(listener);
	struct weft_listener *other;
	struct listen_port *port;

	lockdep_assert_held(&weft_listen_lock);
	hash_for_each_possible(ports, port, entry, weft_addr_hash(net, addr)) {
		if (!net_eq(port->net, net) || port->class != class ||
		    !weft_addr_equal(&port->addr, addr))
			continue;
		if (list_empty(&port->listeners))
			return -EAGAIN;
		if (!addr_is_shared(addr) || port->v6only != listener->id->afonly)
			return -EADDRINUSE;
		list_for_each_entry(other, &port->listeners, entry) {
			if (other->dev == listener->dev)
				return -EADDRINUSE;
		}
		listener->port = port;
		list_add_tail(&listener->entry, &port->listeners);
		return 0;
	}
	return -ENOENT;
}

static void listener_enter(struct weft_listener *listener)
{
	struct iw_cm_id *id = listener->id;

	lockdep_assert_held(&weft_listen_lock);
	id->add_ref(id);
	id->provider_data = listener;
	hash_add(listener->dev->listeners_by_cm, &listener->by_cm, (unsigned long)id->context);
}

/* Opens the socket without the lock, so connections may come before the port is in the table. */
static int port_make(struct weft_listener *listener, struct net *net)
{
	struct listen_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	struct iw_cm_id *id = listener->id;
	struct weft_llp *llp;
	int ret;

	if (!port)
		return -ENOMEM;
	port->lane = weft_lane_new();
	if (!port->lane) {
		kfree(port);
		return -ENOMEM;
	}
	INIT_LIST_HEAD(&port->listeners);
	INIT_DELAYED_WORK(&port->work, port_work);
	port->net = net;
	port->addr = id->m_local_addr;
	port->class = listener_class(listener);
	port->v6only = id->afonly;
	listener->port = port;
	list_add_tail(&listener->entry, &port->listeners);

	llp = port->class->open(net, port->addr.ss_family, &port_ops, port);
	ret = PTR_ERR_OR_ZERO(llp);
	if (!ret) {
		port->llp = llp;
		ret = llp->class->bind(llp, &port->addr, port->v6only);
	}
	/* Accepted sockets inherit the type of service. */
	if (!ret && id->tos_set)
		llp->class->set_tos(llp, id->tos);
	if (!ret)
		ret = llp->class->listen(llp, listener->max_half_open);
	if (ret) {
		port_free(port);
		return ret;
	}
	spin_lock(&weft_listen_lock);
	hash_add(ports, &port->entry, weft_addr_hash(net, &port->addr));
	listener_enter(listener);
	spin_unlock(&weft_listen_lock);
	return 0;
}

static int listener_join(struct weft_listener *listener, struct net *net)
{
	int ret;

	spin_lock(&weft_listen_lock);
	ret = port_join(listener, net);
	if (!ret)
		listener_enter(listener);
	spin_unlock(&weft_listen_lock);
	return ret;
}

static int listener_open(struct weft_device *dev, struct net *net, struct iw_cm_id *id, int backlog)
{
	struct weft_listener *listener;
	int ret;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return -ENOMEM;
	kref_init(&listener->refs);
	INIT_LIST_HEAD(&listener->half_open);
	listener->dev = dev;
	listener->id = id;
	listener->max_half_open = max(backlog, WEFT_MIN_HALF_OPEN);

	/*
	 * A device that is being enabled is asked only once. If it did not wait here for a port
	 * that is ending, it would stay without the connections of that application.
	 */
	wait_event(port_gone, (ret = listener_join(listener, net)) != -EAGAIN);
	/* If two calls for one address get here, TCP lets only one have it. */
	if (ret == -ENOENT)
		ret = port_make(listener, net);
	if (ret)
		kfree(listener);
	return ret;
}

/*
 * iw_cm: listens. In three cases the listener gets no socket, and the call still succeeds:
 *
 * - For a shared address rdma_cm asks every device, also those of other namespaces.
 * - While a device is being enabled, rdma_cm has it listen for every application. If one call
 *   failed, rdma_cm would not use the device, so any user could disable it by taking a port.
 * - A device of another namespace is of use only through ipvlan or the like. If its port is
 *   taken, the application must not lose its own devices.
 */
int weft_iw_create_listen(struct iw_cm_id *id, int backlog)
{
	struct weft_device *dev = to_weft_device(id->device);
	const struct rdma_cm_id *owner = id->context;
	struct net *net = owner->route.addr.dev_addr.net;
	bool enabling;
	int ret;

	if (!rdma_dev_access_netns(&dev->ib, net))
		return addr_is_shared(&id->m_local_addr) ? 0 : -EADDRNOTAVAIL;

	ret = listener_open(dev, net, id, backlog);
	/* This task is making the device known; also true later, if it moved its namespace. */
	enabling = READ_ONCE(dev->enabler) == task_pid(current);
	if (ret && (enabling ||
		    (addr_is_shared(&id->m_local_addr) &&
		     !net_eq(dev_net(dev->netdev), net)))) {
		ibdev_warn_ratelimited(&dev->ib,
				       "the program that listens on %pISpc gets no connections of this device (error %d): something else uses the port in its network namespace; end that and start the program again\n",
				       &id->m_local_addr, ret);
		ret = 0;
	}
	return ret;
}

/*
 * Takes a listener out of use. Returns its port for the caller to free without the lock, or NULL if
 * other listeners use the port.
 */
static struct listen_port *listener_detach(struct weft_listener *listener)
{
	struct listen_port *port = listener->port;
	struct weft_conn *conn, *next;

	lockdep_assert_held(&weft_listen_lock);
	if (!listener->id)
		return NULL;
	hash_del(&listener->by_cm);
	listener->id->rem_ref(listener->id);
	listener->id = NULL;
	list_for_each_entry_safe(conn, next, &listener->half_open, half_open) {
		list_del_init(&conn->half_open);
		weft_conn_post(conn, WEFT_EV_EVICT);
	}
	listener->num_half_open = 0;

	list_del(&listener->entry);
	return list_empty(&port->listeners) ? port : NULL;
}

/* iw_cm: listens no longer. Connections that were announced are kept. */
int weft_iw_destroy_listen(struct iw_cm_id *id)
{
	struct weft_listener *listener = id->provider_data;
	struct listen_port *port;

	/* It was made without a socket. */
	if (!listener)
		return 0;
	spin_lock(&weft_listen_lock);
	port = listener_detach(listener);
	spin_unlock(&weft_listen_lock);
	if (port)
		port_free(port);
	id->provider_data = NULL;
	kref_put(&listener->refs, listener_free);
	return 0;
}

/* Takes all listeners out of use; weft_iw_destroy_listen() frees them. May sleep. */
void weft_listener_stop_all(struct weft_device *dev)
{
	struct weft_listener *listener;
	struct listen_port *port;
	unsigned int bucket;

	do {
		spin_lock(&weft_listen_lock);
		hash_for_each(dev->listeners_by_cm, bucket, listener, by_cm)
			break; /* any will do */
		port = listener ? listener_detach(listener) : NULL;
		spin_unlock(&weft_listen_lock);
		if (port)
			port_free(port);
	} while (listener);
}
