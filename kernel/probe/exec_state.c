// SPDX-License-Identifier: GPL-2.0
/* From 7.2, dumpability belongs to the task's exec_state, not to its memory. */
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/exec_state.h>

enum task_dumpable weft_probe(struct task_struct *task);
enum task_dumpable weft_probe(struct task_struct *task)
{
	return rcu_access_pointer(task->exec_state)->dumpable;
}
