// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that our application has yet to answer. If its listener goes away or memory is short,
 * iw_cm silently drops the event of a Request. So the event carries a number and not a pointer with
 * a reference, and if no answer comes, the connection's timeout ends it.
 */
#include <linux/lockdep.h>
#include <linux/xarray.h>

#include "conn/internal.h"

static DEFINE_XARRAY_ALLOC1(tokens);
static u32 next_token;

/*
 * Enters a connection in the table under a new number, @conn->token. The table takes a reference.
 */
int weft_conn_token_add(struct weft_conn *conn)
{
	int ret;

	lockdep_assert_held(&conn->lock.mutex);
	weft_conn_get(conn);
	ret = xa_alloc_cyclic(&tokens, &conn->token, conn, xa_limit_32b,
			      &next_token, GFP_KERNEL);
	if (ret < 0) {
		conn->token = 0;
		weft_conn_put(conn);
		return ret;
	}
	return 0;
}

void weft_conn_token_drop(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (!conn->token)
		return;
	if (xa_cmpxchg(&tokens, conn->token, conn, NULL, GFP_KERNEL) == conn)
		weft_conn_put(conn);
	conn->token = 0;
}

/* Takes the connection of a number, with its reference, off the table. */
struct weft_conn *weft_conn_token_take(u32 token)
{
	return token ? xa_erase(&tokens, token) : NULL;
}

void weft_conn_token_exit(void)
{
	xa_destroy(&tokens);
}
