// SPDX-License-Identifier: GPL-2.0
/* A lock that work tries and never waits for; see baton.h. */
#include "base/baton.h"

/*
 * Takes the lock, or leaves word for @work, a number below BITS_PER_LONG: then another thread has
 * the lock or is to have it first, and weft_baton_unlock() returns @work to that thread. Does not
 * sleep.
 */
bool weft_baton_try(struct weft_baton *baton, unsigned int work)
{
	unsigned long wanted = atomic_long_read(&baton->wanted);
	bool taken;

	/* Work that had to leave word was started for the lock, and may have it now. */
	taken = (!wanted || (wanted & BIT(work))) && mutex_trylock(&baton->mutex);
	if (!taken) {
		/* Pairs with the barrier in weft_baton_unlock(). */
		wanted = atomic_long_fetch_or(BIT(work), &baton->wanted);
		/* Other work with a word has the lock first, and sees this word at its unlock. */
		taken = !(wanted & ~BIT(work)) && mutex_trylock(&baton->mutex);
	}
	/* A full barrier: the work sees what led to each word that it takes back. */
	if (taken && unlikely(atomic_long_read(&baton->wanted)))
		weft_baton_forget(baton, work);
	return taken;
}

/*
 * Lets the lock go, which the caller keeps from being freed. Returns a bit for each work that left
 * word, which the caller starts.
 */
unsigned long weft_baton_unlock(struct weft_baton *baton)
{
	lockdep_assert_held(&baton->mutex);
	mutex_unlock(&baton->mutex);
	smp_mb(); /* pairs with the fetch_or in weft_baton_try() */
	return atomic_long_read(&baton->wanted);
}
