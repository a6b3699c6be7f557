// SPDX-License-Identifier: GPL-2.0
/* From 6.19, addresses for the kernel's sockets have a type of their own. */
#include <linux/net.h>

int weft_probe(struct socket *sock, struct sockaddr_unsized *addr);
int weft_probe(struct socket *sock, struct sockaddr_unsized *addr)
{
	return kernel_bind(sock, addr, 0);
}
