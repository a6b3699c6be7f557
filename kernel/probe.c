// SPDX-License-Identifier: GPL-2.0
/*
 * Features of kernels, one section each: Kbuild compiles section PROBE_X alone, and defines HAVE_X
 * if it compiles. Kbuild reads the names of the sections here.
 */
#if defined(PROBE_ALWAYS)
/* Compiles with every kernel. If it does not, no probe is valid, and Kbuild ends the build. */
#include <linux/module.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

static int __maybe_unused probe(const struct ib_device_ops *ops, const struct sock *sk)
{
	return ops->uverbs_abi_ver + sk->sk_rcvbuf;
}

#elif defined(PROBE_NEVER)
/* Compiles with no kernel. If it does, every probe would, and Kbuild ends the build. */
#include <net/sock.h>

static int __maybe_unused probe(const struct sock *sk)
{
	return sk->weft_never_there;
}

#elif defined(PROBE_LINUX_UNALIGNED)
/* Up to 6.11, the header of unaligned numbers is <asm/unaligned.h>. */
#include <linux/unaligned.h>

static int __maybe_unused probe(const void *p)
{
	return get_unaligned_be16(p);
}

#elif defined(PROBE_TCP_SENDPAGE_LOCKED)
/* Up to 6.4, TCP sends pages with a function of its own. */
#include <net/tcp.h>

static int __maybe_unused probe(struct sock *sk, struct page *page)
{
	return tcp_sendpage_locked(sk, page, 0, 1, MSG_DONTWAIT);
}

#elif defined(PROBE_UBUF_CALLBACK)
/* Up to 6.9, lent pages have a callback pointer; later kernels have a table of functions. */
#include <linux/skbuff.h>

static void __maybe_unused probe(struct sk_buff *skb, struct ubuf_info *ubuf)
{
	ubuf->callback(skb, ubuf, true);
}

#elif defined(PROBE_SG_FROM_ITER_SOCK)
/* Until 6.10, msg->sg_from_iter() takes the socket, and can charge it for added memory. */
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <net/sock.h>

static int __maybe_unused probe(struct msghdr *msg, struct sock *sk, struct sk_buff *skb)
{
	__skb_fill_page_desc_noacc(skb_shinfo(skb), 0, NULL, 0, 0);
	return msg->sg_from_iter(sk, skb, &msg->msg_iter, 0);
}

#elif defined(PROBE_SK_NET_REFCNT_UPGRADE)
/* From 6.14, a kernel socket can take a reference on its namespace after its creation. */
#include <net/sock.h>

static void __maybe_unused probe(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}

#elif defined(PROBE_RPS_HEADER)
/* From 6.9, sock_rps_record_flow() has a header of its own. */
#include <net/rps.h>
#include <net/sock.h>

static void __maybe_unused probe(const struct sock *sk)
{
	sock_rps_record_flow(sk);
}

#elif defined(PROBE_IMPORT_NS_BARE)
/* Up to 6.12, the name of a symbol namespace is written without quotes. */
#include <linux/module.h>

MODULE_IMPORT_NS(DMA_BUF);

#elif defined(PROBE_HRTIMER_SETUP)
/* From 6.13, one call sets up a timer and its function. */
#include <linux/hrtimer.h>

static void __maybe_unused probe(struct hrtimer *timer)
{
	hrtimer_setup(timer, NULL, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

#elif defined(PROBE_COUNTER_INIT)
/* From 6.15, a driver must give the size of its counters, and initialize them. */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

static size_t __maybe_unused probe(const struct ib_device_ops *ops)
{
	ops->counter_init(NULL);
	return ops->size_rdma_counter;
}

#elif defined(PROBE_COUNTER_PORT)
/* From 6.15, binding and unbinding a queue pair's counter takes the port. */
#include <rdma/ib_verbs.h>

static int __maybe_unused probe(const struct ib_device_ops *ops)
{
	return ops->counter_bind_qp(NULL, NULL, 1U) + ops->counter_unbind_qp(NULL, 1U);
}

#elif defined(PROBE_CREATE_CQ_ATTRS)
/* From 6.11, creating a completion queue takes all attributes of the user's request. */
#include <rdma/ib_verbs.h>

static int __maybe_unused probe(const struct ib_device_ops *ops, struct uverbs_attr_bundle *attrs)
{
	return ops->create_cq(NULL, NULL, attrs);
}

#elif defined(PROBE_REG_DMABUF_ATTRS)
/* From 6.12, registering a DMA buffer takes all attributes of the user's request. */
#include <rdma/ib_verbs.h>

static struct ib_mr *__maybe_unused probe(const struct ib_device_ops *ops,
					  struct uverbs_attr_bundle *attrs)
{
	return ops->reg_user_mr_dmabuf(NULL, 0, 0, 0, 0, 0, attrs);
}

#elif defined(PROBE_REG_MR_DMAH)
/* From 6.17, registering a region takes hints for the device's DMA. */
#include <rdma/ib_verbs.h>

static struct ib_mr *__maybe_unused probe(const struct ib_device_ops *ops, struct ib_dmah *dmah)
{
	return ops->reg_user_mr(NULL, 0, 0, 0, 0, dmah, NULL);
}

#elif defined(PROBE_RESIZE_USER_CQ)
/* From 7.1, only a user's completion queue can be resized, and its new size is unsigned. */
#include <rdma/ib_verbs.h>

static int __maybe_unused probe(const struct ib_device_ops *ops)
{
	return ops->resize_user_cq(NULL, 1U, NULL);
}

#elif defined(PROBE_REPORT_PORT_EVENT)
/* From 6.14, the core reports changes of a port unless the driver has this operation. */
#include <rdma/ib_verbs.h>

static void __maybe_unused probe(const struct ib_device_ops *ops, struct net_device *netdev)
{
	ops->report_port_event(NULL, netdev, 0UL);
}

#elif defined(PROBE_IB_UMEM_GET_VA)
/* From 7.2, ib_umem_get_va() pins memory of a process; other functions pin other memory. */
#include <rdma/ib_umem.h>

static struct ib_umem *__maybe_unused probe(struct ib_device *device)
{
	return ib_umem_get_va(device, 0, 0, 0);
}

#elif defined(PROBE_SOCKADDR_UNSIZED)
/* From 6.19, addresses for the kernel's sockets have a type of their own. */
#include <linux/net.h>

static int __maybe_unused probe(struct socket *sock, struct sockaddr_unsized *addr)
{
	return kernel_bind(sock, addr, 0);
}

#elif defined(PROBE_WQ_PERCPU)
/* From 6.17, a flag says that a workqueue's work stays on the CPU that queued it. */
#include <linux/workqueue.h>

static unsigned int __maybe_unused probe(void)
{
	return WQ_PERCPU;
}

#elif defined(PROBE_SKB_FRAGS_READABLE)
/* From 6.12, the fragments of a packet may be in a device's memory. */
#include <linux/skbuff.h>

static bool __maybe_unused probe(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}

#elif defined(PROBE_SK_BYPASS_PROT_MEM)
/* From 6.19, a socket's memory can be exempt from its protocol's count. */
#include <net/sock.h>

static bool __maybe_unused probe(const struct sock *sk)
{
	return sk->sk_bypass_prot_mem;
}

#elif defined(PROBE_EXEC_STATE)
/* From 7.2, dumpability belongs to the task's exec_state, not to its memory. */
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/exec_state.h>

static enum task_dumpable __maybe_unused probe(struct task_struct *task)
{
	return rcu_access_pointer(task->exec_state)->dumpable;
}

#else
#error "there is no such probe"
#endif
