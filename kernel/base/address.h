/* SPDX-License-Identifier: GPL-2.0 */
/* Socket addresses, as rdma_cm understands them. */
#ifndef WEFT_ADDRESS_H
#define WEFT_ADDRESS_H

#include <linux/socket.h>
#include <linux/types.h>

struct net;

bool weft_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
u32 weft_addr_hash(struct net *net, const struct sockaddr_storage *addr);
u16 weft_addr_port(const struct sockaddr_storage *addr);

#endif /* WEFT_ADDRESS_H */
