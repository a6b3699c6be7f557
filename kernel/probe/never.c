// SPDX-License-Identifier: GPL-2.0
/* Compiles with no kernel. If it does, every probe would, and Kbuild ends the build. */
#include <net/sock.h>

int weft_probe(const struct sock *sk);
int weft_probe(const struct sock *sk)
{
	return sk->weft_never_there;
}
