// SPDX-License-Identifier: GPL-2.0
/*
 * Compiles with no kernel: a structure without its member, as a probe of something that is
 * not there. If it compiles, every probe would, and Kbuild ends the build.
 */
#include <net/sock.h>

int weft_probe(const struct sock *sk);
int weft_probe(const struct sock *sk)
{
	return sk->weft_never_there;
}
