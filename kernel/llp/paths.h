/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Several TCP connections as one stream, a class of lower layers (wire/path.h). It begins as
 * one connection whose MPA handshake is over; further ones, each a path, join and leave.
 *
 * Above this class a stream that goes out is FPDUs without CRCs and markers. Each goes over one of
 * the paths, and is kept until the peer's engine has taken it; if its path breaks, it is sent
 * again on another. What comes is segments, each with its number (arrivals.h), since one path
 * overtakes another. The responder tells where it awaits joins; the initiator connects there.
 *
 *	paths.c		the class: beginning, events, end
 *	paths_rx.c	frames that come
 *	paths_tx.c	frames that go, and which path they take
 *	paths_join.c	how paths join and leave; paths_guest.c: at the responder, paths_home.c: at
 *			the initiator; homes.c: the host's addresses
 */
#ifndef WEFT_LLP_PATHS_H
#define WEFT_LLP_PATHS_H

#include <linux/mm_types_task.h>
#include <linux/workqueue.h>

#include "base/baton.h"
#include "base/counters.h"
#include "base/workqueue.h"
#include "llp/arrivals.h"
#include "llp/llp.h"
#include "wire/path.h"

struct in6_addr;
struct mem_cgroup;

extern const struct weft_llp_class weft_paths_class;

/* Joins whose proof has not come yet. */
#define WEFT_PATHS_MAX_JOINS	4
/* Bytes of a frame before what it is there for. */
#define WEFT_PATH_HEAD		(WEFT_MPA_LEN + WEFT_PATH_HDR_LEN)
/* How often a stream is looked after while something is due. */
#define WEFT_PATHS_TICK		(HZ / 20 + 1)
/* Without data that goes back, the peer is told at once when so many frames were taken. */
#define WEFT_PATHS_ACK_FRAMES	64
/* How long a join may take: TCP's handshake, and from there to the last frame that is awaited. */
#define WEFT_PATHS_JOIN_TIME	(3 * HZ)

/**
 * struct weft_path_frame - a frame that is kept until the peer has taken what is in it
 * @unacked: in the stream's list
 * @waiting: in the stream's list of those that no path has; else empty
 * @users: the list, and a path that sends it
 * @ssn: its number
 * @len: its length
 * @sent: a path has had it, so that the peer may have taken it
 * @path: the path that has it, if it does not wait
 * @page: its bytes, with a reference. They never change, since TCP may still have them
 * @offset: where in @page
 */
struct weft_path_frame {
	struct list_head unacked;
	struct list_head waiting;
	u32 users;
	u32 ssn;
	u32 len;
	bool sent;
	u32 path;
	struct page *page;
	u32 offset;
};

/* The counts of a path, by its number; they outlive its connections. */
struct weft_path_counts {
	u64 tx_bytes;
	u64 rx_bytes;
	u64 replayed;
	u32 joins;
	u32 leaves;
};

enum weft_path_state {
	WEFT_PATH_CONNECTING,	/* initiator: TCP's handshake */
	WEFT_PATH_ASKED,	/* initiator: the challenge that our join asks for is awaited */
	WEFT_PATH_CHALLENGED,	/* initiator: that was right, and our answer is to be sent */
	WEFT_PATH_UP,
};

/**
 * struct weft_path - a path, or room for one
 * @llp: its TCP connection; NULL: none
 * @state: see there
 * @broken: it is to be dropped
 * @heard: a frame has come since it is up, so that the other end took it for a path, too
 * @stalled: the peer's TCP does not acknowledge what was sent
 * @una: the first byte, in TCP's numbers, that it had not acknowledged...
 * @since: ... at this time, in jiffies; before the path is up, when it was begun
 * @home: initiator: which address it leads to
 * @nonce: initiator: of the join
 * @answer: initiator: the proof that the challenge asks for
 * @current_frame: the frame that is being sent, with a reference; NULL: none
 * @at: how much of it was sent
 * @head: the length field and the header of the frame that is coming
 * @have: how many of the frame's bytes are here
 * @coming: its other bytes; NULL: the header is not here yet
 * @remote: where it leads, or led
 * @counts: what it has done
 */
struct weft_path {
	struct weft_llp *llp;
	enum weft_path_state state;
	bool broken;
	bool heard;
	bool stalled;
	u32 una;
	unsigned long since;
	u32 home;
	u64 nonce;
	u64 answer;
	struct weft_path_frame *current_frame;
	u32 at;
	u8 head[WEFT_PATH_HEAD];
	u32 have;
	struct weft_arrival *coming;
	struct sockaddr_storage remote;
	struct weft_path_counts counts;
};

/**
 * struct weft_path_guest - a connection that is no path yet
 * @llp: the connection; NULL: none
 * @since: when it was accepted
 * @buf: what it has said of its join, or of its answer
 * @have: how much of that
 * @asked: its join has come, and was answered by a challenge
 * @number: of the path that it asked for
 * @proof: what it has to say
 */
struct weft_path_guest {
	struct weft_llp *llp;
	unsigned long since;
	u8 buf[WEFT_PATH_JOIN_ROOM];
	u32 have;
	bool asked;
	u32 number;
	u64 proof;
};

/* One of the peer's addresses: when to connect there again, and what came of it before. */
struct weft_path_home {
	struct sockaddr_storage addr;
	unsigned long next_try;
	u32 failures;
	bool good;
};

/**
 * struct weft_paths_terms - what both ends have agreed, and how this one is set
 * @initiator: this end opened the first connection
 * @crc: frames have CRCs
 * @paths: how many paths this end wishes
 * @keepalive: as for weft_llp_set_timeouts()
 * @user_timeout: as for weft_llp_set_timeouts()
 * @counters: the device's
 */
struct weft_paths_terms {
	bool initiator;
	bool crc;
	u32 paths;
	u32 keepalive;
	u32 user_timeout;
	struct weft_counters __percpu *counters;
};

/**
 * struct weft_paths - the stream
 * @llp: as all know it
 * @below: the class of its paths: TCP, or a test's
 * @terms: fixed
 * @net: the namespace of all its sockets, with a reference
 * @memcg: who pays for memory, with a reference, or NULL
 * @lock: the stream's lock. Taken before the locks of its sockets
 * @work: does all that events of sockets ask for. Never waits for @lock, as in SCTP
 * @due_lock: protects @is_due and @due; innermost, any context
 * @is_due: @work is queued, and has not begun...
 * @due: ... to run at this time, in jiffies
 * @resumed: as in SCTP
 * @state: what the owner is told. Read by anyone
 * @error: why the stream failed, a negative errno value; 0: not yet, or already told
 * @closed: it is being freed
 * @dying: all paths are being closed
 * @fault: the peer has broken the rules
 * @short_of_memory: something waits for memory
 * @want_space: a send found no room
 * @ending: our direction is to be ended
 * @shut: our end is under way, or done
 * @path: the paths, by number. The first connection is number 0
 * @arrivals: the segments that have come and were not taken
 * @beyond: behind the last number that has come
 * @ends: the peer has ended the stream...
 * @end: ... so that no segment has this number or one behind it
 * @news: a segment or the end has come, and the owner was not told
 * @told_ack: the ack that the peer was last sent
 * @owes_ack: it is to be sent another one...
 * @ack_due: ... at this time, in jiffies
 * @unacked: frames that were sent or wait, in order
 * @waiting: those of them that no path has, in order
 * @num_unacked: how many there are. Read by anyone
 * @bytes: of the frames in @unacked
 * @next: number of the next frame
 * @frag: where frames are allocated
 * @stage: the first bytes of an FPDU whose others have not been handed over; NULL: none ever
 * @staged: how many. Read by anyone
 * @listener: responder: where joins are awaited; NULL: nowhere
 * @told: responder: the peer was told of it
 * @guest: responder: joins under way
 * @addrs: the key; initiator: of the peer, once @told
 * @home: initiator: the peer's addresses
 * @num_homes: how many
 * @local: this end's first address
 * @remote: the peer's
 *
 * All but what is marked otherwise is protected by @lock.
 */
struct weft_paths {
	struct weft_llp llp;
	const struct weft_llp_class *below;
	struct weft_paths_terms terms;
	struct net *net;
	struct mem_cgroup *memcg;
	struct weft_baton lock; /* of the stream */
	struct delayed_work work;
	spinlock_t due_lock; /* of is_due, due */
	bool is_due;
	unsigned long due;
	bool resumed;
	enum weft_llp_state state;
	int error;
	bool closed;
	bool dying;
	bool fault;
	bool short_of_memory;
	bool want_space;
	bool ending;
	bool shut;
	struct weft_path path[WEFT_MAX_PATHS];
	struct weft_arrivals arrivals;
	u32 beyond;
	bool ends;
	u32 end;
	bool news;
	u32 told_ack;
	bool owes_ack;
	unsigned long ack_due;
	struct list_head unacked;
	struct list_head waiting;
	u32 num_unacked;
	u32 bytes;
	u32 next;
	struct page_frag frag;
	u8 *stage;
	u32 staged;
	struct weft_llp *listener;
	bool told;
	struct weft_path_guest guest[WEFT_PATHS_MAX_JOINS];
	struct weft_path_addrs addrs;
	struct weft_path_home home[WEFT_PATH_MAX_ADDRS];
	u32 num_homes;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
};

static inline struct weft_paths *to_weft_paths(const struct weft_llp *llp)
{
	return container_of(llp, struct weft_paths, llp);
}

/* Returns true if segments can go over this path. */
static inline bool weft_path_is_up(const struct weft_path *path)
{
	return path->llp && path->state == WEFT_PATH_UP && !path->broken;
}

/* Returns true if no segments will come but those that are here. */
static inline bool weft_paths_all_came(const struct weft_paths *p)
{
	return p->ends && p->arrivals.gap == p->end;
}

/* What the peer is told that was taken. An end counts as soon as all before it was. */
static inline u32 weft_paths_taken(const struct weft_paths *p)
{
	return p->arrivals.turn + (p->ends && p->arrivals.turn == p->end);
}

/* Has the work run, after a delay unless it is to run sooner. Any context. */
static inline void weft_paths_soon(struct weft_paths *p, unsigned long delay)
{
	unsigned long due = jiffies + delay, flags;

	spin_lock_irqsave(&p->due_lock, flags);
	/* At once is at once, also where a timer that is due has not fired yet. */
	if (!delay || !p->is_due || time_before(due, p->due)) {
		p->is_due = true;
		p->due = due;
		mod_delayed_work(weft_workqueue, &p->work, delay);
	}
	spin_unlock_irqrestore(&p->due_lock, flags);
}

/* --- paths.c --- */

/* What an operator is shown of a path. */
struct weft_path_info {
	bool up;
	struct sockaddr_storage remote;
	struct weft_path_counts counts;
};

struct weft_llp *weft_paths_begin(struct weft_llp *first, const struct weft_paths_terms *terms,
				  const struct weft_llp_ops *ops, void *owner);
bool weft_paths_info(struct weft_llp *llp, u32 number, struct weft_path_info *info);

/* --- paths_rx.c --- */

bool weft_paths_receive(struct weft_paths *p, struct weft_path *path);
void weft_path_ack(struct weft_paths *p, struct weft_path *path);
void weft_paths_ack(struct weft_paths *p);
struct weft_arrivals *weft_paths_arrivals(struct weft_llp *llp);

/* --- paths_tx.c --- */

bool weft_paths_push(struct weft_paths *p);
void weft_paths_acked(struct weft_paths *p, u32 ack);
void weft_paths_replay(struct weft_paths *p, struct weft_path *path);
void weft_paths_forget(struct weft_paths *p);
struct weft_path *weft_paths_choose(struct weft_paths *p, u32 len);
void weft_paths_end(struct weft_paths *p);
void weft_path_let_go(struct weft_path *path);

/* --- paths_join.c --- */

extern const struct weft_llp_ops weft_paths_ops;

void weft_path_prepare(const struct weft_paths *p, struct weft_llp *llp);
void weft_path_up(struct weft_paths *p, u32 number, struct weft_llp *llp);
void weft_path_drop(struct weft_paths *p, struct weft_path *path);
void weft_path_home_failed(struct weft_paths *p, const struct weft_path *path);
int weft_paths_charge(struct weft_paths *p, struct weft_llp *llp);
int weft_paths_say(const struct weft_paths *p, struct weft_llp *llp, u8 *fpdu, u32 ulpdu_len);
bool weft_paths_control(struct weft_paths *p, struct weft_path *path, u8 *fpdu, u32 ulpdu_len);
void weft_path_addr(u8 *to, const struct sockaddr_storage *from);
u64 weft_path_proof(const struct weft_paths *p, const struct weft_path_claim *claim);
bool weft_path_proves(u64 proof, u64 right);

/* --- paths_guest.c --- */

unsigned long weft_paths_host(struct weft_paths *p);

/* --- paths_home.c --- */

bool weft_paths_told(struct weft_paths *p, const u8 *ulpdu);
bool weft_path_challenged(struct weft_paths *p, struct weft_path *path,
			  const struct weft_path_hdr *hdr, const u8 *ulpdu);
void weft_path_answer(struct weft_paths *p, struct weft_path *path);
unsigned long weft_paths_seek(struct weft_paths *p);

/* --- homes.c --- */

u32 weft_homes(struct net *net, const struct sockaddr_storage *first, u8 *addr, u32 most);

/* struct weft_llp_flow */
void weft_paths_lock(struct weft_llp *llp);
void weft_paths_unlock(struct weft_llp *llp);
void weft_paths_assert_locked(const struct weft_llp *llp);
void weft_paths_resume(struct weft_llp *llp);
u32 weft_paths_emss(struct weft_llp *llp);
u32 weft_paths_train(struct weft_llp *llp, u32 emss);
u32 weft_paths_room(struct weft_llp *llp, u32 emss);
u32 weft_paths_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len);
bool weft_paths_want_space(struct weft_llp *llp);
void weft_paths_end_segment(struct weft_llp *llp);
int weft_paths_send_page(struct weft_llp *llp, struct page *page, u32 offset,
			 u32 len, bool more);
bool weft_paths_may_lend(struct weft_llp *llp);
int weft_paths_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		    const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more);
bool weft_paths_ended(struct weft_llp *llp);
bool weft_paths_unsent(struct weft_llp *llp);
bool weft_paths_at_end(struct weft_llp *llp);
void weft_paths_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_paths_await(struct weft_llp *llp, u32 bytes);

#endif /* WEFT_LLP_PATHS_H */
