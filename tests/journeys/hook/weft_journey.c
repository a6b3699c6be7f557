// SPDX-License-Identifier: GPL-2.0
/*
 * Records which functions a module enters and leaves that was compiled with
 * -finstrument-functions, for tests/journeys/run. Needs a kernel of one processor. Debugfs's
 * weft_journey has a line for each: "+" or "-", the process, 1 in a softirq, the function. A line
 * that is written to the file stands among them; "full" at the end means that later steps are
 * missing. Never part of weft.ko.
 */
#include <linux/debugfs.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define JOURNEY_STEPS SZ_256K
#define JOURNEY_TEXT 16

struct journey_step {
  void* function; /* NULL: a text */
  pid_t pid;
  bool softirq;
  char what; /* '+', '-' */
  char text[JOURNEY_TEXT];
};

static struct journey_step* journey;
static unsigned int journey_steps;
static struct dentry* journey_file;

static void journey_note(char what, void* function) {
  unsigned long flags;

  local_irq_save(flags);
  if (journey && journey_steps < JOURNEY_STEPS)
    journey[journey_steps++] = (struct journey_step){
        .function = function,
        .pid = current->pid,
        .softirq = in_serving_softirq(),
        .what = what,
    };
  local_irq_restore(flags);
}

void __cyg_profile_func_enter(void* function, void* caller);
void __cyg_profile_func_enter(void* function, void* caller) { journey_note('+', function); }
EXPORT_SYMBOL_GPL(__cyg_profile_func_enter);

void __cyg_profile_func_exit(void* function, void* caller);
void __cyg_profile_func_exit(void* function, void* caller) { journey_note('-', function); }
EXPORT_SYMBOL_GPL(__cyg_profile_func_exit);

static int journey_show(struct seq_file* seq, void* unused) {
  unsigned int i;

  for (i = 0; i < journey_steps; i++) {
    struct journey_step* step = &journey[i];

    if (step->function)
      seq_printf(seq, "%c %d %d %ps\n", step->what, step->pid, step->softirq, step->function);
    else
      seq_puts(seq, step->text);
  }
  if (i == JOURNEY_STEPS) seq_puts(seq, "full\n");
  return 0;
}

static int journey_open(struct inode* inode, struct file* file) {
  return single_open(file, journey_show, NULL);
}

static ssize_t journey_write(struct file* file, const char __user* text, size_t length,
                             loff_t* at) {
  struct journey_step step = {};

  if (length >= JOURNEY_TEXT) return -EINVAL;
  if (copy_from_user(step.text, text, length)) return -EFAULT;
  local_irq_disable();
  if (journey_steps < JOURNEY_STEPS) journey[journey_steps++] = step;
  local_irq_enable();
  return length;
}

static const struct file_operations journey_operations = {
    .owner = THIS_MODULE,
    .open = journey_open,
    .read = seq_read,
    .write = journey_write,
    .llseek = seq_lseek,
    .release = single_release,
};

static int __init journey_init(void) {
  journey = vzalloc(array_size(JOURNEY_STEPS, sizeof(*journey)));
  if (!journey) return -ENOMEM;
  journey_file = debugfs_create_file("weft_journey", 0600, NULL, NULL, &journey_operations);
  return 0;
}
module_init(journey_init);

static void __exit journey_exit(void) {
  debugfs_remove(journey_file);
  vfree(journey);
}
module_exit(journey_exit);

MODULE_DESCRIPTION("Records the functions that weft.ko enters");
MODULE_LICENSE("GPL");
