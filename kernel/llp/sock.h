/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that classes of lower layers with kernel sockets share. */
#ifndef WEFT_LLP_SOCK_H
#define WEFT_LLP_SOCK_H

#include <linux/net.h>
#include <linux/socket.h>

struct in6_addr;
struct sock;

int weft_sock_bind(struct socket *sock, const struct sockaddr_storage *addr, bool v6only);
int weft_sock_connect(struct socket *sock, const struct sockaddr_storage *to);
int weft_sock_listen(struct socket *sock, int backlog);
void weft_sock_set_tos(struct sock *sk, u8 tos);
void weft_sock_inherit_tos(struct sock *sk, const struct sock *listener);
int weft_sock_charge(struct sock *sk);
int weft_sock_charge_as(struct sock *sk, const struct sock *other);
void weft_sock_name_v4(struct sockaddr_storage *name, __be32 addr, __be16 port);
void weft_sock_name_v6(struct sockaddr_storage *name, const struct in6_addr *addr,
		       __be16 port, int device);

#endif /* WEFT_LLP_SOCK_H */
