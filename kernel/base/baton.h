/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lock that work of a workqueue tries and never waits for.
 *
 * A thread of a process may hold such a lock, and be preempted there for as long as its
 * cgroup's quota and its scheduling class want. If work waited for the lock, a few throttled
 * threads would hold every place on the workqueues. So work that finds the lock taken leaves
 * word and returns, and the holder starts that work when it lets the lock go.
 *
 * No word is lost. Either the holder of the lock sees the word, or the work has the lock:
 *
 *	work						holder
 *	mutex_trylock() finds the lock taken		mutex_unlock()
 *	atomic_long_fetch_or(), a full barrier		smp_mb()
 *	mutex_trylock() finds the lock taken		atomic_long_read() finds no word
 *
 * cannot happen: it is the shape SB+mbs of tools/memory-model, with the mutex as one variable
 * and the word as the other.
 *
 * Nobody starves. A word stays until its work has the lock, and while there is a word, work
 * without one is refused. So a thread that lets the lock go and tries it again comes behind the
 * work that left word meanwhile.
 */
#ifndef WEFT_BATON_H
#define WEFT_BATON_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

/* A lock, and the work that is to have it next. */
struct weft_baton {
	struct mutex mutex; /* the lock */
	/* a bit for each work that found the lock taken; cleared when the work has the lock */
	atomic_long_t wanted;
};

#define weft_baton_init(baton) do {			\
	struct weft_baton *new_baton = (baton);		\
							\
	mutex_init(&new_baton->mutex);			\
	atomic_long_set(&new_baton->wanted, 0);		\
} while (0)

/* Waits for the lock. For a thread that pays for its wait itself. Process context, may sleep. */
static inline void weft_baton_lock(struct weft_baton *baton)
{
	mutex_lock(&baton->mutex);
}

/* Takes the lock if it is free and no work has left word, and leaves none. Process context. */
static inline bool weft_baton_grab(struct weft_baton *baton)
{
	return !atomic_long_read(&baton->wanted) && mutex_trylock(&baton->mutex);
}

bool weft_baton_try(struct weft_baton *baton, unsigned int work);
unsigned long weft_baton_unlock(struct weft_baton *baton);

/*
 * Takes the word of work back that will not come for the lock any more. The caller holds the lock,
 * and starts what else has left word when it lets the lock go.
 */
static inline void weft_baton_forget(struct weft_baton *baton, unsigned int work)
{
	lockdep_assert_held(&baton->mutex);
	/* A full barrier, for weft_baton_try(). */
	atomic_long_fetch_andnot(BIT(work), &baton->wanted);
}

/* For work of the module. Unbound, because work may copy much while its poster goes on. */
extern struct workqueue_struct *weft_workqueue;
/*
 * On the poster's processor, in the pool of the RDMA core's completions: transmit workers of kernel
 * consumers that would only wait for another thread; see weft_qp_kick().
 */
extern struct workqueue_struct *weft_near_workqueue;

#endif /* WEFT_BATON_H */
