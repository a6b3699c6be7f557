# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of a stretch went, by group of functions and by function, as QEMU's plugin (perf/count) has counted them. A
function belongs to the first group that knows its name; one of Weft's that does not begin with weft_ is local to a file, and belongs
where the file does.

QEMU counts each step of a string instruction as an instruction, and a locked one as any other. So the counts are given once more at the
prices of a real processor, perf/prices.json: the other instructions as they are, and these at their prices there, with the memory hot, in
the third cache and cold.
"""
import bisect
import functools
import json
import re

from perflib.tables import LEVELS, PERF, PROJECT

# Name, meaning, functions. The order decides. The kernel's helpers (locks, copies, memory)
# belong to their callers, which counting by address can't tell: they are groups of their own.
GROUPS = [
    ("copy", "copying bytes and CRC32C", r"^(copy_user_|rep_movs|rep_stos|memcpy|__memcpy|memcpy_erms|memcpy_orig|memmove|__memmove|"
     r"memset|__memset|_copy_(to|from)_iter|_copy_(to|from)_user|copy_page|clear_page|clear_user|crc32c|crc_pcl|__copy_user|skb_copy_bits|"
     r"skb_copy_datagram|simple_copy_to_iter|__skb_datagram_iter|copyin|copyout|full_proc|proc_block|__check_object_size|check_heap_object|__virt_addr_valid|crc_\d|loop_|continue_)"),
    ("weft tx", "Weft: laying out and sending", r"^(weft_tx|weft_chunk|weft_loan|weft_plan|weft_ddp_encode|weft_tcp_send|weft_tcp_room|weft_sq|weft_qp_doorbell|"
     r"weft_post_send|weft_mr_read|weft_encode|weft_mpa_)"),
    ("weft rx", "Weft: reading and placing", r"^(weft_rx|weft_ddp|weft_place|weft_packet|weft_tcp_read|weft_mr_write|weft_recv)"),
    ("weft cq", "Weft: completions", r"^(weft_cq|weft_req_notify|weft_complete)"),
    ("weft", "Weft: keys, regions, rings, the rest", r"^weft_|\[weft\]$"),
    ("rdma", "the RDMA core: uverbs, completion channels", r"\[(ib_uverbs|ib_core|rdma_cm|rdma_ucm|iw_cm)\]$"),
    ("consumer", "NVMe, NFS, the block layer", r"\[(nvme|nvme_core|nvme_fabrics|nvme_rdma|nvme_tcp|nvmet|nvmet_rdma|nvmet_tcp|null_blk|rpcrdma|sunrpc|nfsd|nfs|nfsv4|rdma_rw)\]$|"
     r"^(blk_|__blk|bio_|blkdev_|submit_bio|__submit|null_|aio_|io_submit|io_getevents|read_events|dio_|iomap_|sbitmap|__sbitmap|rdma_rw|sg_|__sg|bvec|disk_|part_|elv_|dd_|iov_iter_get|gup_|internal_get|pin_user|unpin|update_io_ticks)"),
    ("siw", "siw", r"\[siw\]$"),
    ("rxe", "rxe", r"\[rdma_rxe\]$"),
    ("wait", "scheduling, waking, polling", r"^(schedule|__schedule|try_to_wake|ttwu|wake_up|__wake_up|autoremove_wake|default_wake|pick_next|put_prev|set_next|"
     r"enqueue_|dequeue_|update_curr|update_load|update_rq|update_min|update_cfs|__update_load|check_preempt|resched|switch_|__switch|finish_task|prepare_task|context_switch|select_task|select_idle|"
     r"available_idle|cpuacct|__cgroup_account|psi_|do_idle|cpu_idle|cpuidle|default_idle|arch_cpu_idle|tick_nohz|rcu_|__rcu|note_gp|srcu|__srcu|hrtimer|__hrtimer|timerqueue|ktime|tick_|timekeeping|"
     r"clockevents|lapic|sched_|place_entity|yield|prepare_to_wait|finish_wait|add_wait|remove_wait|wait_woken|woken_wake|sk_wait|schedule_timeout|ep_|do_epoll|__x64_sys_epoll|poll_|do_poll|do_sys_poll|"
     r"kthread|worker|process_one_work|queue_work|__queue|insert_work|pwq|get_work|set_work|need_resched|preempt|native_sched|sched|cpu_startup|do_sched|calc_delta|reweight|__calc|__enqueue|__dequeue|"
     r"__entity|update_sd|set_task|save_fpregs|fpregs|switch_fpu|native_load|enter_lazy|load_new_mm|cr4_|cookie|native_safe_halt|asm_sysvec|sysvec|irqentry|irq_enter|irq_exit|reschedule|call_function|"
     r"menu_|get_typical|nohz|mwait|quiet_vmstat|need_update|cpumask|flush_smp|__flush_smp|wq_|newidle|load_balance|perf_event|__perf|task_tick|account_|vtime|cgroup|mem_cgroup_account|acct_)"),
    ("tcp in", "TCP and IP: receiving, acknowledging", r"^(tcp_v4_rcv|tcp_v4_do_rcv|tcp_rcv|tcp_data|tcp_queue_rcv|tcp_ack|tcp_clean|tcp_event_data|tcp_recvmsg|__tcp_recv|tcp_read|tcp_recv|tcp_eat|"
     r"tcp_cleanup_rbuf|tcp_rate_|tcp_rtt|tcp_update|tcp_validate|tcp_try_coalesce|tcp_grow|__tcp_select|tcp_select|tcp_in_|tcp_fast_path|tcp_urg|tcp_prequeue|tcp_add_backlog|tcp_filter|tcp_parse|tcp_check_space|tcp_new_space|tcp_send_ack|__tcp_send_ack|"
     r"tcp_send_delayed|__tcp_ack_snd|tcp_measure|tcp_rearm|tcp_xmit_recovery|tcp_newly|tcp_mstamp|ip_rcv|ip_local|ip_protocol|ip_sublist|ip_list|tcp_v4_early|tcp_v4_fill|inet_ehash|__inet_lookup|sock_def_readable|sock_def_write|sk_stream_write|"
     r"tcp_gro|tcp4_gro|inet_gro|dev_gro|napi_|gro_|skb_gro|udp_gro|tcp_data_ready|sock_recvmsg|inet_recvmsg|tcp_rack|tcp_cong|bictcp|cubictcp|tcp_reno|tcp_rcv_space|inet_csk_delack|skb_try_coalesce|lookup|sk_filter|tcp_v4_inbound|tcp_inbound|security_sock_rcv|tcp_stream_memory|tcp_poll|tcp_bpf|tcp_urg|tcp_splice|tcp_peek|tcp_skb)"),
    ("tcp out", "TCP and IP: sending", r"^(tcp_|__tcp|do_tcp|ip_|__ip_|inet_|ipv4_|sk_stream|sk_forced|sk_page|sock_sendmsg|inet_sendmsg|kernel_send|sk_reset|sk_wmem|sock_wfree|sk_setup|sk_dst|dst_|rt_|fib_|raise_|ip4|nf_|nft_|netlbl|skb_entail|skb_split|skb_shift|security_sock|ipt_|bbr_|fq_)"),
    ("device", "the queue to the device, veth, softirq", r"^(veth|dev_|__dev|netif|__netif|net_rx|net_tx|process_backlog|napi|__napi|enqueue_to_backlog|validate_xmit|sch_direct|qdisc|pfifo|noqueue|xmit_|eth_|neigh|"
     r"do_softirq|__do_softirq|__local_bh|invoke_softirq|handle_softirq|skb_scrub|skb_clone_tx|skb_tx|skb_orphan|harmonize|passthru|skb_csum|skb_network|get_rps|skb_mac|is_skb_forward|____dev_forward|bpf_|skb_warn|sock_tx|__sock_tx|ktime_get_real|packet_|tpacket|ksoftirqd|run_ksoftirqd|__raise_soft|raise_softirq|wakeup_softirqd|netdev_|__skb_flow|skb_get_hash|__skb_get|generic_xdp|do_xdp|_local_bh)|\[veth\]$"),
    ("memory", "packet buffers, allocation, pages", r"^(skb_|__skb|alloc_skb|__alloc_skb|kfree_skb|kfree|kmalloc|kmem_cache|__kmalloc|__kmem|__slab|___slab|slab_|get_partial|put_cpu|free_|__free|alloc_|__alloc|page_|put_page|__put_page|get_page|"
     r"sock_alloc|sock_rfree|sock_wmalloc|mod_|__mod|lruvec|cache_from|build_skb|consume_skb|napi_skb|__build|__ksize|ksize|kmemdup|should_fail|memcg|get_obj|obj_cgroup|refill_|mem_cgroup|folio_|rmqueue|prep_|"
     r"zone|__zone|get_pfnblock|pfn_|prepare_alloc|get_page_from|__rmqueue|discard_slab|__unfreeze|deactivate|unlock_page|release_pages|__folio|pmd_|pte_|handle_mm|__handle|do_user_addr|exc_page|lru_|vm_normal|kmap|compound)"),
    ("locks", "locks and reference counts", r"^(_raw_|__raw_|mutex|__mutex|lock_sock|release_sock|__lock_sock|__release_sock|refcount|native_queued|queued_|up_|down_|rwsem|__ww|__local_bh_enable|sock_|xa_|xas_|percpu|osq|rtmutex|spin_|sk_)"),
    ("syscall", "entering and leaving the kernel", r"^(entry_|do_syscall|syscall_|__x64_sys|__se_sys|__do_sys|ksys|vfs_|__fget|__fdget|fdget|fput|fget|sockfd|__sys|____sys|___sys|new_sync|rw_verify|security_|apparmor|aa_|"
     r"exit_to_user|__get_user|__put_user|import_|iov_iter|do_iter|copy_msghdr|move_addr|audit|x64_sys|asm_|error_|common_interrupt|ret_from|sync_regs|fixup|restore|__audit|exc_|native_iret|swapgs|paranoid|iovec|__import|sock_write_iter|sock_read_iter|fsnotify|__fsnotify|do_sys|clock_gettime|read_tsc|kvm_clock|__rseq|rseq|mnt_)"),
]
PATTERNS = [(name, what, re.compile(pattern)) for name, what, pattern in GROUPS]
WHAT = {"user": "programs and libraries"} | {name: text for name, text, _ in GROUPS} | {"other": "the rest of the kernel"}
KERNEL = 1 << 63
PRICES = PERF / "prices.json"
BYTES = ("copied_b", "copied_q", "cleared", "checked")
COLUMNS = ("copied_b", "copied_q", "cleared", "strings", "checked", "locked", "steps") # as the plugin writes them
# Functions whose beginnings are counted: another process's turn, and interrupts of other processors.
EVENTS = {"switches": ("__switch_to_asm",), "wakes_other": ("native_smp_send_reschedule", "native_send_call_func_single_ipi")}
SOURCE = PROJECT / "kernel"
# Where Weft's functions belong, by the beginning of their file's name in kernel/. What is left to the
# patterns above: wire/ and llp/, which both directions use, and functions of an older tree.
FILES = {"tx/": "weft tx", "engine/consumer": "weft", "engine/": "weft tx", "rx/": "weft rx", "mpa/": "weft rx", "llp/packet": "weft rx",
         "queue/cq": "weft cq", "pair/inflight": "weft cq", "": "weft"}
DEFINED = re.compile(r"^[a-z][^;={}()]*?\b(\w+)\([^;{}]*\)(?:\n\t__\w+\([^)]*\))?\n\{", re.M)


@functools.cache
def file_groups():
    """The group of each function by its file; the rest if files disagree."""
    found = {}
    for path in SOURCE.rglob("*.c"):
        name = path.relative_to(SOURCE).as_posix()
        group = next(group for start, group in FILES.items() if name.startswith(start))
        for function in DEFINED.findall(path.read_text(encoding="utf-8")):
            found[function] = group if found.get(function, group) == group else "weft"
    return found


def symbols(path):
    """Addresses in order, and names; a module's functions carry it in brackets."""
    table = []
    with open(path, encoding="ascii") as file:
        for line in file:
            address, kind, name, *module = line.split()
            if kind in "tTwW":
                table.append((int(address, 16), name + (" " + module[0] if module else "")))
    table.sort()
    return [entry[0] for entry in table], [entry[1] for entry in table]


def group_of(name):
    module = name.partition(" ")[2]
    if module in ("[weft]", "[siw]", "[rdma_rxe]"):
        if module != "[weft]":
            return "siw" if module == "[siw]" else "rxe"
        # The compiler puts .isra.0 and the like behind the name of a copy that it made.
        local = re.split(r"[ .]", name)[0]
        group = file_groups().get(local, "weft")
        if group != "weft" or not local.startswith("weft_"):
            return group
        return next(g for g, _, p in PATTERNS if g.startswith("weft") and p.search(name))
    return next((g for g, _, p in PATTERNS if not g.startswith("weft") and p.search(name)), "other")


def function(address, starts, names):
    return names[max(bisect.bisect_right(starts, address) - 1, 0)] if address >= KERNEL else "user space"


def beginnings(starts, names):
    """Addresses at which an event that is counted begins."""
    return {start: event for start, name in zip(starts, names) for event, of in EVENTS.items() if name in of}


def count(path, starts, names):
    """Instructions by function, and totals: of instructions, of each kind of byte and of each kind of event."""
    functions, totals = {}, dict.fromkeys(("instructions", *COLUMNS, *EVENTS), 0)
    events = beginnings(starts, names)
    with open(path, encoding="ascii") as file:
        for line in file:
            address, runs, instructions, *rest = line.split()
            address, runs = int(address, 16), int(runs)
            found = dict(zip(COLUMNS, map(int, rest)))
            name = function(address, starts, names)
            functions[name] = functions.get(name, 0) + runs * int(instructions)
            totals["instructions"] += runs * int(instructions)
            for kind, number in found.items():
                totals[kind] += runs * number
            if address in events:
                totals[events[address]] += runs
    return functions, totals


def priced(totals, prices, level):
    """The counts, in instructions of a real processor, if the bytes are at that level of its memory."""
    # Of checked bytes eight are an instruction.
    cost = totals["instructions"] - totals["steps"] - totals["checked"] / 8 - totals["strings"] - totals["locked"] - totals["wakes_other"]
    ns = sum(totals[kind] * prices[kind][level] for kind in BYTES)
    ns += totals["strings"] * prices["string"] + totals["locked"] * prices["locked"] + totals["wakes_other"] * prices["wake_other"]
    return cost + ns / prices["instruction"]


def folded(counts, kallsyms, messages):
    """The cost of a message: each total, with its price at each level, and the instructions by group and by function."""
    functions, totals = count(counts, *symbols(kallsyms))
    each = {kind: number / messages for kind, number in totals.items()}
    if PRICES.exists():
        prices = json.loads(PRICES.read_text(encoding="utf-8"))
        each |= {level: priced(each, prices, level) for level in LEVELS}
    functions = {name: number / messages for name, number in functions.items()}
    groups = {}
    for name, number in functions.items():
        group = "user" if name == "user space" else group_of(name)
        groups[group] = groups.get(group, 0) + number
    return each, dict(sorted(groups.items(), key=lambda entry: -entry[1])), functions


def text(each, groups, functions, most):
    """The same as lines, of functions the dearest."""
    total = each["instructions"]
    lines = [f"{total:10.0f}  instructions a message, of both sides"]
    lines += [f"{number:10.0f}  {kind}" for kind, number in each.items() if kind != "instructions"]
    lines += [f"{number:10.0f}  {100 * number / total:4.1f} %  {group}: {WHAT[group]}" for group, number in groups.items()]
    dearest = sorted(functions.items(), key=lambda entry: -entry[1])[:most]
    lines += [""] * bool(dearest) + [f"{number:10.1f}  {100 * number / total:4.1f} %  {name} ({'user' if name == 'user space' else group_of(name)})"
                                     for name, number in dearest]
    return "\n".join(lines)


def of_lab(out):
    """Subject, row, and the folded() counts of each row that a lab has counted: its output `out` has a file `counted` with lines of
    SUBJECT ROW MESSAGES KALLSYMS, and the counts in counts-SUBJECT-ROW."""
    counted = out / "counted"
    for line in counted.read_text(encoding="ascii").splitlines() if counted.exists() else []:
        subject, row, messages, kallsyms = line.split()
        yield subject, row, folded(out / f"counts-{subject}-{row}", out / kallsyms, float(messages))


def results(out):
    """An object for each of these."""
    return [{"subject": subject, "row": row, "tool": "count"} | each | {"groups": groups} for subject, row, (each, groups, _) in of_lab(out)]


def texts(out, most):
    """Text for each of these, with the dearest functions."""
    return "".join(f"\n== {subject}, {row}\n{text(*found, most)}\n" for subject, row, found in of_lab(out))
