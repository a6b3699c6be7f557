// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that our application has yet to answer. iw_cm silently drops the event of a
 * Request if its listener goes away or memory is short. So the event carries a number, not
 * a pointer with a reference, and if no answer comes the connection's timeout ends it.
 */
#include <linux/lockdep.h>
#include <linux/xarray.h>

#include "conn/internal.h"

static DEFINE_XARRAY_ALLOC1(tokens);
static u32 next_token;

/**
 * weft_conn_token_add() - enter a connection in the table, with a new number
 * @conn: connection
 *
 * Context: process, @conn->lock held. The table holds a reference.
 * Return: 0 and the number in @conn->token, or -ENOMEM, -EBUSY.
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

/**
 * weft_conn_token_drop() - take a connection off the table
 * @conn: connection
 *
 * Context: process, @conn->lock held. Harmless if it was taken or dropped.
 */
void weft_conn_token_drop(struct weft_conn *conn)
{
	lockdep_assert_held(&conn->lock.mutex);
	if (!conn->token)
		return;
	if (xa_cmpxchg(&tokens, conn->token, conn, NULL, GFP_KERNEL) == conn)
		weft_conn_put(conn);
	conn->token = 0;
}

/**
 * weft_conn_token_take() - find a connection by its number, and take it off the table
 * @token: the number
 *
 * Context: process, no connection's mutex held.
 * Return: the connection with the table's reference, now the caller's, or NULL.
 */
struct weft_conn *weft_conn_token_take(u32 token)
{
	return token ? xa_erase(&tokens, token) : NULL;
}

/* Ends the table. Module unload; no connection is left. */
void weft_conn_token_exit(void)
{
	xa_destroy(&tokens);
}
