// SPDX-License-Identifier: GPL-2.0
/* Shared by classes of lower layers with kernel sockets; and the device of an address. */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>

#include "base/compat.h"
#include "llp/class.h"

/* Finds the Ethernet device with an address, as rdma_cm does; takes a reference on it. Or NULL. */
struct net_device *weft_addr_netdev(struct net *net, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	struct net_device *netdev, *found = NULL;

	if (addr->ss_family == AF_INET)
		return ip_dev_find(net, v4->sin_addr.s_addr);
	if (!IS_ENABLED(CONFIG_IPV6))
		return NULL;
	rcu_read_lock();
	for_each_netdev_rcu(net, netdev) {
		/* The scope of a link-local address is its device. */
		if (v6->sin6_scope_id && v6->sin6_scope_id != netdev->ifindex)
			continue;
		if (ipv6_chk_addr(net, &v6->sin6_addr, netdev, 1)) {
			dev_hold(netdev);
			found = netdev;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

int weft_sock_bind(struct weft_llp *llp, const struct sockaddr_storage *addr, bool v6only)
{
	struct sockaddr_storage copy = *addr;
	struct sock *sk = llp->sock->sk;
	struct net_device *netdev = weft_addr_netdev(sock_net(sk), addr);
	int vrf = 0, ret;

	/*
	 * Into the routing domain (VRF) of the address, if there is one: otherwise TCP refuses the
	 * address, and rdma_cm has no counterpart of SO_BINDTODEVICE. A retry finds the socket
	 * bound; only an administrator could bind it again.
	 */
	if (netdev) {
		vrf = l3mdev_master_ifindex(netdev);
		dev_put(netdev);
	}
	if (vrf && vrf != READ_ONCE(sk->sk_bound_dev_if)) {
		ret = sock_bindtoindex(sk, vrf, true);
		if (ret)
			return ret;
	}
	sock_set_reuseaddr(sk);
	if (v6only && addr->ss_family == AF_INET6)
		ip6_sock_set_v6only(sk);
	return kernel_bind(llp->sock, (struct sockaddr_unsized *)&copy, sizeof(copy));
}

/* Starts to connect, and does not wait for the peer. Returns 0 also if the outcome will follow. */
int weft_sock_connect(struct weft_llp *llp, const struct sockaddr_storage *to)
{
	struct sockaddr_storage copy = *to;
	int ret;

	ret = kernel_connect(llp->sock, (struct sockaddr_unsized *)&copy, sizeof(copy),
			     O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

int weft_sock_listen(struct weft_llp *llp, int backlog)
{
	const struct net *net = sock_net(llp->sock->sk);

	return kernel_listen(llp->sock, min(backlog, READ_ONCE(net->core.sysctl_somaxconn)));
}

/* Sets the type of service; for IPv6 the traffic class. Takes the socket lock. */
void weft_sock_set_tos(struct weft_llp *llp, u8 tos)
{
	struct sock *sk = llp->sock->sk;

	if (sk->sk_family == AF_INET) {
		ip_sock_set_tos(sk, tos);
		return;
	}
	lock_sock(sk);
	inet6_sk(sk)->tclass = tos;
	release_sock(sk);
}

/* Gives the socket, for which nobody pays, the user and cgroup of @like. -ENOMEM at its limit. */
int weft_sock_charge_as(struct weft_llp *llp, const struct weft_llp *like)
{
	const struct sock *other = like->sock->sk;
	struct sock *sk = llp->sock->sk;
	int ret;

	lock_sock(sk);
	/* Firewalls and routing rules may test the user, and a worker's sockets belong to root. */
	WRITE_ONCE(sk->sk_uid, READ_ONCE(other->sk_uid));
	weft_sock_cgroup_like(sk, other);
	ret = weft_sock_charge_like(sk, other);
	release_sock(sk);
	return ret;
}

/*
 * Charges an accepted socket to the calling process. Until then nobody pays, because a worker
 * accepted it, and a container could use any amount of the protocol's memory. A sample socket, made
 * in the caller's name, has the cgroups to copy, and with them the firewall's rules: the listener's
 * may be those of the process that added the device.
 */
int weft_sock_charge(struct weft_llp *llp)
{
	const struct sock *sk = llp->sock->sk;
	struct weft_llp sample = {};
	int ret;

	ret = sock_create_kern(sock_net(sk), sk->sk_family, SOCK_STREAM, sk->sk_protocol,
			       &sample.sock);
	if (ret)
		return ret;
	ret = weft_sock_charge_as(llp, &sample);
	sock_release(sample.sock);
	return ret;
}

void weft_sock_name_v4(struct sockaddr_storage *name, __be32 addr, __be16 port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)name;

	v4->sin_family = AF_INET;
	v4->sin_port = port;
	v4->sin_addr.s_addr = addr;
}

/* @device is the scope of a link-local address. Dual-stack sockets have mapped IPv4 addresses. */
void weft_sock_name_v6(struct sockaddr_storage *name, const struct in6_addr *addr,
		       __be16 port, int device)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)name;

	if (ipv6_addr_v4mapped(addr)) {
		weft_sock_name_v4(name, addr->s6_addr32[3], port);
		return;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = port;
	v6->sin6_addr = *addr;
	v6->sin6_scope_id = ipv6_iface_scope_id(addr, device);
}
