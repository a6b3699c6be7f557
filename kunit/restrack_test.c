// SPDX-License-Identifier: GPL-2.0
/* What `rdma -dd res show` tells of an object that changes meanwhile. */
#include <linux/cred.h>
#include <linux/poison.h>
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>

#include "device/device.h"
#include "memory/mr.h"
#include "suite.h"

#define NOT_TOLD	(U64_MAX - 1)

/* The number that a message gives under this name. */
static u64 told(const struct sk_buff *msg, const char *name)
{
	const struct nlattr *nest = nlmsg_attrdata(nlmsg_hdr(msg), 0);
	const struct nlattr *attr;
	bool next = false;
	int left;

	nla_for_each_nested(attr, nest, left) {
		if (nla_type(attr) == RDMA_NLDEV_ATTR_DRIVER_STRING)
			next = !nla_strcmp(attr, name);
		else if (next && nla_type(attr) == RDMA_NLDEV_ATTR_DRIVER_U64)
			return nla_get_u64(attr);
	}
	return NOT_TOLD;
}

/* A region is reregistered: its old pages are freed, and nobody has a reference. */
static void region_in_change(struct kunit *test)
{
	struct weft_mr *mr = zeroed(test, sizeof(*mr));
	struct sk_buff *msg = must(test, nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL));

	KUNIT_ASSERT_NOT_NULL(test, nlmsg_put(msg, 0, 0, 0, 0, 0));
	mr->umem = LIST_POISON1;
	mr->pages = 3;
	mr->length = 12000;
	KUNIT_EXPECT_EQ(test, weft_fill_res_mr(msg, &mr->ib), 0);
	KUNIT_EXPECT_EQ(test, told(msg, "length"), 12000ULL);
	KUNIT_EXPECT_EQ(test, told(msg, "pages"), 3ULL);
	KUNIT_EXPECT_EQ(test, told(msg, "users"), 0ULL);
	nlmsg_trim(msg, nlmsg_data(nlmsg_hdr(msg)));
	kref_init(&mr->refs);
	kref_get(&mr->refs);
	KUNIT_EXPECT_EQ(test, weft_fill_res_mr(msg, &mr->ib), 0);
	KUNIT_EXPECT_EQ(test, told(msg, "users"), 1ULL);
	nlmsg_free(msg);
}

/* Where a process has its memory is nobody's business but an administrator's. */
static void region_address(struct kunit *test)
{
	struct weft_mr *mr = zeroed(test, sizeof(*mr));
	struct sk_buff *msg = must(test, nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL));
	struct cred *cred = must(test, prepare_creds());
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, nlmsg_put(msg, 0, 0, 0, 0, 0));
	mr->iova = 0x7f0123456000;
	mr->length = 4096;
	KUNIT_EXPECT_EQ(test, weft_fill_res_mr(msg, &mr->ib), 0);
	KUNIT_EXPECT_EQ(test, told(msg, "iova"), 0x7f0123456000ULL);
	nlmsg_trim(msg, nlmsg_data(nlmsg_hdr(msg)));
	cap_clear(cred->cap_effective);
	before = override_creds(cred);
	KUNIT_EXPECT_EQ(test, weft_fill_res_mr(msg, &mr->ib), 0);
	revert_creds(before);
	put_cred(cred);
	KUNIT_EXPECT_EQ(test, told(msg, "iova"), NOT_TOLD);
	KUNIT_EXPECT_EQ(test, told(msg, "length"), 4096ULL);
	nlmsg_free(msg);
}

A_SUITE(restrack, no, region_in_change, region_address);
