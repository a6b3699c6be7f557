// SPDX-License-Identifier: GPL-2.0
/* The addresses of a host at which more paths can begin. */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#include "paths/paths.h"
#include "uapi/weft-abi.h"

#define WEFT_DRIVER	((enum rdma_driver_id)WEFT_DRIVER_ID)

/*
 * Returns true if @dev carries a Weft device that this namespace sees: only there has the
 * operator allowed RDMA, which is not encrypted.
 */
static bool carries_weft(struct net_device *dev)
{
	struct ib_device *ib = ib_device_get_by_netdev(dev, WEFT_DRIVER);
	bool seen;

	if (!ib)
		return false;
	seen = rdma_dev_access_netns(ib, dev_net(dev));
	ib_device_put(ib);
	return seen;
}

/* Writes @dev's IPv4 address for paths. Returns false if @dev has none, or has @first. */
static bool home_v4(struct net_device *dev, __be32 first, struct in6_addr *to)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;
	bool found = false;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_local == first)
			return false;
		if (found || ifa->ifa_scope != RT_SCOPE_UNIVERSE)
			continue;
		ipv6_addr_set_v4mapped(ifa->ifa_local, to);
		found = true;
	}
	return found;
}

/* As home_v4(), for IPv6. */
static bool home_v6(struct net_device *dev, const struct in6_addr *first, struct in6_addr *to)
{
	const u32 unfit = IFA_F_TENTATIVE | IFA_F_DEPRECATED | IFA_F_TEMPORARY;
	struct inet6_dev *in6_dev = __in6_dev_get(dev);
	const struct inet6_ifaddr *ifp;
	bool found = false;

	if (!in6_dev)
		return false;
	list_for_each_entry_rcu(ifp, &in6_dev->addr_list, if_list) {
		if (ipv6_addr_equal(&ifp->addr, first))
			return false;
		if (found || (ifp->flags & unfit) ||
		    ipv6_addr_type(&ifp->addr) & (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_LOOPBACK))
			continue;
		*to = ifp->addr;
		found = true;
	}
	return found;
}

/*
 * Lists a host's addresses for paths: @first, which the first path has, and one of its family
 * for each other device that is up and carries a Weft device. Writes at most @most, which is
 * not 0, in the format of a frame. Returns how many. Process context.
 */
u32 weft_homes(struct net *net, const struct sockaddr_storage *first, u8 *addr, u32 most)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)first;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)first;
	bool is_v4 = first->ss_family == AF_INET;
	struct net_device *dev;
	struct in6_addr home;
	u32 num = 1;

	weft_path_addr(addr, first);
	rcu_read_lock();
	for_each_netdev_rcu(net, dev) {
		if (num == most)
			break;
		if (!(dev->flags & IFF_UP) || (dev->flags & IFF_LOOPBACK) || !carries_weft(dev))
			continue;
		if (is_v4 ? home_v4(dev, v4->sin_addr.s_addr, &home) :
			    IS_ENABLED(CONFIG_IPV6) && home_v6(dev, &v6->sin6_addr, &home))
			memcpy(addr + num++ * WEFT_PATH_ADDR_LEN, &home, sizeof(home));
	}
	rcu_read_unlock();
	return num;
}
