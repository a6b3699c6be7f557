// SPDX-License-Identifier: GPL-2.0
/* The RDMA device: its registration, its port, and the Ethernet device below. */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "conn.h"
#include "device.h"
#include "restrack.h"
#include "settings.h"
#include "uapi/weft-abi.h"
#include "verbs/cq.h"
#include "verbs/dmabuf.h"
#include "verbs/doorbell.h"
#include "verbs/fastreg.h"
#include "verbs/mr.h"
#include "verbs/mw.h"
#include "verbs/post.h"
#include "verbs/qp.h"
#include "verbs/ring.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

#define WEFT_DRIVER	((enum rdma_driver_id)WEFT_DRIVER_ID)

/* Every device, from before it is registered until it is freed. */
static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_lock); /* of devices; inside the rtnl lock */

/* --- what the device says of itself --- */

static int weft_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	if (udata->inlen || udata->outlen)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->sys_image_guid = ib->node_guid;
	attr->vendor_id = WEFT_DRIVER_ID & 0xffffff;
	attr->max_mr_size = (u64)UINT_MAX << PAGE_SHIFT; /* what can be pinned at a time */
	attr->page_size_cap = ~(u64)(SZ_4K - 1);
	attr->max_qp = WEFT_MAX_QP;
	attr->max_qp_wr = WEFT_MAX_QP_WR;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY;
	attr->max_send_sge = WEFT_MAX_SGE;
	attr->max_recv_sge = WEFT_MAX_SGE;
	attr->max_sge_rd = WEFT_MAX_SGE;
	attr->max_cq = WEFT_MAX_CQ;
	attr->max_cqe = WEFT_MAX_CQE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	attr->max_srq = WEFT_MAX_SRQ;
	attr->max_srq_wr = WEFT_MAX_SRQ_WR;
	attr->max_srq_sge = WEFT_MAX_SGE;
	attr->max_mr = WEFT_MAX_MR;
	attr->max_mw = WEFT_MAX_MW;
	attr->max_fast_reg_page_list_len = WEFT_MAX_FAST_BLOCKS;
	attr->max_pd = WEFT_MAX_PD;
	attr->max_qp_rd_atom = WEFT_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = WEFT_MAX_RD_ATOM;
	attr->max_res_rd_atom = WEFT_MAX_QP * WEFT_MAX_RD_ATOM;
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / MSEC_PER_SEC; /* in kHz: time stamps are ns */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	return 0;
}

static bool weft_port_active(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

static int weft_query_port(struct ib_device *ib, u32 port,
			   struct ib_port_attr *attr)
{
	struct net_device *netdev = to_weft_device(ib)->netdev;
	bool active = weft_port_active(netdev);
	int rv;

	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(netdev->mtu);
	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = active ? IB_PORT_PHYS_STATE_LINK_UP :
				    IB_PORT_PHYS_STATE_DISABLED;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = WEFT_MAX_MSG;
	rv = ib_get_eth_speed(ib, port, &attr->active_speed,
			      &attr->active_width);
	/* An Ethernet device that is going has no speed any more; ours goes next. */
	return rv == -ENODEV ? 0 : rv;
}

static int weft_port_immutable(struct ib_device *ib, u32 port,
			       struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/* The one GID is the MAC address: that is how rdma_cm finds an iWARP device. */
static int weft_query_gid(struct ib_device *ib, u32 port, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_weft_device(ib)->netdev->dev_addr, ETH_ALEN);
	return 0;
}

/* iWARP has no partitions, but rdma_cm asks for one to connect to a loopback address. */
static int weft_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static void weft_fw_string(struct ib_device *ib, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%s", WEFT_VERSION);
}

/* --- its life --- */

/* The core has let go of the device: everything on it is gone. */
static void weft_device_dealloc(struct ib_device *ib)
{
	struct weft_device *dev = to_weft_device(ib);

	weft_conn_stop_all(dev);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	mutex_lock(&devices_lock);
	list_del_init(&dev->entry);
	mutex_unlock(&devices_lock);
	free_percpu(dev->counters);
	dev_put(dev->netdev);
}

static const struct ib_device_ops weft_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = WEFT_DRIVER,
	.uverbs_abi_ver = WEFT_ABI_VERSION,

	.alloc_hw_port_stats = weft_alloc_hw_port_stats,
	.alloc_mr = weft_alloc_mr,
	.alloc_mw = weft_alloc_mw,
	.alloc_pd = weft_alloc_pd,
	.alloc_ucontext = weft_alloc_ucontext,
	.create_cq = weft_create_cq,
	.create_qp = weft_create_qp,
	.create_srq = weft_create_srq,
	.dealloc_driver = weft_device_dealloc,
	.dealloc_mw = weft_dealloc_mw,
	.dealloc_pd = weft_dealloc_pd,
	.dealloc_ucontext = weft_dealloc_ucontext,
	.dereg_mr = weft_dereg_mr,
	.destroy_cq = weft_destroy_cq,
	.destroy_qp = weft_destroy_qp,
	.destroy_srq = weft_destroy_srq,
	.device_group = &weft_settings_group,
	.disassociate_ucontext = weft_disassociate_ucontext,
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
	.query_device = weft_query_device,
	.query_gid = weft_query_gid,
	.query_pkey = weft_query_pkey,
	.query_port = weft_query_port,
	.query_qp = weft_query_qp,
	.query_srq = weft_query_srq,
	.reg_user_mr = weft_reg_user_mr,
	.reg_user_mr_dmabuf = weft_reg_user_mr_dmabuf,
	.req_notify_cq = weft_req_notify_cq,
	.rereg_user_mr = weft_rereg_user_mr,
	.resize_cq = weft_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, weft_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, weft_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, weft_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, weft_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, weft_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, weft_ucontext, ib),
};

/*
 * Does the RDMA core know which Ethernet device is below one of ours? Newer
 * kernels note it with the GID and find a device by it; older ones have the
 * MAC address alone to go by.
 */
static bool weft_core_knows_netdev(struct weft_device *dev)
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
 * Another device that rdma_cm would take this one for: with the same MAC, as
 * VLANs, bonds, bridges and what is below them share one, where the same
 * programs see both. With devices_lock held.
 */
static struct weft_device *weft_device_namesake(struct net_device *netdev)
{
	struct weft_device *other;

	list_for_each_entry(other, &devices, entry) {
		if (other->netdev != netdev &&
		    ether_addr_equal(other->netdev->dev_addr, netdev->dev_addr) &&
		    rdma_dev_access_netns(&other->ib, dev_net(netdev)) &&
		    !weft_core_knows_netdev(other))
			return other;
	}
	return NULL;
}

/*
 * Whether a network device can carry one of ours; says why not. With
 * devices_lock held.
 */
static int weft_netdev_check(struct net_device *netdev)
{
	struct weft_device *other;

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
	other = weft_device_namesake(netdev);
	if (other) {
		pr_warn("weft: %s has the MAC address of %s, which carries %s; RDMA finds its device by it, so give %s one of its own (ip link set %s address ...)\n",
			netdev->name, other->netdev->name,
			dev_name(&other->ib.dev), netdev->name, netdev->name);
		return -EADDRINUSE;
	}
	return 0;
}

/* Enters a new device in the list of devices, if its Ethernet device is fit. */
static int weft_device_enter(struct weft_device *dev)
{
	int rv;

	mutex_lock(&devices_lock);
	rv = weft_netdev_check(dev->netdev);
	if (!rv)
		list_add_tail(&dev->entry, &devices);
	mutex_unlock(&devices_lock);
	return rv;
}

/*
 * The Ethernet device may have gone, or moved to another namespace, while the
 * new device could not be found by the notifier: that is made up for.
 */
static void weft_device_recheck(struct net_device *netdev, struct net *net)
{
	struct ib_device *ib = ib_device_get_by_netdev(netdev, WEFT_DRIVER);

	if (!ib)
		return;
	if (READ_ONCE(netdev->reg_state) == NETREG_REGISTERED &&
	    net_eq(dev_net(netdev), net))
		ib_device_put(ib);
	else
		ib_unregister_device_and_put(ib);
}

/**
 * weft_device_create() - put an RDMA device on an Ethernet device
 * @name: its name
 * @netdev: the Ethernet device
 *
 * Called with the rtnl lock not held and a reference on @netdev. Where RDMA
 * devices belong to one namespace each, the new one belongs to its Ethernet
 * device's.
 *
 * Return: 0; -EEXIST if the name is in use or @netdev has one; -EOPNOTSUPP or
 * -EADDRNOTAVAIL if it cannot have one; -EADDRINUSE if another's MAC address is
 * the same; -ENOMEM.
 */
int weft_device_create(const char *name, struct net_device *netdev)
{
	struct net *net = dev_net(netdev);
	struct weft_device *dev;
	int rv;

	dev = ib_alloc_device(weft_device, ib);
	if (!dev)
		return -ENOMEM;
	dev->counters = alloc_percpu(struct weft_counters);
	if (!dev->counters) {
		ib_dealloc_device(&dev->ib);
		return -ENOMEM;
	}
	dev->netdev = netdev;
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	/* Keys start anywhere, so that none can be guessed from the last boot's. */
	dev->next_mr = get_random_u32_below(WEFT_LAST_KEY);
	weft_mr_init_local(dev);
	INIT_LIST_HEAD(&dev->entry);
	INIT_LIST_HEAD(&dev->conns);
	spin_lock_init(&dev->conns_lock);
	weft_settings_init(&dev->settings);

	dev->ib.node_type = RDMA_NODE_RNIC;
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, netdev->dev_addr);
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.local_dma_lkey = 0;
	dev->ib.driver_def = weft_doorbells;
	dev->ib.iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(dev->ib.iw_ifname, netdev->name, sizeof(dev->ib.iw_ifname));
	strscpy(dev->ib.node_desc, "Weft software iWARP",
		sizeof(dev->ib.node_desc));
	ib_set_device_ops(&dev->ib, &weft_device_ops);
	dev_hold(netdev); /* until weft_device_dealloc() */
	/* Born in the first namespace, it is not seen from here only in exclusive mode. */
	if (!rdma_dev_access_netns(&dev->ib, net))
		write_pnet(&dev->ib.coredev.rdma_net, net);
	rv = weft_device_enter(dev);
	if (!rv)
		rv = ib_device_set_netdev(&dev->ib, netdev, 1);
	if (!rv)
		rv = ib_register_device(&dev->ib, name, NULL);
	if (rv)
		ib_dealloc_device(&dev->ib);
	else
		weft_device_recheck(netdev, net);
	/* The core's word for a name in use, which would puzzle who reads it. */
	return rv == -ENFILE ? -EEXIST : rv;
}

static void weft_port_event(struct ib_device *ib, enum ib_event_type type)
{
	struct ib_event event = {
		.device = ib,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/* A MAC address was changed to one that is in use: too late to refuse it. */
static void weft_warn_namesake(struct net_device *netdev)
{
	struct weft_device *other;

	mutex_lock(&devices_lock);
	other = weft_device_namesake(netdev);
	if (other)
		pr_warn("weft: %s now has the MAC address of %s; RDMA will take one for the other\n",
			netdev->name, other->netdev->name);
	mutex_unlock(&devices_lock);
}

/*
 * The Ethernet device changed. The rtnl lock is held. One that moves to another
 * namespace is unregistered in the old one: its sockets are there, so the RDMA
 * device ends, and can be added again in the new one.
 */
static int weft_netdev_event(struct notifier_block *nb, unsigned long what,
			     void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct ib_device *ib = ib_device_get_by_netdev(netdev, WEFT_DRIVER);

	if (!ib)
		return NOTIFY_DONE;
	switch (what) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		weft_port_event(ib, weft_port_active(netdev) ?
				IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
		break;
	case NETDEV_DOWN:
		weft_port_event(ib, IB_EVENT_PORT_ERR);
		break;
	case NETDEV_CHANGEADDR:
		weft_port_event(ib, IB_EVENT_GID_CHANGE);
		weft_warn_namesake(netdev);
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(ib);
		break;
	}
	ib_device_put(ib);
	return NOTIFY_OK;
}

static struct notifier_block weft_netdev_notifier = {
	.notifier_call = weft_netdev_event,
};

/* Starts to watch Ethernet devices. 0 or a negative errno value. */
int weft_device_init(void)
{
	return register_netdevice_notifier(&weft_netdev_notifier);
}

/* Ends every device. May sleep, until all that is on them is gone. */
void weft_device_exit(void)
{
	unregister_netdevice_notifier(&weft_netdev_notifier);
	ib_unregister_driver(WEFT_DRIVER);
}
