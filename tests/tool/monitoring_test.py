# SPDX-License-Identifier: GPL-2.0
"""Alerts and the dashboard: promtool takes each expression, the alerts fire when alerts_test.yml says, and every metric is one
that docs/monitoring/README.md explains."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / "docs/monitoring"
sys.path.insert(0, str(TOP / "tests/integration"))
sys.dont_write_bytecode = True

import exporter  # noqa: E402 (the path comes first)

# What Grafana puts in before Prometheus sees an expression.
DRAWN = {"$__rate_interval": "1m", "$__range": "1h", "$device": "weft0", "$instance": "a"}


PROMTOOL = subprocess.run([TOP / "scripts/unpacked", "prometheus", "promtool"], capture_output=True, text=True, check=True).stdout.strip()


def promtool(*words):
    ran = subprocess.run([PROMTOOL, *words], cwd=FOLDER, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def metrics_in(text):
    return set(re.findall(r"\bnode_(?!exporter)\w+", text))


class Monitoring(unittest.TestCase):
    def setUp(self):
        self.readme = (FOLDER / "README.md").read_text(encoding="utf-8")
        self.alerts = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
        self.dashboard = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
        self.panels = self.dashboard["panels"]

    def test_alerts(self):
        status, said = promtool("check", "rules", "alerts.yml")
        self.assertEqual(status, 0, said)
        status, said = promtool("test", "rules", "alerts_test.yml")
        self.assertEqual(status, 0, said)
        tested = (FOLDER / "alerts_test.yml").read_text(encoding="utf-8")
        for name in re.findall(r"alert: (\w+)", self.alerts):
            self.assertRegex(tested, rf"alertname: {name}\n", f"{name} is never expected to fire")

    def test_expressions_of_the_dashboard(self):
        rules = []
        for panel in self.panels:
            for target in panel["targets"]:
                expression = target["expr"]
                for name, value in DRAWN.items():
                    expression = expression.replace(name, value)
                self.assertNotIn("$", expression)
                rules.append({"record": f"x:{len(rules)}", "expr": expression})
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)  # JSON is YAML
            file.flush()
            status, said = promtool("check", "rules", file.name)
        self.assertEqual(status, 0, said)
        self.assertIn(f"{len(rules)} rules found", said)

    def test_the_dashboard_can_be_imported(self):
        variables = {variable["name"] for variable in self.dashboard["templating"]["list"]}
        self.assertEqual(variables, {"source", "instance", "device"})
        self.assertEqual(len({panel["id"] for panel in self.panels}), len(self.panels))
        for panel in self.panels:
            with self.subTest(panel=panel["title"]):
                self.assertEqual(panel["datasource"]["uid"], "${source}")
                names = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(set(names)), len(names))
                self.assertTrue(panel["description"])

    def test_every_metric_is_explained_and_used(self):
        explained = set(re.findall(r"`(node_(?!exporter)\w+)`", self.readme))
        used = metrics_in(self.alerts) | metrics_in(json.dumps(self.dashboard))
        self.assertEqual(used - explained, set())
        self.assertEqual(explained - used - {"node_infiniband_rate_bytes_per_second"}, set())

    def test_what_they_say_of_weft_is_what_the_lab_measures(self):
        """The lab compares these metrics with sysfs; the page must give them the same counters."""
        files = {f"node_infiniband_{name}": file.rpartition("/")[2] for name, file, _ in exporter.METRICS}
        counters = {file: counter for counter, file, _ in exporter.SAME}
        for metrics, told in re.findall(r"^\| (`node_.*?`) \| (.*) \|$", self.readme, re.MULTILINE):
            for metric, counter in zip(re.findall(r"`(\w+)`", metrics), re.findall(r"`(\w+)`", told)):
                if files.get(metric) in counters:
                    self.assertEqual(counters[files[metric]], counter, metric)
        descs = set(re.findall(r'\.name = "(\w+)"', (TOP / "kernel/device/stats.c").read_text(encoding="utf-8")))
        below = self.readme.partition("Those below come from `hw_counters`")[2]
        named = set(re.findall(r"\| [^|]* \| ([^|]*) \|$", below, re.MULTILINE))
        for counter in re.findall(r"`(\w+)`", " ".join(named)):
            self.assertIn(counter, descs)
