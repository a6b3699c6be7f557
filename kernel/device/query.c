// SPDX-License-Identifier: GPL-2.0
/* Queries of the device and of its port. */
#include <rdma/ib_verbs.h>

#include "base/weft.h"
#include "device/device.h"
#include "uapi/weft-abi.h"

bool weft_port_active(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

int weft_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	unsigned int major, minor, patch;

	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	/* Three numbers of 16 bits each, as the library expects. */
	if (sscanf(WEFT_VERSION, "%u.%u.%u", &major, &minor, &patch) == 3)
		attr->fw_ver = (u64)major << 32 | minor << 16 | patch;
	attr->sys_image_guid = ib->node_guid;
	attr->vendor_id = WEFT_DRIVER_ID & 0xffffff;
	attr->max_mr_size = (u64)UINT_MAX << PAGE_SHIFT; /* the most that can be pinned at a time */
	attr->page_size_cap = ~(u64)(SZ_4K - 1);
	attr->max_qp = WEFT_MAX_QP;
	attr->max_qp_wr = WEFT_MAX_QP_WR;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
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
	attr->max_pkeys = 1;
	attr->max_qp_rd_atom = WEFT_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = WEFT_MAX_RD_ATOM;
	attr->max_res_rd_atom = WEFT_MAX_QP * WEFT_MAX_RD_ATOM;
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / MSEC_PER_SEC; /* in kHz: time stamps are ns */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	return 0;
}

int weft_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = to_weft_device(ib)->netdev;
	bool active = weft_port_active(netdev);
	int ret;

	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(netdev->mtu);
	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = active ? IB_PORT_PHYS_STATE_LINK_UP :
			   netif_running(netdev) ? IB_PORT_PHYS_STATE_POLLING :
						   IB_PORT_PHYS_STATE_DISABLED;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = WEFT_MAX_MSG;
	ret = ib_get_eth_speed(ib, port, &attr->active_speed, &attr->active_width);
	/* An Ethernet device under removal has no speed, and the RDMA device will follow. */
	return ret == -ENODEV ? 0 : ret;
}

int weft_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/* The one GID is the MAC address, by which rdma_cm finds an iWARP device. */
int weft_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_weft_device(ib)->netdev->dev_addr, ETH_ALEN);
	return 0;
}

/* iWARP has no partitions, but rdma_cm asks for one to connect to a loopback address. */
int weft_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

void weft_fw_string(struct ib_device *ib, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%s", WEFT_VERSION);
}
