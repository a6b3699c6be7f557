/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Several TCP connections, each a path, as one stream: a class of lower layers (wire/path.h).
 * The stream begins on a connection whose MPA handshake is over; further paths join and leave.
 *
 * The engine's FPDUs have no CRCs and markers. Each becomes a numbered frame on one path. The
 * sender keeps a frame until the peer's engine has taken it, and retransmits it on another path
 * if its own breaks. Frames overtake each other, so the receiver sorts them (arrivals.h).
 */
#ifndef WEFT_PATHS_H
#define WEFT_PATHS_H

#include <linux/mm_types_task.h>
#include <linux/workqueue.h>

#include "base/baton.h"
#include "base/counters.h"
#include "llp/arrivals.h"
#include "llp/llp.h"
#include "llp/transport.h"
#include "wire/path.h"

struct in6_addr;
struct mem_cgroup;

extern const struct weft_llp_class weft_paths_class;

/* Limit on connections whose proof has not come yet. */
#define WEFT_PATHS_MAX_JOINS	4
/* Bytes of a frame before its type's own. */
#define WEFT_PATH_HEAD		(WEFT_MPA_LEN + WEFT_PATH_HDR_LEN)
/* Polling interval while work is pending that makes no event. */
#define WEFT_PATHS_TICK		(HZ / 20 + 1)
/* Frames taken after which an ack is sent at once, if no data goes back. */
#define WEFT_PATHS_ACK_FRAMES	64
/* Limit for each half of a join: TCP's handshake, and the frames behind it. */
#define WEFT_PATHS_JOIN_TIME	(3 * HZ)

/* A frame that is kept until the peer's engine has taken it. */
struct weft_path_frame {
	struct list_head unacked;	/* in the stream's list */
	/* in the stream's list of frames without a path; else empty */
	struct list_head waiting;
	u32 users;	/* references: the list, and a path that sends it */
	u32 ssn;	/* its number */
	u32 len;
	bool sent;	/* a path has had it, so that the peer may have taken it */
	u32 path;	/* the path that has it, if it is not in @waiting */
	/* its bytes, with a reference. They never change, because TCP may still have them */
	struct page *page;
	u32 offset;	/* where in @page */
};

enum weft_path_state {
	WEFT_PATH_CONNECTING,	/* initiator: TCP's handshake */
	WEFT_PATH_ASKED,	/* initiator: has sent a join, and awaits the challenge */
	WEFT_PATH_CHALLENGED,	/* initiator: the challenge was right; answer it */
	WEFT_PATH_UP,
};

/* A path, or room for one. */
struct weft_path {
	struct weft_llp *llp;	/* its TCP connection; NULL: none */
	enum weft_path_state state;	/* only meaningful with @llp */
	bool broken;	/* drop it */
	bool heard;	/* a frame has come since it was up: the peer counts it as a path, too */
	bool stalled;	/* the peer's TCP does not acknowledge */
	u32 una;	/* TCP's first unacknowledged byte... */
	/* ... at this time, in jiffies; before the path is up, when it was begun */
	unsigned long since;
	u32 home;	/* initiator: index of the address it leads to */
	u64 nonce;	/* initiator: of the join */
	u64 answer;	/* initiator: the proof for the challenge */
	/* the frame that is being sent, with a reference; NULL: none */
	struct weft_path_frame *current_frame;
	u32 at;	/* bytes of it that were sent */
	/* length field and header of the frame that is being received */
	u8 head[WEFT_PATH_HEAD];
	u32 have;	/* bytes of that frame that are here */
	/* the frame's bytes behind @head; NULL: @head is not complete */
	struct weft_arrival *coming;
	struct sockaddr_storage remote;	/* the address it leads to, or led */
	struct weft_path_counts counts;
};

/* A connection to the responder that is no path yet. */
struct weft_path_guest {
	struct weft_llp *llp;	/* the connection; NULL: none */
	unsigned long since;	/* when it was accepted */
	u8 buf[WEFT_PATH_JOIN_ROOM];	/* its join, or its answer */
	u32 have;	/* bytes in @buf */
	bool asked;	/* its join has come, and was answered by a challenge */
	u32 number;	/* number of the path that it asked for */
	u64 proof;	/* the proof that makes it a path */
};

/* One of the peer's addresses: when to connect there again, and whether it worked before. */
struct weft_path_home {
	struct sockaddr_storage addr;
	unsigned long next_try;
	u32 failures;
	bool good;
};

enum weft_paths_out {
	WEFT_PATHS_FLOWS,
	WEFT_PATHS_ENDING,	/* the frame that ends it needs memory */
	WEFT_PATHS_SHUT,	/* that frame is queued or sent */
};

/* The stream. @lock protects all fields that do not say otherwise. */
struct weft_paths {
	struct weft_llp llp;	/* the stream, for its owner */
	const struct weft_llp_class *below;	/* the class of its paths: TCP, or a test's */
	struct weft_spread_terms terms;	/* fixed but for the timeouts */
	u32 wanted;	/* how many paths this end wishes. Fixed */
	struct net *net;	/* the namespace of all its sockets, with a reference */
	/* the memory cgroup that is charged, with a reference, or NULL */
	struct mem_cgroup *memcg;
	struct weft_baton lock;	/* the stream's lock. Taken before the locks of its sockets */
	/* handles all events of its sockets. Never waits for @lock */
	struct delayed_work work;
	spinlock_t due_lock;	/* protects @is_due and @due; innermost, any context */
	bool is_due;	/* @work is queued and has not begun... */
	unsigned long due;	/* ... for this time, in jiffies */
	bool resumed;	/* call the owner's readable event even if no frame came. Atomic */
	enum weft_llp_state state;	/* the connection's state for the owner. Read by anyone */
	int error;	/* as in struct weft_sctp. The owner takes it without @lock */
	bool fault;	/* the peer has broken the rules */
	bool short_of_memory;	/* an allocation failed; retry */
	bool want_space;	/* a send found no room */
	enum weft_paths_out out;	/* our direction */
	/* the paths, by number. The first connection is number 0 */
	struct weft_path path[WEFT_MAX_PATHS];
	struct weft_arrivals arrivals;	/* received segments that the engine has not taken */
	u32 beyond;	/* number behind the last one received */
	bool ends;	/* the peer has ended the stream... */
	u32 end;	/* ... so that no segment has this number or a later one */
	bool news;	/* a segment or the end has come, and the owner has had no event for it */
	u32 sent_ack;	/* the last ack sent */
	bool owes_ack;	/* another ack has to be sent... */
	unsigned long ack_due;	/* ... at this time, in jiffies */
	struct list_head unacked;	/* frames that were sent or wait, in order */
	struct list_head waiting;	/* those of @unacked without a path, in order */
	u32 num_unacked;	/* length of @unacked. Read by anyone */
	u32 bytes;	/* bytes of the frames in @unacked */
	u32 next;	/* number of the next frame */
	struct page_frag frag;	/* page from which small frames are allocated */
	/* beginning of an FPDU whose rest the engine has not handed over; NULL: never used */
	u8 *partial;
	u32 partial_len;	/* bytes in @partial. Read by anyone */
	struct weft_llp *listener;	/* responder: accepts joins; NULL: none */
	/* responder: has sent the frame of addresses, or cannot; initiator: has received it */
	bool addrs_done;
	struct weft_path_guest guest[WEFT_PATHS_MAX_JOINS];	/* responder: joins under way */
	struct weft_path_addrs addrs;	/* the key, and the contents of that frame */
	/* initiator: the peer's addresses */
	struct weft_path_home home[WEFT_PATH_MAX_ADDRS];
	u32 num_homes;	/* how many */
	struct sockaddr_storage local;	/* this end's address on the first path */
	struct sockaddr_storage remote;	/* the peer's address on the first path */
};

static inline struct weft_paths *to_weft_paths(const struct weft_llp *llp)
{
	return container_of(llp, struct weft_paths, llp);
}

static inline bool weft_path_is_up(const struct weft_path *path)
{
	return path->llp && path->state == WEFT_PATH_UP && !path->broken;
}

/* Returns true if no more segments will come. */
static inline bool weft_paths_all_came(const struct weft_paths *p)
{
	return p->ends && p->arrivals.gap == p->end;
}

/* A failed stream has not ended, or its owner would take the failure for an orderly end. */
static inline bool weft_paths_ended(const struct weft_paths *p)
{
	return p->state != WEFT_LLP_DEAD && weft_paths_all_came(p);
}

/* Returns the ack: the first number not taken. An end counts as soon as all before it are taken. */
static inline u32 weft_paths_taken(const struct weft_paths *p)
{
	return p->arrivals.turn + (p->ends && p->arrivals.turn == p->end);
}

/* Queues the work, unless it will run sooner anyway. Any context. */
static inline void weft_paths_soon(struct weft_paths *p, unsigned long delay)
{
	unsigned long due = jiffies + delay, flags;

	spin_lock_irqsave(&p->due_lock, flags);
	/* A timer that is due may not have fired yet. Work that is queued keeps its place. */
	if (!p->is_due || time_before(due, p->due) ||
	    (!delay && timer_pending(&p->work.timer))) {
		p->is_due = true;
		p->due = due;
		mod_delayed_work(weft_workqueue, &p->work, delay);
	}
	spin_unlock_irqrestore(&p->due_lock, flags);
}

/*
 * The module's parameters. Each is written on its own, without a lock, and read once by each new
 * stream.
 */
struct weft_paths_settings {
	u32 paths;	/* how many paths a new stream wishes, 1 to WEFT_MAX_PATHS */
	bool out_of_order;	/* messages are placed that come before their turn */
};

extern struct weft_paths_settings weft_paths_settings;

/* --- stream.c: how the stream begins and ends, and its events --- */

struct weft_llp *weft_paths_begin(struct weft_llp *first, const struct weft_spread_terms *terms,
				  const struct weft_llp_ops *ops, void *owner);

/* --- receive.c --- */

bool weft_paths_receive(struct weft_paths *p, struct weft_path *path);
void weft_path_ack(struct weft_paths *p, struct weft_path *path);
void weft_paths_ack(struct weft_paths *p);

/* --- send.c: transmission, and the choice of a path --- */

bool weft_paths_push(struct weft_paths *p);
void weft_paths_acked(struct weft_paths *p, u32 ack);
void weft_paths_replay(struct weft_paths *p, struct weft_path *path);
void weft_paths_forget(struct weft_paths *p);
struct weft_path *weft_paths_choose(struct weft_paths *p, u32 len);
void weft_paths_finish(struct weft_paths *p);
void weft_path_let_go(struct weft_path *path);

/* --- join.c: how paths join and leave --- */

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

/* --- guest.c: the responder --- */

unsigned long weft_paths_host(struct weft_paths *p);

/* --- home.c: the initiator --- */

bool weft_paths_take_addrs(struct weft_paths *p, const u8 *ulpdu);
bool weft_path_challenged(struct weft_paths *p, struct weft_path *path,
			  const struct weft_path_hdr *hdr, const u8 *ulpdu);
void weft_path_answer(struct weft_paths *p, struct weft_path *path);
unsigned long weft_paths_seek(struct weft_paths *p);

/* struct weft_llp_flow */
void weft_paths_lock(struct weft_llp *llp);
void weft_paths_unlock(struct weft_llp *llp);
void weft_paths_assert_locked(const struct weft_llp *llp);
void weft_paths_resume(struct weft_llp *llp);
u32 weft_paths_emss(struct weft_llp *llp);
bool weft_paths_want_space(struct weft_llp *llp);
int weft_paths_send_page(struct weft_llp *llp, struct page *page, u32 offset, u32 len, bool more);
bool weft_paths_unsent(struct weft_llp *llp);
enum weft_llp_end weft_paths_end(struct weft_llp *llp);
void weft_paths_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_paths_await(struct weft_llp *llp, u32 bytes);

#endif /* WEFT_PATHS_H */
