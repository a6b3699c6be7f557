// SPDX-License-Identifier: GPL-2.0
/* What the classes of lower layers that use the kernel's sockets have in common. */
#include <linux/memcontrol.h>
#include <linux/netdevice.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>

#include "base/address.h"
#include "base/compat.h"
#include "llp/sock.h"

static int sock_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

/*
 * Binds a socket to the routing domain (VRF) in which its address is, if there is one. A program
 * says so by SO_BINDTODEVICE, for which rdma_cm has no counterpart; without, TCP refuses the
 * address. Another try to bind finds the socket there, where only an administrator could bind
 * it once more.
 */
static int sock_enter_vrf(struct sock *sk, const struct sockaddr_storage *addr)
{
	struct net_device *netdev = weft_addr_netdev(sock_net(sk), addr);
	int vrf;

	if (!netdev)
		return 0;
	vrf = l3mdev_master_ifindex(netdev);
	dev_put(netdev);
	return vrf && vrf != READ_ONCE(sk->sk_bound_dev_if) ? sock_bindtoindex(sk, vrf, true) : 0;
}

/**
 * weft_sock_bind() - give a socket its local address
 * @sock: the socket, unconnected
 * @addr: address and port; port 0 lets the protocol choose
 * @v6only: an IPv6 wildcard takes no IPv4 connections
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno value.
 */
int weft_sock_bind(struct socket *sock, const struct sockaddr_storage *addr, bool v6only)
{
	struct sockaddr_storage copy = *addr;
	int ret;

	ret = sock_enter_vrf(sock->sk, addr);
	if (ret)
		return ret;
	sock_set_reuseaddr(sock->sk);
	if (v6only && addr->ss_family == AF_INET6)
		ip6_sock_set_v6only(sock->sk);
	return kernel_bind(sock, (struct sockaddr_unsized *)&copy, sock_addr_len(addr));
}

/**
 * weft_sock_connect() - start to connect
 * @sock: the socket
 * @to: the peer
 *
 * Context: process, may sleep, but not until the peer answers.
 * Return: 0, also if the outcome will follow; or a negative errno value.
 */
int weft_sock_connect(struct socket *sock, const struct sockaddr_storage *to)
{
	struct sockaddr_storage copy = *to;
	int ret;

	ret = kernel_connect(sock, (struct sockaddr_unsized *)&copy, sock_addr_len(to), O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/**
 * weft_sock_listen() - start to listen
 * @sock: the socket
 * @backlog: length of the queue wished for; the namespace's limit bounds it
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno value.
 */
int weft_sock_listen(struct socket *sock, int backlog)
{
	return kernel_listen(sock,
			     min(backlog,
				 READ_ONCE(sock_net(sock->sk)->core.sysctl_somaxconn)));
}

/**
 * weft_sock_set_tos() - set the type of service of packets
 * @sk: the socket
 * @tos: the type of service; with IPv6 the traffic class
 *
 * Context: process; takes the socket lock.
 */
void weft_sock_set_tos(struct sock *sk, u8 tos)
{
	if (sk->sk_family == AF_INET) {
		ip_sock_set_tos(sk, tos);
		return;
	}
	lock_sock(sk);
	inet6_sk(sk)->tclass = tos;
	release_sock(sk);
}

/**
 * weft_sock_inherit_tos() - have an accepted socket send as its listener does
 * @sk: the socket
 * @listener: the socket that took its connection, of the same family
 *
 * TCP's sockets inherit the type of service, SCTP's do not: what an
 * application set for its listener would hold for the handshake alone.
 *
 * Context: process; takes the socket lock of @sk.
 */
void weft_sock_inherit_tos(struct sock *sk, const struct sock *listener)
{
	weft_sock_set_tos(sk, listener->sk_family == AF_INET ?
				      READ_ONCE(inet_sk(listener)->tos) :
				      READ_ONCE(inet6_sk(listener)->tclass));
}

/**
 * weft_sock_charge_as() - give a socket another's user and cgroup, which pays for its memory
 * @sk: the socket, which no memory cgroup pays for
 * @other: the other, of the same protocol
 *
 * Context: process; takes the lock of @sk.
 * Return: 0, or -ENOMEM if the group of @other has reached its limit.
 */
int weft_sock_charge_as(struct sock *sk, const struct sock *other)
{
	int ret;

	lock_sock(sk);
	/* Which a firewall and a routing rule may ask for, and a worker that opens one is root. */
	WRITE_ONCE(sk->sk_uid, READ_ONCE(other->sk_uid));
	weft_sock_cgroup_like(sk, other);
	ret = weft_sock_charge_like(sk, other);
	release_sock(sk);
	return ret;
}

/**
 * weft_sock_charge() - charge an accepted socket's memory to the calling process
 * @sk: the socket
 *
 * An accepted socket is charged to the memory cgroup of the accepting task, a worker of
 * ours without a group. A container could so use any amount of the protocol's memory. To
 * charge the caller's group, a socket is made in the caller's name and its group is copied. So
 * are the firewall's rules, which until then are those of the listener: that may have been made
 * by whoever added the device.
 *
 * Context: the process that pays; takes the lock of @sk.
 * Return: 0, or -ENOMEM and the like.
 */
int weft_sock_charge(struct sock *sk)
{
	struct socket *sample;
	int ret;

	ret = sock_create_kern(sock_net(sk), sk->sk_family, SOCK_STREAM, sk->sk_protocol,
			       &sample);
	if (ret)
		return ret;
	ret = weft_sock_charge_as(sk, sample->sk);
	sock_release(sample);
	return ret;
}

/* Writes an IPv4 address as a name. Any context. */
void weft_sock_name_v4(struct sockaddr_storage *name, __be32 addr, __be16 port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)name;

	v4->sin_family = AF_INET;
	v4->sin_port = port;
	v4->sin_addr.s_addr = addr;
}

/*
 * Writes an IPv6 address as a name. A socket for both families holds IPv4 addresses as
 * mapped IPv6 ones. The scope of a link-local address is @device, by its index. Any context.
 */
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
