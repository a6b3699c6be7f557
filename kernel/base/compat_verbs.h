/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels: the RDMA core. Operations have the newest signatures; for older
 * kernels WEFT_ADAPT_X(f) defines a wrapper of f(). WEFT_X(f) names the function for this kernel.
 */
#ifndef WEFT_COMPAT_VERBS_H
#define WEFT_COMPAT_VERBS_H

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rdma/uverbs_ioctl.h>

struct ib_dmah;

/* Returns the user's request that @udata is part of, or NULL for a kernel consumer. */
static inline struct uverbs_attr_bundle *weft_attrs_of(struct ib_udata *udata)
{
	return udata ? container_of(udata, struct uverbs_attr_bundle, driver_udata) : NULL;
}

#ifdef HAVE_CREATE_CQ_ATTRS
#define WEFT_ADAPT_CREATE_CQ(f)
#define WEFT_CREATE_CQ(f)	f
#else
#define WEFT_ADAPT_CREATE_CQ(f)								\
static int f##_udata(struct ib_cq *cq, const struct ib_cq_init_attr *attr,		\
		     struct ib_udata *udata)						\
{											\
	return f(cq, attr, weft_attrs_of(udata));					\
}

#define WEFT_CREATE_CQ(f)	f##_udata
#endif

#ifdef HAVE_RESIZE_USER_CQ
#define WEFT_ADAPT_RESIZE_CQ(f)
#define WEFT_RESIZE_CQ(f)	.resize_user_cq = f
#else
#define WEFT_ADAPT_RESIZE_CQ(f)								\
static int f##_int(struct ib_cq *cq, int entries, struct ib_udata *udata)		\
{											\
	return entries > 0 ? f(cq, entries, udata) : -EINVAL;				\
}

#define WEFT_RESIZE_CQ(f)	.resize_cq = f##_int
#endif

#ifdef HAVE_REG_MR_DMAH
#define WEFT_ADAPT_REG_MR(f)
#define WEFT_REG_MR(f)	f
#else
#define WEFT_ADAPT_REG_MR(f)								\
static struct ib_mr *f##_no_dmah(struct ib_pd *pd, u64 start, u64 length, u64 iova,	\
				 int access, struct ib_udata *udata)			\
{											\
	return f(pd, start, length, iova, access, NULL, udata);				\
}

#define WEFT_REG_MR(f)	f##_no_dmah
#endif

#if defined(HAVE_REG_MR_DMAH)
#define WEFT_ADAPT_REG_DMABUF(f)
#define WEFT_REG_DMABUF(f)	f
#elif defined(HAVE_REG_DMABUF_ATTRS)
#define WEFT_ADAPT_REG_DMABUF(f)							\
static struct ib_mr *f##_no_dmah(struct ib_pd *pd, u64 offset, u64 length, u64 iova,	\
				 int fd, int access, struct uverbs_attr_bundle *attrs)	\
{											\
	return f(pd, offset, length, iova, fd, access, NULL, attrs);			\
}

#define WEFT_REG_DMABUF(f)	f##_no_dmah
#else
#define WEFT_ADAPT_REG_DMABUF(f)							\
static struct ib_mr *f##_no_dmah(struct ib_pd *pd, u64 offset, u64 length, u64 iova,	\
				 int fd, int access, struct ib_udata *udata)		\
{											\
	return f(pd, offset, length, iova, fd, access, NULL, weft_attrs_of(udata));	\
}

#define WEFT_REG_DMABUF(f)	f##_no_dmah
#endif

#ifdef HAVE_COUNTER_PORT
#define WEFT_ADAPT_COUNTER_BIND(f)
#define WEFT_COUNTER_BIND(f)	f
#define WEFT_ADAPT_COUNTER_UNBIND(f)
#define WEFT_COUNTER_UNBIND(f)	f
#else
#define WEFT_ADAPT_COUNTER_BIND(f)							\
static int f##_no_port(struct rdma_counter *counter, struct ib_qp *qp)			\
{											\
	return f(counter, qp, counter->port);						\
}

#define WEFT_COUNTER_BIND(f)	f##_no_port
#define WEFT_ADAPT_COUNTER_UNBIND(f)							\
static int f##_no_port(struct ib_qp *qp)						\
{											\
	return f(qp, qp->port);								\
}

#define WEFT_COUNTER_UNBIND(f)	f##_no_port
#endif

/* Drivers may append to the core's counter. Weft does not, but has to say so. */
#ifdef HAVE_COUNTER_INIT
static inline void weft_counter_init(struct rdma_counter *counter)
{
}

#define WEFT_COUNTER_INIT						\
	.counter_init = weft_counter_init,				\
	.size_rdma_counter = sizeof(struct rdma_counter),
#else
#define WEFT_COUNTER_INIT
#endif

/*
 * Newer kernels raise a port's events unless the driver has this callback. Weft raises them itself,
 * because the core leaves out the ports of bonds.
 */
#ifdef HAVE_REPORT_PORT_EVENT
static inline void weft_report_port_event(struct ib_device *device, struct net_device *netdev,
					  unsigned long event)
{
}

#define WEFT_REPORT_PORT_EVENT	.report_port_event = weft_report_port_event,
#else
#define WEFT_REPORT_PORT_EVENT
#endif

/* Pins memory of the calling process; newer kernels can pin other kinds as well. */
#ifndef HAVE_IB_UMEM_GET_VA
static inline struct ib_umem *ib_umem_get_va(struct ib_device *device, unsigned long addr,
					     size_t size, int access)
{
	return ib_umem_get(device, addr, size, access);
}
#endif

#endif /* WEFT_COMPAT_VERBS_H */
