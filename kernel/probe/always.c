// SPDX-License-Identifier: GPL-2.0
/* Compiles with every kernel. If it does not, no probe is valid, and Kbuild ends the build. */
#include <linux/module.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

int weft_probe(const struct ib_device_ops *ops, const struct sock *sk);
int weft_probe(const struct ib_device_ops *ops, const struct sock *sk)
{
	return ops->uverbs_abi_ver + sk->sk_rcvbuf;
}
