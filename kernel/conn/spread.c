// SPDX-License-Identifier: GPL-2.0
/* Between handshake and data: the stream becomes the first of several paths. */

#include <linux/err.h>
#include <linux/lockdep.h>

#include "base/weft.h"
#include "conn/internal.h"
#include "llp/paths.h"

/*
 * If the handshake agreed on several paths, makes the stream the first of them. Then CRCs are on
 * the frames of the paths, and @agreed has none for the queue pair. Returns 0 or -ENOMEM.
 */
int weft_conn_spread(struct weft_conn *conn, struct weft_mpa_agreed *agreed)
{
	const struct weft_settings *settings = &conn->dev->settings;
	const struct weft_paths_terms terms = {
		.initiator = conn->initiator,
		.crc = agreed->crc,
		.paths = weft_setting(settings, WEFT_SET_PATHS),
		.keepalive = weft_setting(settings, WEFT_SET_KEEPALIVE),
		.user_timeout = weft_setting(settings, WEFT_SET_USER_TIMEOUT),
		.counters = conn->dev->counters,
	};
	struct weft_llp *first = conn->llp, *llp;

	lockdep_assert_held(&conn->lock.mutex);
	if (!agreed->paths)
		return 0;
	/* Hide it from operators, because the stream of several paths may end it at once. */
	weft_conn_set_llp(conn, NULL);
	llp = weft_paths_begin(first, &terms, &weft_conn_stream_ops, conn);
	weft_conn_set_llp(conn, IS_ERR(llp) ? first : llp);
	if (IS_ERR(llp))
		return PTR_ERR(llp);
	agreed->crc = false;
	return 0;
}
