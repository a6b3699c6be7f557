#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Scrapes Prometheus' node_exporter, which runs here, and compares what it says of RDMA devices with their files.

usage (in a lab): tests/integration/exporter.py DEVICE...

Nothing may be sent or received meanwhile. A metric that the exporter leaves out fails as a wrong one does.
"""
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tap  # noqa: E402

URL = "http://127.0.0.1:9100/metrics"
PATIENCE = 60
CLASS = pathlib.Path("/sys/class/infiniband")
# A metric of node_exporter, the file that it comes from, and how many of it one of the file's is.
METRICS = (
    ("port_data_transmitted_bytes_total", "counters/port_xmit_data", 4),
    ("port_data_received_bytes_total", "counters/port_rcv_data", 4),
    ("port_packets_transmitted_total", "counters/port_xmit_packets", 1),
    ("port_packets_received_total", "counters/port_rcv_packets", 1),
    ("unicast_packets_transmitted_total", "counters/unicast_xmit_packets", 1),
    ("multicast_packets_received_total", "counters/multicast_rcv_packets", 1),
    ("port_errors_received_total", "counters/port_rcv_errors", 1),
    ("port_transmit_wait_total", "counters/port_xmit_wait", 1),
    ("link_downed_total", "counters/link_downed", 1),
    ("state_id", "state", 1),
    ("physical_state_id", "phys_state", 1),
)
# What the module itself counts, and the file of the core's that must say the same, in words of four bytes or one by one.
SAME = (
    ("tx_bytes", "port_xmit_data", 4), ("rx_bytes", "port_rcv_data", 4),
    ("tx_fpdus", "port_xmit_packets", 1), ("rx_fpdus", "port_rcv_packets", 1),
    ("tx_blocked", "port_xmit_wait", 1), ("rx_crc_errors", "port_rcv_errors", 1), ("port_downs", "link_downed", 1),
)
log = tap.Log()


def tell(name, good, why):
    log.tell(name, None if good else str(why))


def scraped():
    """The exporter's text, once it serves."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(URL, timeout=10) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def metrics(text):
    """{(name, labels): value}, the labels as they stand there."""
    return {(m[1], m[2]): float(m[3]) for m in re.finditer(r"^(\w+)\{(.*)\} (\S+)$", text, re.MULTILINE)}


def first_number(path):
    return int(re.match(r"\d+", path.read_text())[0])


def core_says_the_same(device):
    port = CLASS / device / "ports/1"
    for path in sorted((port / "counters").iterdir()):
        try:
            text = path.read_text().strip()
        except OSError as error:
            text = str(error)
        tell(f"{device}: counters/{path.name} is a number", text.isdigit(), f"it is '{text}'")
    for ours, theirs, unit in SAME:
        mine, other = first_number(port / "hw_counters" / ours), first_number(port / "counters" / theirs)
        tell(f"{device}: {theirs} is {ours}", other == mine // unit, f"{other} of {unit}, beside {mine}")


def exporter_says_it(device, said):
    own = {name.removeprefix("node_infiniband_"): value for (name, labels), value in said.items() if labels == f'device="{device}",port="1"'}
    for name, file, unit in METRICS:
        expected = first_number(CLASS / device / "ports/1" / file) * unit
        tell(f"{device}: {name} is {file}", own.get(name) == expected, f"{own.get(name)}, not {expected}")
    moved = own.get("port_data_transmitted_bytes_total", 0)
    tell(f"{device}: bytes were sent", moved > 1000, f"{moved}")
    speed = (CLASS / device / "ports/1/rate").read_text()
    rate = own.get("rate_bytes_per_second")
    expected = float(speed.split()[0]) * 125_000_000
    tell(f"{device}: rate_bytes_per_second is {speed.strip()}", rate == expected, f"{rate}, not {expected}")
    version = (CLASS / device / "fw_ver").read_text().strip()
    info = [labels for name, labels in said if name == "node_infiniband_info" and f'device="{device}"' in labels]
    wanted = (f'firmware_version="{version}"', 'hca_type="weft"')
    tell(f"{device}: info has {' and '.join(wanted)}", info and all(label in info[0] for label in wanted), info)


def program(package="prometheus-node-exporter", name="prometheus-node-exporter"):
    """A program of Debian's, which tests/integration/run has had unpacked."""
    command = [pathlib.Path(__file__).resolve().parents[2] / "scripts/unpacked", package, name]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main():
    devices = sys.argv[1:] or sys.exit(__doc__)
    command = [program(), "--collector.disable-defaults", "--collector.infiniband"]
    with subprocess.Popen([*command, "--web.listen-address=127.0.0.1:9100"], stderr=subprocess.PIPE) as exporter:
        try:
            said = metrics(scraped())
        finally:
            exporter.terminate()
        complaints = [line for line in exporter.stderr.read().decode().splitlines() if "level=error" in line]
    tell("node_exporter collects", said.get(("node_scrape_collector_success", 'collector="infiniband"')) == 1, complaints)
    tell("node_exporter has no complaint", not complaints, complaints)
    for device in devices:
        core_says_the_same(device)
        exporter_says_it(device, said)
    return log.end()


if __name__ == "__main__":
    sys.exit(main())
