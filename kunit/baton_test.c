// SPDX-License-Identifier: GPL-2.0
/* The lock that work tries: no word is lost, and nobody starves. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>

#include "base/baton.h"
#include "suite.h"

#define WORKERS	3
#define ROUNDS	5000

static struct weft_baton *baton_new(struct kunit *test)
{
	struct weft_baton *baton = zeroed(test, sizeof(*baton));

	weft_baton_init(baton);
	return baton;
}

/* A free lock is had at once, and leaves no word. */
CASE_WITH(baton_free, struct weft_baton *baton, baton_new(test))
{
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 3));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), 0UL);
	KUNIT_EXPECT_TRUE(test, weft_baton_grab(baton));
	KUNIT_EXPECT_FALSE(test, weft_baton_grab(baton));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), 0UL);
	weft_baton_lock(baton);
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), 0UL);
}

/* The holder hears of all who left word, again and again until each has had the lock. */
CASE_WITH(baton_word, struct weft_baton *baton, baton_new(test))
{
	weft_baton_lock(baton);
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 0));
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 5));
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 5));
	KUNIT_EXPECT_TRUE(test, atomic_long_read(&baton->wanted));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(0) | BIT(5));
	/* A thread that may wait comes between. */
	weft_baton_lock(baton);
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 5));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(0) | BIT(5));
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 5));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(0));
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 0));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), 0UL);
}

/* Whoever had the lock comes behind the work that left word, and its own word is heard then. */
CASE_WITH(baton_order, struct weft_baton *baton, baton_new(test))
{
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 0));
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 1));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(1));
	KUNIT_EXPECT_FALSE(test, weft_baton_grab(baton));
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 0));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&baton->mutex));
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 1));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(0));
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 1));
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 0));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(1));
}

/* The word of work that will not come is taken back, and keeps nobody out. */
CASE_WITH(baton_forget, struct weft_baton *baton, baton_new(test))
{
	weft_baton_lock(baton);
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 1));
	KUNIT_EXPECT_FALSE(test, weft_baton_try(baton, 2));
	weft_baton_forget(baton, 1);
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), BIT(2));
	KUNIT_EXPECT_TRUE(test, weft_baton_try(baton, 2));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), 0UL);
	KUNIT_EXPECT_TRUE(test, weft_baton_grab(baton));
	KUNIT_EXPECT_EQ(test, weft_baton_unlock(baton), 0UL);
}

/* Threads that try one lock at once. */
struct race {
	struct weft_baton baton;	/* the lock */
	u64 inside;	/* written under the lock without any care for other processors */
	/* what tries, and starts itself again until it had its rounds */
	struct work_struct work[WORKERS];
	u32 rounds[WORKERS];	/* how often each had the lock */
	u64 greedy;	/* how often a thread had it that takes it whenever it can */
};

static struct race *race; /* a case at a time */

static void pass(void)
{
	unsigned long wanted = weft_baton_unlock(&race->baton);

	for (int who = 0; who < WORKERS; who++)
		if (wanted & BIT(who))
			queue_work(system_unbound_wq, &race->work[who]);
}

static void race_work(struct work_struct *work)
{
	int who = work - race->work;

	if (!weft_baton_try(&race->baton, who))
		return;
	race->inside++;
	if (++race->rounds[who] < ROUNDS)
		queue_work(system_unbound_wq, work);
	pass();
}

static int race_greedy(void *unused)
{
	while (!kthread_should_stop()) {
		if (weft_baton_grab(&race->baton)) {
			race->inside++;
			race->greedy++;
			pass();
		}
		cond_resched();
	}
	return 0;
}

static bool race_over(void)
{
	for (int who = 0; who < WORKERS; who++)
		if (READ_ONCE(race->rounds[who]) < ROUNDS)
			return false;
	return true;
}

/*
 * Work that starts itself once per round, and that nobody else starts: one word that was lost, or
 * one that is never heard before the greedy thread, would stop it. On two processors by
 * kunit/run --smp.
 */
static void baton_race(struct kunit *test)
{
	struct task_struct *greedy;
	u64 sum = 0;

	race = zeroed(test, sizeof(*race));
	weft_baton_init(&race->baton);
	greedy = must(test, kthread_run(race_greedy, NULL, "weft_kunit_greedy"));
	for (int who = 0; who < WORKERS; who++) {
		INIT_WORK(&race->work[who], race_work);
		queue_work(system_unbound_wq, &race->work[who]);
	}
	for (int ms = 0; ms < 60000 && !race_over(); ms += 20)
		msleep(20);
	kthread_stop(greedy);
	for (int who = 0; who < WORKERS; who++) {
		cancel_work_sync(&race->work[who]);
		KUNIT_EXPECT_EQ_MSG(test, race->rounds[who], ROUNDS, "work %d", who);
		sum += race->rounds[who];
	}
	KUNIT_EXPECT_EQ(test, race->inside, sum + race->greedy);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&race->baton.wanted), 0UL);
	kunit_info(test, "the greedy thread had the lock %llu times beside\n", race->greedy);
}

A_SUITE(baton, no, baton_free, baton_word, baton_order, baton_forget, baton_race);
