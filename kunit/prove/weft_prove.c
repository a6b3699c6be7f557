// SPDX-License-Identifier: GPL-2.0
/*
 * Does on purpose what the checkers of the kernels in kunit/configs are for, one fault of each
 * kind. scripts/kernels/prove loads it and demands that each is told: a configuration that lost
 * a checker would find nothing wrong with anything. Never part of weft.ko.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#define PROVE_SIZE	40
#define PROVE_LEAKS	16

static DEFINE_MUTEX(prove_one);
static DEFINE_MUTEX(prove_two);
static int prove_shared;

/* KASAN: a write behind an object, and a read of one that is gone. */
static void prove_memory(void)
{
	char *bytes = kmalloc(PROVE_SIZE, GFP_KERNEL);
	size_t behind = PROVE_SIZE;

	if (!bytes)
		return;
	/* The compiler must neither know the length nor leave the access out. */
	OPTIMIZER_HIDE_VAR(behind);
	OPTIMIZER_HIDE_VAR(bytes);
	WRITE_ONCE(bytes[behind], 1);
	kfree(bytes);
	OPTIMIZER_HIDE_VAR(bytes);
	(void)READ_ONCE(bytes[0]);
}

/* kmemleak: objects that nobody knows any more; several, as a word of the stack may hold one. */
static noinline void prove_leak(void)
{
	int i;

	for (i = 0; i < PROVE_LEAKS; i++) {
		char *lost = kmalloc(PROVE_SIZE, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(lost);
	}
}

/* DEBUG_ATOMIC_SLEEP: a sleep where there must be none. */
static void prove_sleep(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
}

/* lockdep: two locks, taken in either order. */
static void prove_locks(void)
{
	mutex_lock(&prove_one);
	mutex_lock(&prove_two);
	mutex_unlock(&prove_two);
	mutex_unlock(&prove_one);

	mutex_lock(&prove_two);
	mutex_lock(&prove_one);
	mutex_unlock(&prove_one);
	mutex_unlock(&prove_two);
}

static int prove_writer(void *unused)
{
	while (!kthread_should_stop()) {
		prove_shared++;
		cond_resched();
	}
	return 0;
}

/*
 * KCSAN: a variable that two threads change without a lock or a mark. Long enough for both
 * processors of a lab to be at it at once on a busy machine, else only one side may be told.
 */
static noinline void prove_race(void)
{
	unsigned long end = jiffies + 20 * HZ;
	struct task_struct *writer = kthread_run(prove_writer, NULL, "prove_writer");

	if (IS_ERR(writer))
		return;
	while (time_before(jiffies, end)) {
		prove_shared++;
		cond_resched();
	}
	kthread_stop(writer);
}

static int __init prove_init(void)
{
	/* What KASAN finds turns lockdep off. */
	prove_locks();
	if (IS_ENABLED(CONFIG_KCSAN))
		prove_race();
	prove_sleep();
	prove_leak();
	prove_memory();
	return 0;
}

static void __exit prove_exit(void)
{
}

module_init(prove_init);
module_exit(prove_exit);
MODULE_DESCRIPTION("Faults on purpose, to prove that a debug kernel finds them");
MODULE_LICENSE("GPL");
