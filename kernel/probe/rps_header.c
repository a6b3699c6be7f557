// SPDX-License-Identifier: GPL-2.0
/* From 6.9, sock_rps_record_flow() has a header of its own. */
#include <net/rps.h>
#include <net/sock.h>

void weft_probe(const struct sock *sk);
void weft_probe(const struct sock *sk)
{
	sock_rps_record_flow(sk);
}
