// SPDX-License-Identifier: GPL-2.0
/*
 * Compiles with every kernel. If it does not, no probe can tell anything, and Kbuild ends the
 * build with what the compiler said of this file.
 */
#include <linux/module.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

int weft_probe(const struct ib_device_ops *ops, const struct sock *sk);
int weft_probe(const struct ib_device_ops *ops, const struct sock *sk)
{
	return ops->uverbs_abi_ver + sk->sk_rcvbuf;
}
