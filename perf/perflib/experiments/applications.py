# SPDX-License-Identifier: GPL-2.0
"""NVMe and NFS over Weft, over TCP and over siw: the kernel's own targets, servers and clients, with fio. A table of ratios.
only=nvme or only=nfs, rows= and subjects= choose. Where the instructions of each request go is in
build/bench/applications-where.txt"""
from perflib import lab
from perflib.ratios import Ratios, among, counted
from perflib.rows import parameters

READ, WRITE = "--rw=randread --bs=4k --iodepth=1", "--rw=randwrite --bs=4k --iodepth=1"
# Row to: the words of fio, KiB of a request, how many are counted between two machines, the must, the aim, the title.
REQUESTS = {
    "nvme-4k-read-1": (READ, 4, 2000, 1.0, 1.2, "NVMe, random read of 4 KiB, depth 1"),
    "nvme-4k-write-1": (WRITE, 4, 2000, 1.0, 1.2, "NVMe, random write of 4 KiB, depth 1"),
    "nvme-4k-read-32": ("--rw=randread --bs=4k --iodepth=32", 4, 2000, 1.5, 2.0, "NVMe, random read of 4 KiB, depth 32"),
    "nvme-4k-write-32": ("--rw=randwrite --bs=4k --iodepth=32", 4, 2000, 1.5, 2.0, "NVMe, random write of 4 KiB, depth 32"),
    "nvme-128k-read-8": ("--rw=randread --bs=128k --iodepth=8", 128, 500, 1.2, 1.5, "NVMe, random read of 128 KiB, depth 8"),
    "nvme-128k-write-8": ("--rw=randwrite --bs=128k --iodepth=8", 128, 500, 1.2, 1.5, "NVMe, random write of 128 KiB, depth 8"),
    "nvme-1m-read-4": ("--rw=randread --bs=1m --iodepth=4", 1024, 100, 1.2, 1.5, "NVMe, random read of 1 MiB, depth 4"),
    "nvme-1m-write-4": ("--rw=randwrite --bs=1m --iodepth=4", 1024, 100, 1.2, 1.5, "NVMe, random write of 1 MiB, depth 4"),
    "nfs-1m-write": ("--rw=write --bs=1m --iodepth=1", 1024, 0, 2.0, 3.0, "NFS 4.1, write of 1 MiB, one at a time"),
    "nfs-1m-read": ("--rw=read --bs=1m --iodepth=1", 1024, 0, 2.0, 3.0, "NFS 4.1, read of 1 MiB, one at a time"),
    "nfs-4k-read": (READ, 4, 0, 1.0, 1.2, "NFS 4.1, random read of 4 KiB, one at a time"),
    "nfs-4k-write": (WRITE, 4, 0, 1.0, 1.2, "NFS 4.1, random write of 4 KiB, one at a time"),
    "nfs-4k-read-inline": (READ, 4, 0, 1.0, 1.2, "the same read, calls and answers of up to 8 KiB in a message"),
    "nfs-4k-write-inline": (WRITE, 4, 0, 1.0, 1.2, "the same write, calls and answers of up to 8 KiB in a message"),
}
# A tenth of a second unseen, then three tenths. fio's buffers are of huge pages, which lie in memory alike in every boot. In how many
# runs other pages lie is chance, and a large request of many runs takes more instructions.
FIO = "--thread --size=32M --iomem=shmhuge --time_based --ramp_time=100ms --runtime=300ms --randrepeat=1"
# Huge pages are of 2 MiB each, where the largest row has four buffers of 1 MiB.
READING = ("say 'reading the programs'", "preload", "echo 16 >/proc/sys/vm/nr_hugepages", '"$mark" none',
           "cat /lib/modules/$(uname -r)/updates/weft.ko >/dev/null")


def row_steps(steps, subject, rows, counting):
    """The steps of rows that are all attached or mounted already."""
    steps.do(f"unseen {FIO} {READ.replace('randread', 'randrw').replace('depth=1', 'depth=4')}")
    for row in rows:
        words, kib, *_ = REQUESTS[row]
        field = (48 if "write" in words else 7) + (kib == 4)
        steps.ask(f"row {subject} {row} {field} {'io_s' if kib == 4 else 'kib_s'} {FIO} {words}")
        if counting and subject != "siw":
            steps.do(f"count {subject} {row} {2 * kib} {FIO} {words} --ramp_time=0 --runtime=800ms")


def device(subject, card, siw):
    """The steps before and behind a subject's rows: its device at both ends."""
    if subject.startswith(("tcp", "local")):
        return [], []
    kind, loaded = ("siw", f"insmod {siw} try_gso=1") if subject == "siw" else ("weft", f"modprobe weft {parameters(subject)}")
    return [loaded, f"links {kind} {card}"], [f"unlinks {kind} {kind}"]


def nvme_steps(rows, subjects, siw="", counting=False):
    """Behind the target is a disk that does nothing."""
    steps = lab.Steps("nvme_hosts", "null_disk", *READING)
    for subject in subjects:
        before, behind = device(subject, "eth1", siw)
        digests = " hdr_digest,data_digest" if subject == "tcp-digest" else ""
        attach = f"attach_over {'tcp' if subject.startswith('tcp') else 'rdma'}{digests}"
        steps.do(*before, attach if subject != "local" else "file=$disk")
        row_steps(steps, subject, rows, counting)
        steps.do("let_go" if subject != "local" else "", *behind)
    return steps


def nfs_steps(rows, subjects, siw="", counting=False):
    """Behind the server is a file system in memory. At the end come rows with 8 KiB instead of 4 in a message of the call or of its
    answer, so that these need no RDMA READ or WRITE."""
    inline = [row for row in rows if row.endswith("-inline")]
    steps = lab.Steps("nfs_hosts", *READING)
    # NFS's hosts are two namespaces, and siw's client finds no device for its address in the second. Digests are NVMe's.
    for subject in (subject for subject in subjects if subject not in ("tcp-digest", "siw")):
        if subject == "local":
            steps.do("file_of_share")
            row_steps(steps, subject, [row for row in rows if row not in inline], False)
            continue
        before, behind = device(subject, "eth0", siw)
        steps.do(*before, "share_over " + ("tcp 2049" if subject == "tcp" else "rdma 20049"))
        row_steps(steps, subject, [row for row in rows if row not in inline], counting)
        steps.do("mount_inline 8192" if subject != "tcp" else "")
        row_steps(steps, subject, inline, counting)
        steps.do("inline 4096" if subject != "tcp" else "", "no_share", *behind)
    return steps


STEPS = {"nvme": nvme_steps, "nfs": nfs_steps}


class Applications(Ratios):
    """The same through TCP in the same boot, so that the way there and back is counted, and through no network at all, at the disk or
    the file itself. For each row, the counts of a quarter of a second are kept as well."""

    name, place, markers = "applications", 40, "applications"
    settings = {"only": ("", "nvme|nfs"), "rows": ("", ".*"), "subjects": ("", ".*")}
    titles = {row: request[-1] for row, request in REQUESTS.items()}
    subjects = ("tcp", "tcp-digest", "weft", "weft-crc", "siw", "local")
    goals = {row: f"{must:.1f}, {aim:.1f} ×" for row, (*_, must, aim, _) in REQUESTS.items()}

    def run(self, words):
        chosen = self.choose(words)
        rows, subjects = among(self.name, "row", chosen["rows"], self.titles), self.chosen_subjects(chosen)
        siw = lab.siw() if "siw" in subjects else ""
        if not siw and "siw" in subjects:
            print("applications: siw is left out: there is no siw.ko here")
            subjects.remove("siw")
        kinds = {kind: [row for row in rows if row.startswith(f"{kind}-")] for kind in STEPS if chosen["only"] in ("", kind)}
        kinds = {kind: STEPS[kind](of_kind, subjects, siw, True) for kind, of_kind in kinds.items() if of_kind}
        self.save_counted(lab.together(lambda kind: self.measured(kind, kinds[kind], siw), list(kinds)))
        return self.tell(chosen)

    def measured(self, kind, steps, siw):
        """The results of one kind, and where its instructions went. At times Linux's own nvmet-tcp copies from beyond an object, and its
        kernel ends."""
        lab.say(f"perf: {kind} begins; some eight minutes on an idle machine")
        name = lab.name_of(self.name, kind)
        options = [*self.options, "--mem", "3072", "--quiet", "--timeout", "3600", "--env", f"SIW={siw}", *lab.plugin(name)]
        for left in (2, 1, 0):
            try:
                with lab.steps(name, options, self.name, steps) as (out,):
                    return counted(out, self.results(steps.said(out)))
            except lab.Failed:
                file = lab.LABS / name / "console.log"
                console = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
                if not left or "kernel BUG at mm/usercopy.c" not in console or "Workqueue: nvmet_tcp_wq" not in console:
                    raise
                lab.say("perf: Linux's nvmet-tcp ended its kernel, as it does at times (BUG in mm/usercopy.c); once more")
        raise AssertionError
