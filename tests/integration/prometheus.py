#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs Prometheus, and a node_exporter on each host, with the configuration, rules and dashboard of docs/monitoring, and
asks Prometheus by its API: does each metric come, is each expression taken and true of traffic that is made, and do alerts
fire and go away?

usage (in a lab, on host A): tests/integration/prometheus.py [NODE_EXPORTER]

monitoring.sh makes the hosts. NODE_EXPORTER is another program than Debian's prometheus-node-exporter for this release.
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / "docs/monitoring"
sys.path.insert(0, str(TOP / "tests/hostile"))
sys.dont_write_bytecode = True

import exporter  # noqa: E402 (the path comes first)
import pinging  # noqa: E402
from hosts import SERVER, on  # noqa: E402
from wire import ddp  # noqa: E402

API = "http://127.0.0.1:9090/api/v1/"
HOSTS = {"A": "host-a:9100", "B": "host-b:9100"}
DEVICES = {"A": "weft0", "B": "weft1"}
# Seconds between two scrapes, and what one may take; the page leaves that to the configuration of which it becomes a part. A
# machine beside busy ones stands still for many seconds. A scrape that takes longer is lost, and alerts of its host wait anew.
EVERY = 30
# The time that Grafana would put in, but long enough for traffic in a machine that has little of its processor.
RATE = 300
DRAWN = {"$__rate_interval": f"{RATE}s", "$__range": "1h", "$device": "weft0|weft1", "$instance": "host-a:9100|host-b:9100"}
SLOWER = int(os.environ.get("WEFT_PATIENCE", "1"))
# rping sends each time its message of this size by a READ and gets it back by a WRITE.
SIZE, COUNT, PORT = 60000, 200, 7400
tell = exporter.tell


def ask(what, **words):
    """What Prometheus answers; what it says as text where it takes no such question, or does not serve yet."""
    url = API + what + "?" + urllib.parse.urlencode(words, doseq=True)
    try:
        with urllib.request.urlopen(url, timeout=60 * SLOWER) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except (urllib.error.URLError, OSError) as error:
        return str(error)


def samples(expression, at=None):
    """{instance: value} of an expression, or why there are none."""
    words = {"query": expression} | ({} if at is None else {"time": at})
    answer = ask("query", **words)
    if isinstance(answer, str):
        return answer
    return {row["metric"].get("instance"): float(row["value"][1]) for row in answer["result"]}


def within(seconds, what, reached):
    """Waits until reached() is true; a case that fails if that does not come."""
    deadline = time.monotonic() + seconds * SLOWER
    while not (done := reached()) and time.monotonic() < deadline:
        time.sleep(1)
    tell(what, done, f"not within {seconds * SLOWER} s")
    if not done:
        explain()
    return done


def explain():
    """What Prometheus knows of its targets and alerts, as comments."""
    for name, query in (("up, at its least", "min_over_time(up[10m])"), ("scrapes, the longest", "max_over_time(scrape_duration_seconds[10m])")):
        print(f"# {name}: {samples(query)}", flush=True)
    said = ask("alerts")
    for alert in [said] if isinstance(said, str) else said["alerts"]:
        print(f"# {alert}", flush=True)


def files(host, folder="hw_counters"):
    """{counter: value} of a host's device."""
    path = f"/sys/class/infiniband/{DEVICES[host]}/ports/1/{folder}"
    said = subprocess.run(on(host, "grep", "-r", "", path), check=True, capture_output=True, text=True).stdout
    return {pathlib.Path(name).name: int(value) for name, value in (line.split(":") for line in said.split())}


def page_file(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def configuration(folder):
    """The page's lines, where Prometheus reads them, and the rules where they say that these are."""
    lines = re.search(r"^```yaml\n(.*?)^```", page_file("README.md"), re.DOTALL | re.MULTILINE)[1]
    for path in map(pathlib.Path, re.findall(r"^  - (/\S+)$", lines, re.MULTILINE)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_file(path.name), encoding="utf-8")
    file = pathlib.Path(folder) / "prometheus.yml"
    file.write_text(f"global: {{scrape_interval: {EVERY}s, scrape_timeout: {EVERY}s, evaluation_interval: {EVERY}s}}\n" + lines, encoding="utf-8")
    return file


def explained():
    """{metric: what the page says it is}, and those that only newer releases of node_exporter have."""
    page = page_file("README.md")
    told, newer = {}, set()
    below = page.partition("Those below come from `hw_counters`")[2]
    for metrics, what in re.findall(r"^\| (`node_.*?`) \| (.*) \|$", page, re.MULTILINE):
        names = re.findall(r"`(\w+)`", metrics)
        counters = re.findall(r"`(\w+)`", what)
        for number, name in enumerate(names):
            told[name] = counters[number] if len(counters) == len(names) else None
        if f"| {metrics} |" in below:
            newer.update(names)
    return told, newer


def metrics_in(text):
    return sorted(set(re.findall(r"\bnode_(?!exporter)\w+", text)))


def panels():
    """(title, expression) of each curve, as Grafana would ask for it."""
    for panel in json.loads(page_file("dashboard.json"))["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in DRAWN.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


def traffic():
    """rping from B to A, and by how much each host's counters have moved."""
    before = {host: files(host) for host in HOSTS}
    words = ("-a", SERVER, "-p", str(PORT), "-S", str(SIZE), "-C", str(COUNT))
    with subprocess.Popen(on("A", "rping", "-s", *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        within(60, "rping listens", lambda: pinging.listens(PORT))
        done = subprocess.run(on("B", "rping", "-c", *words), capture_output=True, timeout=60 * SLOWER, check=False)
        server.terminate()
    text = (done.stdout + done.stderr).decode()
    tell("traffic", pinging.ended_well(done.returncode, text), f"status {done.returncode}: {text}")
    time.sleep(1)
    return {host: {name: value - before[host][name] for name, value in files(host).items()} for host in HOSTS}


def scraped_all():
    """Has Prometheus what the devices have now? When it has, the time of that."""
    now = time.time()
    got = samples("node_infiniband_port_data_transmitted_bytes_total", now)
    return not isinstance(got, str) and all(
        got.get(instance) == files(host)["tx_bytes"] // 4 * 4 for host, instance in HOSTS.items()) and now


def comes(metric, at, told, newer, there):
    """A metric has a sample on each host, and where it is one of Weft's counters it is that."""
    got = samples(f'{{__name__="{metric}",device=~"weft.*|"}}', at)
    if metric in newer and not there:
        tell(f"{metric} is none of this node_exporter's, as the page says", got == {}, got)
        return
    there_on_both = not isinstance(got, str) and got.keys() >= set(HOSTS.values())
    tell(f"{metric} has a sample on both hosts", there_on_both, got)
    for host, instance in HOSTS.items():
        counter = told.get(metric)
        if there_on_both and counter in (counters := files(host)):
            tell(f"{metric} on {host} is {counter}", 0 <= counters[counter] - got[instance] < 4, f"{got[instance]}, not {counters[counter]}")


def rate_is_true(name, expression, at, moved):
    """A rate over a time in which a counter moved by so much on a host: no less than that over this time, and no more than
    over that between the first and the last sample, by which Prometheus extrapolates."""
    sign = -1 if expression.startswith("-") else 1
    plain = re.search(r"rate\((.*)\)$", expression)[1]
    got = samples(expression, at)
    for row in ask("query", query=plain, time=at)["result"]:
        instance = row["metric"]["instance"]
        (first, low), (last, high) = ((float(when), float(value)) for when, value in (row["values"][0], row["values"][-1]))
        tell(f"{name}: what is drawn of {instance} is the traffic's",
             abs(high - low - moved[instance]) < 8 and moved[instance] / (RATE + 1) <= sign * got[instance] <= moved[instance] / (last - first - 1),
             f"{got[instance]} a second, of {high - low} in {last - first} s, where {moved[instance]} were sent or received")


def drawn(at, moved, newer, there):
    """Each expression of the dashboard is taken, and draws what was sent."""
    by_counter = {name: {instance: moved[host][name] for host, instance in HOSTS.items()} for name in moved["A"]}
    rates = {"data_transmitted_bytes": "tx_bytes", "data_received_bytes": "rx_bytes", "packets_transmitted": "tx_fpdus",
             "packets_received": "rx_fpdus", "rx_write_requests": "rx_write_requests", "rx_read_requests": "rx_read_requests"}
    for number, (title, expression) in enumerate(panels()):
        name = f"dashboard: {title} ({number})"
        got = samples(expression, at)
        if not isinstance(got, str) and not there and newer & set(metrics_in(expression)):
            tell(f"{name}: is taken, and has no curve with this node_exporter", got == {}, got)
            continue
        if isinstance(got, str) or got.keys() != set(HOSTS.values()):
            tell(f"{name}: is taken, and has a curve for each host", False, f"{got} for {expression}")
            continue
        tell(f"{name}: is taken, and has a curve for each host", True, "")
        counter = next((rates[part] for part in rates if part in expression), None)
        if title == "Port":
            tell(f"{name}: active", set(got.values()) == {4}, got)
        elif title == "Length of a frame":
            way = counter.partition("_")[0]
            wanted = {instance: by_counter[f"{way}_bytes"][instance] / by_counter[f"{way}_fpdus"][instance] for instance in got}
            tell(f"{name}: the traffic's", all(abs(got[i] - wanted[i]) < 0.01 * wanted[i] for i in got), f"{got}, not {wanted}")
        elif counter:
            rate_is_true(name, expression, at, by_counter[counter])
        elif title == "Errors":
            tell(f"{name}: none", set(got.values()) == {0}, got)
        else:
            tell(f"{name}: a number", all(value >= 0 for value in got.values()), got)


def chosen():
    """The dashboard's variables offer both hosts and both devices."""
    for variable in json.loads(page_file("dashboard.json"))["templating"]["list"]:
        if found := re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]):
            series, label = found.groups()
            answer = ask("series", **{"match[]": series.replace("$instance", DRAWN["$instance"])})
            wanted = set((HOSTS if label == "instance" else DEVICES).values())
            got = answer if isinstance(answer, str) else {row[label] for row in answer}
            tell(f"dashboard: its list of each {label} is {', '.join(sorted(wanted))}", got == wanted, got)


def alerts(state="firing"):
    """The alerts in that state: (name, instance); or why nobody knows."""
    said = ask("alerts")
    if isinstance(said, str):
        return said
    return {(alert["labels"]["alertname"], alert["labels"]["instance"]) for alert in said["alerts"] if alert["state"] == state}


def rules_are_loaded():
    named = re.findall(r"alert: (\w+)", page_file("alerts.yml"))
    rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
    tell("the server has each rule of alerts.yml", [rule["name"] for rule in rules] == named, [rule["name"] for rule in rules])
    for rule in rules:
        tell(f"{rule['name']} is evaluated", rule["health"] == "ok", rule)


def each_once(seconds, what, state, wanted):
    """Waits until each of these alerts has been in that state: not at one time, where a lost scrape has one wait anew."""
    seen = set()

    def reached():
        now = alerts(state)
        seen.update(() if isinstance(now, str) else wanted & now)
        return seen == wanted

    within(seconds, what, reached)


def links(state):
    subprocess.run(["ip", "link", "set", "eth0", state], check=True)


def alerts_fire():
    tell("nothing is wrong, and no alert fires", alerts() == set(), alerts())
    with pinging.client() as stream:
        stream.give_raw(pinging.bad_crc(ddp.send(pinging.info()), 200))
        stream.refused(ddp.BAD_CRC, ddp.send(pinging.info()), allowed=(ddp.READ_RESPONSE,))
    damaged = ("WeftDamagedFrames", HOSTS["A"])
    within(120, "a frame with a wrong CRC: WeftDamagedFrames fires for that host", lambda: alerts() == {damaged})
    # Both ends of the cable lose their carrier.
    for _ in range(4):
        links("down")
        links("up")
    flaps = {("WeftPortFlaps", instance) for instance in HOSTS.values()}
    within(120, "the card four times down and up: WeftPortFlaps fires for both ends", lambda: alerts() == {damaged} | flaps)
    down = {("WeftPortDown", instance) for instance in HOSTS.values()}
    links("down")
    began = time.monotonic()
    each_once(120, "the card is down: WeftPortDown waits for both ends", "pending", down)
    each_once(400, "  and fires for both ends", "firing", down)
    now = alerts()
    tell("  and nothing else does", not isinstance(now, str) and now <= {damaged} | flaps | down, now)
    tell("  after two minutes", time.monotonic() - began >= 120, f"after {time.monotonic() - began:.0f} s")
    said = [alert["annotations"]["summary"] for alert in ask("alerts")["alerts"] if alert["labels"]["alertname"] == "WeftPortDown"]
    wanted = [f"{HOSTS[host]}: the port of {DEVICES[host]} is down" for host in HOSTS]
    tell("  and says which", sorted(said) == wanted, said)
    links("up")
    active = dict.fromkeys(HOSTS.values(), 4.0)
    within(120, "the card is up again: WeftPortDown goes away, the others stay",
           lambda: samples('node_infiniband_state_id{device=~"weft.+"}') == active and alerts() == {damaged} | flaps)


def cases(node_exporter):
    told, newer = explained()
    if not within(120, "Prometheus scrapes both hosts", lambda: samples("up") == dict.fromkeys(HOSTS.values(), 1.0)):
        print(f"# {ask('targets')}", flush=True)
        return
    version = ask("query", query="node_exporter_build_info")["result"][0]["metric"]["version"]
    print(f"# node_exporter {version} ({node_exporter})", flush=True)
    moved = traffic()
    tell("traffic: what rping sends, there and back", all(moved[host]["tx_bytes"] > SIZE * COUNT for host in HOSTS), moved)
    at = within(120, "Prometheus has what the devices counted", scraped_all)
    there = samples("node_infiniband_rx_read_requests_total", at) != {}
    for metric in metrics_in(page_file("alerts.yml") + page_file("dashboard.json")):
        comes(metric, at, told, newer, there)
    drawn(at, moved, newer, there)
    chosen()
    rules_are_loaded()
    alerts_fire()
    print(f"# scrapes took {samples('max_over_time(scrape_duration_seconds[30m])')} s at most", flush=True)


def main():
    node_exporter = sys.argv[1] if len(sys.argv) == 2 else exporter.program()
    pinging.start_server()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as started, open("/run/prometheus.log", "wb") as log:
        server = [exporter.program("prometheus", "prometheus"), f"--config.file={configuration(folder)}", f"--storage.tsdb.path={folder}/data",
                  "--web.listen-address=127.0.0.1:9090"]
        for command in (server, *(on(host, node_exporter, f"--web.listen-address={HOSTS[host]}") for host in HOSTS)):
            process = started.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
            started.callback(process.terminate)
        cases(node_exporter)
    pinging.stop_server()
    for line in pathlib.Path("/run/prometheus.log").read_text(encoding="utf-8").splitlines():
        if "level=error" in line and "component=" in line:
            print(f"# {line}")
    return exporter.log.end()


if __name__ == "__main__":
    sys.exit(main())
