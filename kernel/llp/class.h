/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes of lower layers: the functions that an ordered byte stream below MPA must have. TCP
 * (tcp.h), SCTP (sctp.h) and several paths (paths.h) are classes. Users of streams include llp.h.
 */
#ifndef WEFT_LLP_CLASS_H
#define WEFT_LLP_CLASS_H

#include <linux/bvec.h>
#include <linux/mm_types.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <net/net_namespace.h>

struct in6_addr;
struct mem_cgroup;
struct sock;
struct weft_arrivals;
struct weft_llp;

/**
 * struct weft_llp_ops - events of a stream, for its owner
 * @readable: bytes, or the end of the stream, can be read
 * @writable: a send that found no room can be retried
 * @changed: a connection was made, ended or failed (@state of the class), or a listener can accept
 *	one
 *
 * Called under the stream's lock (but for a listener of TCP), in softirq or in a process that
 * releases the lock. They may neither sleep nor close the stream.
 */
struct weft_llp_ops {
	void (*readable)(struct weft_llp *llp);
	void (*writable)(struct weft_llp *llp);
	void (*changed)(struct weft_llp *llp);
};

enum weft_llp_state {
	WEFT_LLP_CONNECTING,
	WEFT_LLP_OPEN,		/* both directions */
	WEFT_LLP_PEER_CLOSED,	/* the peer's FIN has arrived (data may precede it) */
	WEFT_LLP_DEAD,		/* reset, timed out or fully closed */
};

/* Has the peer ended the stream? In this order. */
enum weft_llp_end {
	WEFT_LLP_GOES_ON,
	WEFT_LLP_LAST_BYTES,	/* only the bytes that are here can be read */
	WEFT_LLP_ALL_READ,
};

/* Takes bytes of one packet buffer, and returns how many; fewer than @len end the walk. */
typedef u32 (*weft_llp_actor)(void *ctx, struct sk_buff *skb, u32 offset, u32 len);

/**
 * struct weft_llp_flow - the functions of a class while data flows
 * @lock: take the stream's lock (TCP: the socket lock). Process context
 * @unlock: release the lock; packets that arrived meanwhile are received now
 * @assert_locked: warn, in kernels that check locks, if the caller does not hold the lock. TCP's is
 *	in weft_llp_assert_locked()
 * @resume: raise the readable event soon, even without new bytes: the next holder of the lock does,
 *	so that no caller waits for the lock. Any context
 * @emss: the effective segment size, a multiple of four, at least WEFT_MIN_EMSS
 * @train: bytes of the whole segments in the largest packet buffer, not 0. With or without the
 *	lock. NULL: one segment
 * @room: bytes left in the segment of the next byte, 1 to @emss, a multiple of four. NULL: all
 * @portion: number of bytes to hand over at once, 1 to @len, which keeps them in the segments that
 *	they were laid out for, wherever the peer's window ends. @ahead: bytes up to the start of
 *	the next segment, less than @emss. NULL: all
 * @want_space: ask for the writable event; false if there is room already, so that a send failed
 *	for lack of memory, and no event will come
 * @end_segment: let the next byte start a packet buffer of its own. NULL: each FPDU does
 * @send_page: take bytes of a page without a copy; the stream takes its own reference. Returns the
 *	number of bytes taken, which nobody may change any more; -EAGAIN without room. @more: more
 *	bytes follow at once, so TCP need not send yet
 * @may_lend: false if pages would be copied, or would not leave the machine. With or without the
 *	lock. NULL: they would be copied
 * @lend: as @send_page. Each packet buffer with some of the bytes has a reference on @ubuf, and
 *	calls it when the buffer is freed or copied. @from: bytes of @len that were taken before
 * @unsent: true if some bytes that the stream took are unsent. Any context
 * @end: tell whether the peer has ended the stream
 * @read: hand packet buffers to the actor, which takes bytes. With messages: drop them
 * @look: as @read from byte @from on, but take nothing. The stream may merge and replace waiting
 *	buffers before the next look. NULL with messages
 * @await: set how many bytes are wanted before the readable event, which may come within this call,
 *	and before so many bytes if the stream has ended or is full
 * @full: true if no more bytes can arrive unless some are read: the peer's window is as good as
 *	closed, or memory is short. The stream has a byte at least. NULL with messages
 *
 * Unless marked otherwise, the caller holds the stream's lock, or is called by the stream. Only
 * @lock, @unlock, @send_page and @lend may sleep.
 */
struct weft_llp_flow {
	void (*lock)(struct weft_llp *llp);
	void (*unlock)(struct weft_llp *llp);
	void (*assert_locked)(const struct weft_llp *llp);
	void (*resume)(struct weft_llp *llp);
	u32 (*emss)(struct weft_llp *llp);
	u32 (*train)(struct weft_llp *llp, u32 emss);
	u32 (*room)(struct weft_llp *llp, u32 emss);
	u32 (*portion)(struct weft_llp *llp, u32 emss, u32 ahead, u32 len);
	bool (*want_space)(struct weft_llp *llp);
	void (*end_segment)(struct weft_llp *llp);
	int (*send_page)(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more);
	bool (*may_lend)(struct weft_llp *llp);
	int (*lend)(struct weft_llp *llp, struct ubuf_info *ubuf,
		    const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more);
	bool (*unsent)(struct weft_llp *llp);
	enum weft_llp_end (*end)(struct weft_llp *llp);
	void (*read)(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
	void (*look)(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx);
	void (*await)(struct weft_llp *llp, u32 bytes);
	bool (*full)(struct weft_llp *llp);
};

/* Data that a stream has under way. */
struct weft_llp_flight {
	/* number of the first byte that the peer has not acknowledged. Numbers wrap */
	u32 una;
	u32 end;	/* number after the last byte that the stream was given */
	u64 window;	/* bytes that it sends before one is acknowledged */
	u32 rtt_us;	/* microseconds until a byte is acknowledged */
	unsigned long rto;	/* retransmission timeout in jiffies */
};

/**
 * struct weft_llp_path - functions of a stream that is one of several paths (paths.h)
 * @net: its namespace, without a reference
 * @payer: the memory cgroup that pays for it, with a reference, or NULL
 * @port: the port of a listener
 * @set_lowat: limit the unsent bytes, beyond which there is no room. Takes the stream's lock
 * @flight: data under way; may be old without the stream's lock
 *
 * All run in process context, and none sleeps for long.
 */
struct weft_llp_path {
	struct net *(*net)(const struct weft_llp *llp);
	struct mem_cgroup *(*payer)(const struct weft_llp *llp);
	u16 (*port)(const struct weft_llp *listener);
	void (*set_lowat)(struct weft_llp *llp, u32 bytes);
	void (*flight)(const struct weft_llp *llp, struct weft_llp_flight *flight);
};

/* The most connections of one stream that are shown. */
#define WEFT_MAX_SHOWN	8

/* The counts of one of several connections of a stream, by its number; they outlive it. */
struct weft_path_counts {
	u64 tx_bytes;
	u64 rx_bytes;
	u64 replayed;
	u32 joins;
	u32 leaves;
};

/* One of several connections of a stream, as an operator is shown it. */
struct weft_path_info {
	bool up;
	struct sockaddr_storage remote;
	struct weft_path_counts counts;
};

/**
 * struct weft_llp_class - one kind of lower layer
 * @name: of the protocol, as an operator sees it
 * @own_crc: it has a CRC32C and keeps the boundaries of FPDUs; MPA uses no CRCs and no markers
 * @many_homes: whether streams may use all addresses of the host. NULL: none may
 * @open: make an unconnected stream, with a reference of its own on @net, which its timers use
 * @bind: set its local address; port 0 lets the class choose. With @v6only an IPv6 wildcard takes
 *	no IPv4 connections
 * @set_tos: set the type of service of packets
 * @set_timeouts: set how soon a dead peer is noticed, in seconds: of silence before a probe, 0:
 *	never; without an acknowledgment, 0: the class's own
 * @listen: start to listen; the namespace's limit bounds the backlog
 * @incoming: true if a listener has a connection to accept. Any context
 * @accept: take a connection from a listener; -EAGAIN: none. Earlier events are lost, so the owner
 *	reads the new stream once without an event
 * @charge: charge an accepted stream, for which nobody pays yet, to the calling process
 * @charge_like: put a stream, for which nobody pays yet, into the cgroup of another of its class,
 *	which was opened by the process that has to pay. -ENOMEM at its limit
 * @connect: start to connect; the changed event follows with the outcome
 * @adopt: change the owner, to which all later events go. @later: it reads in a work item, not in
 *	the callback. When this returns, no event is under way to the old owner; none comes for
 *	bytes that are there already. Takes the stream's lock
 * @addresses: get both ends' addresses; -ENOTCONN, and addresses of family 0, without a peer. Any
 *	context. Takes no lock, because a throttled thread may hold the stream's for long, and an
 *	operator lists connections by this
 * @state: get the connection's state. Any context
 * @error: get the error of a failed connection and clear it; else 0
 * @recv: take bytes off the stream, for the handshake, without waiting: -EAGAIN without bytes, 0 at
 *	the end of the stream
 * @send: send bytes by copy, for the handshake, without waiting for room. The next send starts a
 *	packet buffer of its own
 * @shutdown: end our direction: the peer reads all sent bytes, and then the end
 * @close: end the stream and free it; no event comes any more
 * @flow: the functions while data flows. TCP has none, because llp.h calls its functions by name
 * @show_path: get one of several connections; false if there never was one of this number. NULL:
 *	a stream has one. Any context, without a lock
 * @path: functions of a stream that is one of several paths; NULL: none is
 *
 * Constant. Unless marked otherwise, only the stream's owner calls the functions outside of @flow,
 * in process context without the stream's lock, and they may sleep.
 */
struct weft_llp_class {
	const char *name;
	bool own_crc;
	const bool *many_homes;
	struct weft_llp *(*open)(struct net *net, int family,
				 const struct weft_llp_ops *ops, void *owner);
	int (*bind)(struct weft_llp *llp, const struct sockaddr_storage *addr, bool v6only);
	void (*set_tos)(struct weft_llp *llp, u8 tos);
	void (*set_timeouts)(struct weft_llp *llp, u32 keepalive, u32 user_timeout);
	int (*listen)(struct weft_llp *llp, int backlog);
	bool (*incoming)(struct weft_llp *listener);
	struct weft_llp *(*accept)(struct weft_llp *listener,
				   const struct weft_llp_ops *ops, void *owner);
	int (*charge)(struct weft_llp *llp);
	int (*charge_like)(struct weft_llp *llp, const struct weft_llp *other);
	void (*adopt)(struct weft_llp *llp, const struct weft_llp_ops *ops, void *owner,
		      bool later);
	int (*connect)(struct weft_llp *llp, const struct sockaddr_storage *to);
	int (*addresses)(struct weft_llp *llp, struct sockaddr_storage *local,
			 struct sockaddr_storage *remote);
	enum weft_llp_state (*state)(struct weft_llp *llp);
	int (*error)(struct weft_llp *llp);
	int (*recv)(struct weft_llp *llp, void *buf, u32 len);
	int (*send)(struct weft_llp *llp, const void *buf, u32 len);
	void (*shutdown)(struct weft_llp *llp);
	void (*close)(struct weft_llp *llp, bool abort);
	struct weft_llp_flow flow;
	bool (*show_path)(struct weft_llp *llp, u32 number, struct weft_path_info *info);
	const struct weft_llp_path *path;
};

/*
 * One stream, as all classes have it. Part of the class's own structure, and fixed once made, but
 * for @adopt. The caller of @open or @accept of its class owns it until weft_llp_close(),
 * which frees it; no callback runs after that.
 */
struct weft_llp {
	const struct weft_llp_class *class;	/* its class */
	const struct weft_llp_ops *ops;	/* the events */
	void *owner;	/* for the owner's use */
	/*
	 * the kernel socket, which holds its namespace until the protocol frees it, some time
	 * after the close; NULL: none of its own
	 */
	struct socket *sock;
	/*
	 * received messages, each a DDP segment or the class's own, which ends the stream; under
	 * the stream's lock. NULL: the stream has bytes only
	 */
	struct weft_arrivals *arrivals;
};

/* --- sock.c: functions that classes with kernel sockets share --- */

struct net_device *weft_addr_netdev(struct net *net, const struct sockaddr_storage *addr);
int weft_sock_bind(struct weft_llp *llp, const struct sockaddr_storage *addr, bool v6only);
int weft_sock_connect(struct weft_llp *llp, const struct sockaddr_storage *to);
int weft_sock_listen(struct weft_llp *llp, int backlog);
void weft_sock_set_tos(struct weft_llp *llp, u8 tos);
int weft_sock_charge(struct weft_llp *llp);
int weft_sock_charge_as(struct weft_llp *llp, const struct weft_llp *other);
void weft_sock_name_v4(struct sockaddr_storage *name, __be32 addr, __be16 port);
void weft_sock_name_v6(struct sockaddr_storage *name, const struct in6_addr *addr,
		       __be16 port, int device);

#endif /* WEFT_LLP_CLASS_H */
