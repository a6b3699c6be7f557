/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: tasks. */
#ifndef WEFT_COMPAT_TASK_H
#define WEFT_COMPAT_TASK_H

#include <linux/rcupdate.h>
#include <linux/sched/coredump.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#ifdef HAVE_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif

/*
 * Returns true if a user's other processes may look into a task's program: it gave up no rights
 * since its start and does not forbid it. ptrace_may_access() is not exported. Older kernels have
 * the flag in the memory map, so a program that has ended returns false. Does not sleep.
 */
#ifdef HAVE_EXEC_STATE
static inline bool weft_task_is_dumpable(struct task_struct *task)
{
	bool dumpable;

	rcu_read_lock();
	dumpable = READ_ONCE(rcu_dereference(task->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return dumpable;
}
#else
static inline bool weft_task_is_dumpable(struct task_struct *task)
{
	struct task_struct *thread;
	bool dumpable = false;
	struct mm_struct *mm;

	/* @task may have exited before other threads of its process. */
	rcu_read_lock();
	for_each_thread(task, thread) {
		task_lock(thread); /* rather than get_task_mm(), since mmput() may sleep */
		mm = thread->mm;
		if (mm)
			dumpable = get_dumpable(mm) == SUID_DUMP_USER;
		task_unlock(thread);
		if (mm)
			break;
	}
	rcu_read_unlock();
	return dumpable;
}
#endif

#endif /* WEFT_COMPAT_TASK_H */
