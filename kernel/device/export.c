// SPDX-License-Identifier: GPL-2.0
/* What this module has for transports that are modules of their own; see llp/transport.h. */
#include "base/address.h"
#include "base/baton.h"
#include "base/compat.h"
#include "base/workqueue.h"
#include "llp/arrivals.h"
#include "llp/tcp.h"
#include "llp/transport.h"
#include "wire/mpa.h"

WEFT_EXPORT(weft_transport_register);
WEFT_EXPORT(weft_transport_withdraw);

WEFT_EXPORT(weft_workqueue);
WEFT_EXPORT(weft_baton_try);
WEFT_EXPORT(weft_baton_unlock);
WEFT_EXPORT(weft_addr_netdev);

WEFT_EXPORT(weft_arrival_new);
WEFT_EXPORT(weft_arrivals_init);
WEFT_EXPORT(weft_arrivals_add);
WEFT_EXPORT(weft_arrivals_pass);
WEFT_EXPORT(weft_arrivals_drop);

WEFT_EXPORT(weft_mpa_encode);
WEFT_EXPORT(weft_mpa_encode_depths);
WEFT_EXPORT(weft_mpa_decode);
WEFT_EXPORT(weft_mpa_decode_depths);

WEFT_EXPORT(weft_sock_bind);
WEFT_EXPORT(weft_sock_listen);
WEFT_EXPORT(weft_sock_connect);
WEFT_EXPORT(weft_sock_charge);
WEFT_EXPORT(weft_sock_charge_as);
WEFT_EXPORT(weft_sock_set_tos);
WEFT_EXPORT(weft_sock_inherit_tos);
WEFT_EXPORT(weft_sock_name_v4);
WEFT_EXPORT(weft_sock_name_v6);

/* The calls that llp/llp.h makes without a table. */
WEFT_EXPORT(weft_tcp_class);
WEFT_EXPORT(weft_tcp_lock);
WEFT_EXPORT(weft_tcp_unlock);
WEFT_EXPORT(weft_tcp_assert_locked);
WEFT_EXPORT(weft_tcp_want_space);
WEFT_EXPORT(weft_tcp_send_page);
WEFT_EXPORT(weft_tcp_read);
WEFT_EXPORT(weft_tcp_end);
