// SPDX-License-Identifier: GPL-2.0
/* The RDMA device: its registration, its port, and the Ethernet device below. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/iw_portmap.h>
#include <rdma/rdma_netlink.h>

#include "base/compat_verbs.h"
#include "base/context.h"
#include "base/settings.h"
#include "base/weft.h"
#include "conn/iwcm.h"
#include "conn/lane.h"
#include "device/device.h"
#include "engine/whole.h"
#include "llp/transport.h"
#include "memory/mr.h"
#include "queue/cq.h"
#include "queue/ring.h"
#include "queue/rq.h"
#include "uapi/weft-abi.h"
#include "verbs/verbs.h"

#define WEFT_DRIVER	((enum rdma_driver_id)WEFT_DRIVER_ID)

/* Every device, from before it is registered until it is freed. */
static LIST_HEAD(devices);

static DEFINE_MUTEX(devices_lock); /* protects devices; taken inside the rtnl lock */

/*
 * Remembers the task that enables the device. The core calls this when it registers the device or
 * moves it to another namespace, and then tells its clients of the device in the same task. The
 * core makes no call at the end of that.
 */
static int enable_driver(struct ib_device *ib)
{
	struct weft_device *dev = to_weft_device(ib);

	put_pid(xchg(&dev->enabler, get_pid(task_pid(current))));
	return 0;
}

/* Frees the parts of a device that the core no longer uses. */
static void device_dealloc(struct ib_device *ib)
{
	struct weft_device *dev = to_weft_device(ib);

	weft_conn_stop_all(dev);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	mutex_lock(&devices_lock);
	list_del_init(&dev->entry);
	mutex_unlock(&devices_lock);
	put_pid(dev->enabler);
	weft_lane_put(dev->lane);
	kfree(dev->local);
	weft_tallies_destroy(&dev->tallies);
	free_percpu(dev->counters);
	dev_put(dev->netdev);
}

WEFT_ADAPT_COUNTER_BIND(weft_tally_bind)
WEFT_ADAPT_COUNTER_UNBIND(weft_tally_unbind)
WEFT_ADAPT_CREATE_CQ(weft_create_cq)
WEFT_ADAPT_RESIZE_CQ(weft_resize_cq)
WEFT_ADAPT_REG_MR(weft_reg_user_mr)
WEFT_ADAPT_REG_DMABUF(weft_reg_user_mr_dmabuf)

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.driver_id = WEFT_DRIVER,
	.uverbs_abi_ver = WEFT_ABI_VERSION,

	.alloc_hw_port_stats = weft_alloc_hw_port_stats,
	.alloc_mr = weft_alloc_mr,
	.alloc_mw = weft_alloc_mw,
	.alloc_pd = weft_alloc_pd,
	.alloc_ucontext = weft_alloc_ucontext,
	.counter_alloc_stats = weft_counter_alloc_stats,
	.counter_bind_qp = WEFT_COUNTER_BIND(weft_tally_bind),
	.counter_dealloc = weft_tally_dealloc,
	.counter_unbind_qp = WEFT_COUNTER_UNBIND(weft_tally_unbind),
	.counter_update_stats = weft_counter_update_stats,
	.create_cq = WEFT_CREATE_CQ(weft_create_cq),
	.create_qp = weft_create_qp,
	.create_srq = weft_create_srq,
	.dealloc_driver = device_dealloc,
	.dealloc_mw = weft_dealloc_mw,
	.dealloc_pd = weft_dealloc_pd,
	.dealloc_ucontext = weft_dealloc_ucontext,
	.dereg_mr = weft_dereg_mr,
	.destroy_cq = weft_destroy_cq,
	.destroy_qp = weft_destroy_qp,
	.destroy_srq = weft_destroy_srq,
	.device_group = &weft_settings_group,
	.disassociate_ucontext = weft_disassociate_ucontext,
	.enable_driver = enable_driver,
	.fill_res_cm_id_entry = weft_fill_res_cm_id,
	.fill_res_cq_entry = weft_fill_res_cq,
	.fill_res_mr_entry = weft_fill_res_mr,
	.fill_res_qp_entry = weft_fill_res_qp,
	.get_dev_fw_str = weft_fw_string,
	.get_dma_mr = weft_get_dma_mr,
	.get_hw_stats = weft_get_hw_stats,
	.get_port_immutable = weft_port_immutable,
	.iw_accept = weft_iw_accept,
	.iw_add_ref = weft_iw_add_ref,
	.iw_connect = weft_iw_connect,
	.iw_create_listen = weft_iw_create_listen,
	.iw_destroy_listen = weft_iw_destroy_listen,
	.iw_get_qp = weft_iw_get_qp,
	.iw_reject = weft_iw_reject,
	.iw_rem_ref = weft_iw_rem_ref,
	.map_mr_sg = weft_map_mr_sg,
	.mmap = weft_mmap,
	.mmap_free = weft_mmap_free,
	.modify_cq = weft_modify_cq,
	.modify_qp = weft_modify_qp,
	.modify_srq = weft_modify_srq,
	.poll_cq = weft_poll_cq,
	.post_recv = weft_post_recv,
	.post_send = weft_post_send,
	.post_srq_recv = weft_post_srq_recv,
	.process_mad = weft_process_mad,
	.query_device = weft_query_device,
	.query_gid = weft_query_gid,
	.query_pkey = weft_query_pkey,
	.query_port = weft_query_port,
	.query_qp = weft_query_qp,
	.query_srq = weft_query_srq,
	.reg_user_mr = WEFT_REG_MR(weft_reg_user_mr),
	.reg_user_mr_dmabuf = WEFT_REG_DMABUF(weft_reg_user_mr_dmabuf),
	.req_notify_cq = weft_req_notify_cq,
	.rereg_user_mr = weft_rereg_user_mr,
	WEFT_RESIZE_CQ(weft_resize_cq),
	WEFT_COUNTER_INIT
	WEFT_REPORT_PORT_EVENT

	INIT_RDMA_OBJ_SIZE(ib_cq, weft_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, weft_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, weft_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, weft_engine, qp.ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, weft_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, weft_ucontext, ib),
};

/*
 * Returns true if the RDMA core knows the Ethernet device below one of ours. Newer kernels note the
 * Ethernet device with the GID and find an RDMA device by it; older ones have only the MAC address.
 */
static bool core_knows_netdev(struct weft_device *dev)
{
	const struct ib_gid_attr *attr;
	bool knows = false;

	if (!ib_device_try_get(&dev->ib))
		return false;
	attr = rdma_get_gid_attr(&dev->ib, 1, 0);
	if (!IS_ERR(attr)) {
		knows = rcu_access_pointer(attr->ndev);
		rdma_put_gid_attr(attr);
	}
	ib_device_put(&dev->ib);
	return knows;
}

/*
 * Returns another device that rdma_cm could not tell from this one, or NULL. The other device has
 * the same MAC address, as VLANs, bonds and bridges have that of a lower device, and the same
 * programs see both. With devices_lock held.
 */
static struct weft_device *device_namesake(struct net_device *netdev)
{
	struct weft_device *other;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(other, &devices, entry) {
		if (other->netdev != netdev &&
		    ether_addr_equal(other->netdev->dev_addr, netdev->dev_addr) &&
		    rdma_dev_access_netns(&other->ib, dev_net(netdev)) &&
		    !core_knows_netdev(other))
			return other;
	}
	return NULL;
}

/*
 * Returns 0 if a device with this name can connect; otherwise the log has the reason. iw_cm refuses
 * each connect and listen on a device with a longer name, and rdma_cm then refuses all programs
 * that listen on every address, on the other devices of the host as well. `rdma dev set` can still
 * give a device such a name.
 */
static int name_check(const char *name)
{
	/* Of the Ethernet device's name iw_cm keeps as many bytes as Linux. */
	BUILD_BUG_ON(IFNAMSIZ > IWPM_IFNAME_SIZE);
	if (strlen(name) < IWPM_DEVNAME_SIZE)
		return 0;
	pr_warn("weft: %s: the name has more than %d characters, and RDMA cannot connect on such a device\n",
		name, IWPM_DEVNAME_SIZE - 1);
	return -ENAMETOOLONG;
}

/*
 * Returns 0 if a network device can carry one of ours; otherwise the log has the reason. rdma_cm
 * makes the GID of an Ethernet MAC address, which no other device of the namespace may have. With
 * devices_lock held.
 */
static int netdev_check(struct net_device *netdev)
{
	struct weft_device *other;

	lockdep_assert_held(&devices_lock);
	if (netdev->type != ARPHRD_ETHER && netdev->type != ARPHRD_LOOPBACK) {
		pr_warn("weft: %s is not an Ethernet device\n", netdev->name);
		return -EOPNOTSUPP;
	}
	if (!is_valid_ether_addr(netdev->dev_addr)) {
		pr_warn("weft: %s has no MAC address, by which RDMA finds its device; give it one (ip link set %s address 02:00:00:00:00:01)\n",
			netdev->name, netdev->name);
		return -EADDRNOTAVAIL;
	}
	list_for_each_entry(other, &devices, entry) {
		if (other->netdev == netdev) {
			pr_warn("weft: %s carries %s already\n", netdev->name,
				dev_name(&other->ib.dev));
			return -EEXIST;
		}
	}
	other = device_namesake(netdev);
	if (other) {
		pr_warn("weft: %s has the MAC address of %s, which carries %s; RDMA finds its device by it, so give %s one of its own (ip link set %s address ...)\n",
			netdev->name, other->netdev->name,
			dev_name(&other->ib.dev), netdev->name, netdev->name);
		return -EADDRINUSE;
	}
	return 0;
}

/* Adds a new device to the list of devices, if its Ethernet device is fit. */
static int device_enter(struct weft_device *dev)
{
	int ret;

	mutex_lock(&devices_lock);
	ret = netdev_check(dev->netdev);
	if (!ret)
		list_add_tail(&dev->entry, &devices);
	mutex_unlock(&devices_lock);
	return ret;
}

static void port_event(struct ib_device *ib, enum ib_event_type type)
{
	struct ib_event event = { .device = ib, .element.port_num = 1, .event = type };

	ib_dispatch_event(&event);
}

/* Raises a port event if the port's state has changed. With the rtnl lock held. */
static void port_update(struct weft_device *dev)
{
	bool active = weft_port_active(dev->netdev);

	ASSERT_RTNL();
	if (active == dev->active)
		return;
	dev->active = active;
	if (!active)
		weft_count(dev->counters, WEFT_CNT_PORT_DOWNS, 1);
	port_event(&dev->ib, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

/*
 * Catches up with events of the Ethernet device that came before the notifier could find the new
 * RDMA device: the Ethernet device may have gone, changed, or moved to another namespace.
 */
static void device_recheck(struct net_device *netdev, struct net *net)
{
	struct ib_device *ib = ib_device_get_by_netdev(netdev, WEFT_DRIVER);
	struct pid *self = task_pid(current);
	bool stays;

	if (!ib)
		return;
	/* Forgets the task that enable_driver() remembered, if that is this one. */
	if (cmpxchg(&to_weft_device(ib)->enabler, self, NULL) == self)
		put_pid(self);
	rtnl_lock();
	port_update(to_weft_device(ib));
	/* Some kernels keep the state in a bit-field, which READ_ONCE() can't read. */
	stays = netdev->reg_state == NETREG_REGISTERED && net_eq(dev_net(netdev), net);
	rtnl_unlock();
	if (stays)
		ib_device_put(ib);
	else
		ib_unregister_device_and_put(ib);
}

/*
 * Puts an RDMA device on an Ethernet device, on which the caller holds a reference. If each RDMA
 * device belongs to one namespace, the new one belongs to that of @netdev. May sleep; takes the
 * rtnl lock. Among the errors: -EEXIST if the name is in use or @netdev carries a device already;
 * -EOPNOTSUPP or -EADDRNOTAVAIL if @netdev cannot carry one; -EADDRINUSE if another device has the
 * same MAC address; -EINVAL without the transport of new devices.
 */
static int new_link(const char *name, struct net_device *netdev)
{
	struct net *net = dev_net(netdev);
	struct weft_device *dev;
	int ret;

	ret = name_check(name);
	if (ret)
		return ret;
	dev = ib_alloc_device(weft_device, ib);
	if (!dev)
		return -ENOMEM;
	dev->netdev = netdev;
	dev->active = weft_port_active(netdev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&dev->entry);
	INIT_LIST_HEAD(&dev->conns);
	hash_init(dev->conns_by_cm);
	hash_init(dev->listeners_by_cm);
	spin_lock_init(&dev->conns_lock);
	weft_settings_init(&dev->settings);
	weft_tallies_init(&dev->tallies);

	/* iw_cm and rdma_cm cannot use a device without node type and GUID. */
	dev->ib.node_type = RDMA_NODE_RNIC;
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, netdev->dev_addr);
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.local_dma_lkey = 0;
	dev->ib.driver_def = weft_doorbells;
	dev->ib.iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(dev->ib.iw_ifname, netdev->name, sizeof(dev->ib.iw_ifname));
	strscpy(dev->ib.node_desc, "Weft software iWARP", sizeof(dev->ib.node_desc));
	ib_set_device_ops(&dev->ib, &device_ops);
	/*
	 * The core sets the first two groups: its own, and device_group. The third is for counters
	 * of a whole device, of which Weft has none; the fourth ends the array. In an array of
	 * another length the groups would have other places.
	 */
	BUILD_BUG_ON(ARRAY_SIZE(dev->ib.groups) != 4);
	dev->ib.groups[2] = &weft_kind_group;
	/* The core made it in the first namespace; unless the mode is exclusive, @net sees it. */
	if (!rdma_dev_access_netns(&dev->ib, net))
		write_pnet(&dev->ib.coredev.rdma_net, net);
	/* From here on device_dealloc() undoes each of these that was done. */
	dev_hold(netdev);
	dev->counters = alloc_percpu(struct weft_counters);
	dev->lane = weft_lane_new();
	dev->local = weft_mr_new_local(dev);
	ret = dev->counters && dev->lane && dev->local ? device_enter(dev) : -ENOMEM;
	/* In the list already, so that the end of the transport's module ends this device. */
	if (!ret)
		ret = weft_device_transport(dev);
	if (!ret)
		ret = ib_device_set_netdev(&dev->ib, netdev, 1);
	if (!ret)
		ret = ib_register_device(&dev->ib, name, NULL);
	if (ret)
		ib_dealloc_device(&dev->ib);
	else
		device_recheck(netdev, net);
	/* The core returns -ENFILE for a name in use, which would puzzle an operator. */
	return ret == -ENFILE ? -EEXIST : ret;
}

/* Undoes weft_transport_register(), and ends all devices that have used it. Process, sleeps. */
void weft_transport_withdraw(const struct weft_transport *transport)
{
	struct weft_device *dev;
	struct ib_device *ib;
	bool any;

	weft_transport_unregister(transport);
	do {
		any = false;
		ib = NULL;
		mutex_lock(&devices_lock);
		list_for_each_entry(dev, &devices, entry) {
			if (ib || !weft_transport_was_used(&dev->transports, transport))
				continue;
			any = true;
			if (ib_device_try_get(&dev->ib))
				ib = &dev->ib;
		}
		mutex_unlock(&devices_lock);
		if (ib)
			ib_unregister_device_and_put(ib);
		else if (any)
			msleep(20); /* another thread ends it */
	} while (any);
}

/*
 * Follows a change of the Ethernet device. A move to another namespace unregisters the Ethernet
 * device in the old one, where the sockets are. So the RDMA device ends, and can be added again in
 * the new namespace. With the rtnl lock held.
 */
static int netdev_event(struct notifier_block *nb, unsigned long what, void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct ib_device *ib = ib_device_get_by_netdev(netdev, WEFT_DRIVER);
	struct weft_device *other;

	ASSERT_RTNL();
	if (!ib)
		return NOTIFY_DONE;
	switch (what) {
	case NETDEV_UP:
	case NETDEV_CHANGE: /* of any flag */
	case NETDEV_DOWN:
		port_update(to_weft_device(ib));
		break;
	case NETDEV_CHANGEADDR:
		port_event(ib, IB_EVENT_GID_CHANGE);
		/* It is too late to refuse a change to an address in use. */
		mutex_lock(&devices_lock);
		other = device_namesake(netdev);
		if (other)
			pr_warn("weft: %s now has the MAC address of %s; RDMA will take one for the other\n",
				netdev->name, other->netdev->name);
		mutex_unlock(&devices_lock);
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(ib);
		break;
	}
	ib_device_put(ib);
	return NOTIFY_OK;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

static struct rdma_link_ops link_ops = {
	.type = "weft",
	.newlink = new_link,
};

/* Starts to watch Ethernet devices, and to take `rdma link add`. */
int weft_device_init(void)
{
	int ret = register_netdevice_notifier(&netdev_notifier);

	if (!ret)
		rdma_link_register(&link_ops);
	return ret;
}

/* Ends every device, and sleeps until nothing on the devices is left. */
void weft_device_exit(void)
{
	rdma_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_notifier);
	ib_unregister_driver(WEFT_DRIVER);
}
