// SPDX-License-Identifier: GPL-2.0
/* Transports, by name and by port; see transport.h. */
#include <linux/kmod.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "llp/tcp.h"
#include "llp/transport.h"

const struct weft_transport weft_tcp_transport = {
	.name = "tcp",
	.class = &weft_tcp_class,
};

/* Protects the table, and what devices have of it. Process context. */
static DEFINE_SPINLOCK(transports_lock);
static const struct weft_transport *transports[WEFT_MAX_TRANSPORTS] = { &weft_tcp_transport };

/* Makes a transport known. Returns 0 or -ENOSPC. Process context. */
int weft_transport_register(const struct weft_transport *transport)
{
	int ret = -ENOSPC, i;

	spin_lock(&transports_lock);
	for (i = 0; i < WEFT_MAX_TRANSPORTS && ret; i++) {
		if (!transports[i]) {
			transports[i] = transport;
			ret = 0;
		}
	}
	spin_unlock(&transports_lock);
	return ret;
}

/* Takes a transport out of the table. Devices that have used it may do so until they end. */
void weft_transport_unregister(const struct weft_transport *transport)
{
	int i;

	spin_lock(&transports_lock);
	for (i = 0; i < WEFT_MAX_TRANSPORTS; i++)
		if (transports[i] == transport)
			transports[i] = NULL;
	spin_unlock(&transports_lock);
}

/* Notes that a device uses a transport. Returns false if it has used too many others. */
static bool transport_use(struct weft_transports *of, const struct weft_transport *transport)
{
	int i;

	lockdep_assert_held(&transports_lock);
	for (i = 0; i < WEFT_MAX_TRANSPORTS; i++) {
		if (!of->used[i])
			of->used[i] = transport;
		if (of->used[i] == transport)
			return true;
	}
	return false;
}

/* Returns the transport of this name, which the device uses from now on, or NULL. */
static const struct weft_transport *transport_find(struct weft_transports *of, const char *name)
{
	int i;

	lockdep_assert_held(&transports_lock);
	for (i = 0; i < WEFT_MAX_TRANSPORTS; i++)
		if (transports[i] && !strcmp(transports[i]->name, name))
			return transport_use(of, transports[i]) ? transports[i] : NULL;
	return NULL;
}

/*
 * Sets the transport of a device's new connections by its name; its module is loaded if needed.
 * Returns 0, or -EINVAL if there is no such transport, and keeps the old one. May sleep.
 */
int weft_transport_choose(struct weft_transports *of, const char *name)
{
	const struct weft_transport *found;

	spin_lock(&transports_lock);
	found = transport_find(of, name);
	spin_unlock(&transports_lock);
	if (!found)
		request_module("weft-transport-%s", name);
	spin_lock(&transports_lock);
	found = transport_find(of, name);
	if (found)
		of->chosen = found;
	spin_unlock(&transports_lock);
	return found ? 0 : -EINVAL;
}

/*
 * Returns the transport of connections to a port at which the responder listens. It stays as long
 * as the device does. Process context.
 */
const struct weft_transport *weft_transport_for(struct weft_transports *of, u16 port)
{
	const struct weft_transport *found;
	int i;

	spin_lock(&transports_lock);
	found = of->chosen;
	for (i = 0; i < WEFT_MAX_TRANSPORTS; i++) {
		if (transports[i] && transports[i]->serves && transports[i]->serves(port) &&
		    transport_use(of, transports[i])) {
			found = transports[i];
			break;
		}
	}
	spin_unlock(&transports_lock);
	return found;
}

/* Returns true if the streams of what the operator chose are spread. Process context. */
bool weft_transport_spreads(struct weft_transports *of)
{
	bool spreads;

	spin_lock(&transports_lock);
	spreads = of->chosen->spread;
	spin_unlock(&transports_lock);
	return spreads;
}

/*
 * Returns the transport that spreads streams, once weft_transport_spreads() was true, whatever is
 * chosen now. Process context.
 */
const struct weft_transport *weft_transport_spreader(struct weft_transports *of)
{
	const struct weft_transport *found = NULL;
	int i;

	spin_lock(&transports_lock);
	for (i = 0; i < WEFT_MAX_TRANSPORTS && !found; i++)
		if (of->used[i] && of->used[i]->spread)
			found = of->used[i];
	spin_unlock(&transports_lock);
	return found;
}

/* Writes the name of what is chosen, for sysfs. Returns how many bytes. Process context. */
int weft_transport_show(struct weft_transports *of, char *text)
{
	int len;

	spin_lock(&transports_lock);
	len = sysfs_emit(text, "%s\n", of->chosen->name);
	spin_unlock(&transports_lock);
	return len;
}

/* Returns true if a device has used a transport, and may have streams of it. Process context. */
bool weft_transport_was_used(const struct weft_transports *of,
			     const struct weft_transport *transport)
{
	bool used = false;
	int i;

	spin_lock(&transports_lock);
	for (i = 0; i < WEFT_MAX_TRANSPORTS; i++)
		used |= of->used[i] == transport;
	spin_unlock(&transports_lock);
	return used;
}
