"""Belay's dashboards ask for what there is: test_dashboards.py DECLARED, which is what declared_metrics prints.

Every expression is compared with the metrics that Belay exports, with their labels and units; the JSON with what Grafana wants of a
dashboard (schema of version 38: kinds/dashboard/dashboard_kind.cue of Grafana 10). Where promtool is installed, Prometheus itself
parses all of them, and evaluates some on series whose answer is known.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import promql

HERE = os.path.dirname(os.path.abspath(__file__))
VARIABLES = {"$__rate_interval": "2m", "$__range": "5m", "$node": "n1", "$job": "4711"}
UNITS = {"bytes": {"bytes", "decbytes"}, "bytes_per_second": {"Bps", "binBps"}, "ratio": {"percentunit"}, "seconds": {"s"},
         "seconds_per_second": {"percentunit", "none"}, "watts": {"watt"}, "joules": {"joule"}, "celsius": {"celsius"},
         "hertz": {"hertz"}, "per_second": {"cps", "ops", "pps"}, "": {"none"}, promql.MIXED: {"none"}}
PANELS = {"row", "stat", "timeseries", "table", "bargauge"}
declared = {}


def dashboards():
    names = sorted(name for name in os.listdir(HERE) if name.endswith(".json"))
    result = {}
    for name in names:
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            result[name] = json.load(file)
    return result


def panels_of(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def plain(text):
    """With a value for each variable of Grafana."""
    for name in sorted(VARIABLES, key=len, reverse=True):
        text = text.replace(name, VARIABLES[name])
    return text


def targets():
    for name, dashboard in dashboards().items():
        for panel in panels_of(dashboard):
            for target in panel["targets"]:
                yield f"{name}, {panel['title']}, {target['refId']}", panel, target


def overlap(one, other):
    return (one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
            and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"])


class TestSchema(unittest.TestCase):
    def test_there_are_three(self):
        self.assertEqual(list(dashboards()), ["cluster.json", "job.json", "node.json"])

    def test_a_dashboard_has_what_grafana_wants(self):
        uids = set()
        for name, dashboard in dashboards().items():
            with self.subTest(name):
                self.assertEqual((dashboard["schemaVersion"], dashboard["editable"], dashboard["graphTooltip"]), (38, True, 1))
                self.assertRegex(dashboard["uid"], "^[a-z-]{8,40}$")
                self.assertTrue(dashboard["title"].startswith("Belay: ") and dashboard["description"])
                self.assertNotIn("id", dashboard)  # which belongs to one installation
                uids.add(dashboard["uid"])
        self.assertEqual(len(uids), 3)

    def test_variables(self):
        for name, dashboard in dashboards().items():
            variables = dashboard["templating"]["list"]
            self.assertEqual([variables[0][key] for key in ("name", "type", "query")], ["datasource", "datasource", "prometheus"])
            for variable in variables[1:]:
                with self.subTest(f"{name}, {variable['name']}"):
                    self.assertEqual(variable["type"], "query")
                    self.assertEqual(variable["datasource"], {"type": "prometheus", "uid": "${datasource}"})
                    self.assertEqual(variable["query"]["query"], variable["definition"])
                    selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
                    self.assertIn(label, promql.check(selector, declared).labels)
            used = set(re.findall(r"\$(\w+)", json.dumps([panel["targets"] for panel in panels_of(dashboard)])))
            self.assertEqual(used - {"__rate_interval", "__range", "datasource"}, {variable["name"] for variable in variables[1:]})

    def test_panels(self):
        for name, dashboard in dashboards().items():
            panels = dashboard["panels"]
            self.assertEqual(len({panel["id"] for panel in panels}), len(panels), name)
            for number, panel in enumerate(panels):
                with self.subTest(f"{name}, {panel['title']}"):
                    self.assertIn(panel["type"], PANELS)
                    place = panel["gridPos"]
                    self.assertTrue(min(place["x"], place["y"]) >= 0 and min(place["w"], place["h"]) > 0 and place["x"] + place["w"] <= 24)
                    for other in panels[:number]:
                        self.assertFalse(overlap(place, other["gridPos"]), other["title"])
                    if panel["type"] == "row":
                        self.assertEqual(panel["panels"], [])
                        continue
                    self.assertTrue(panel["title"] and panel["description"])
                    self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${datasource}"})
                    self.assertIn("overrides", panel["fieldConfig"])
                    ids = [target["refId"] for target in panel["targets"]]
                    self.assertTrue(ids and len(set(ids)) == len(ids))
                    for target in panel["targets"]:
                        self.assertEqual(target["datasource"], panel["datasource"])

    def test_links_lead_to_a_dashboard_and_its_variable(self):
        variables = {dashboard["uid"]: {variable["name"] for variable in dashboard["templating"]["list"]}
                     for dashboard in dashboards().values()}
        links = 0
        for name, dashboard in dashboards().items():
            for url in re.findall(r'"(/d/[^"]*)"', json.dumps(dashboard)):
                links += 1
                uid, _, query = url.removeprefix("/d/").partition("?")
                self.assertIn(uid, variables, f"{name}: {url}")
                for variable in re.findall(r"var-(\w+)=", query):
                    self.assertIn(variable, variables[uid], f"{name}: {url}")
        self.assertGreater(links, 6)


class TestExpressions(unittest.TestCase):
    def test_each_asks_for_what_there_is_and_shows_labels_that_its_answer_has(self):
        for where, panel, target in targets():
            with self.subTest(where):
                answer = promql.check(plain(target["expr"]), declared)
                self.assertLessEqual(set(re.findall(r"{{(\w+)}}", target["legendFormat"])), answer.labels)
                if panel["type"] == "table":
                    self.assert_columns_are_there(panel, target, answer.labels)

    def assert_columns_are_there(self, panel, target, labels):
        shown = next(step["options"] for step in panel["transformations"] if step["id"] == "organize")
        value = "Value" if len(panel["targets"]) == 1 else f"Value #{target['refId']}"
        if len(panel["targets"]) == 1:
            self.assertLessEqual(set(shown["indexByName"]) - {value}, labels)
        self.assertLessEqual(labels | {value}, set(shown["indexByName"]) | set(shown["excludeByName"]))

    def test_units(self):
        for where, panel, target in targets():
            unit = panel["fieldConfig"]["defaults"]["unit"]
            if panel["type"] == "table":
                column = next(step["options"] for step in panel["transformations"] if step["id"] == "organize")["renameByName"].get(
                    f"Value #{target['refId']}")
                for override in panel["fieldConfig"]["overrides"]:
                    if override["matcher"]["options"] == column:
                        unit = next((one["value"] for one in override["properties"] if one["id"] == "unit"), unit)
            with self.subTest(where):
                self.assertIn(unit, UNITS[promql.check(plain(target["expr"]), declared).unit])

    def test_shares_have_their_axis(self):
        for where, panel, _ in targets():
            if panel["type"] == "timeseries" and panel["fieldConfig"]["defaults"]["unit"] == "percentunit":
                self.assertEqual((panel["fieldConfig"]["defaults"]["min"], panel["fieldConfig"]["defaults"]["max"]), (0, 1), where)

    def test_what_is_wrong_is_found(self):
        for wrong in ("belay_node_cpu", "belay_node_load_1m{job=\"x\"}", "belay_node_memory_bytes{kind=\"all\"}",
                      "rate(belay_node_cpu_seconds_total{mode=~\"idle|io\"}[2m])", "belay_node_cpu_seconds_total",
                      "rate(belay_node_load_1m[2m])", "rate(belay_node_cpu_seconds_total)", "sum by (dev) (belay_node_load_1m)",
                      "belay_node_load_1m + belay_gpu_power_watts", "belay_node_load_1m and on (device) belay_gpu_power_watts",
                      "belay_node_load_1m[2m]", "sum(belay_node_load_1m", "belay_node_load_1m)", "belay_node_load_1m 1", "sum(1)",
                      "abs(belay_node_load_1m)", "belay_node_load_1m and 1", "label_replace(belay_node_load_1m, \"a\")", "$node", ""):
            with self.subTest(wrong), self.assertRaises(promql.Mistake):
                promql.check(wrong, declared)

    def test_labels_and_units_of_answers(self):
        for text, labels, unit in (
                ("belay_net_link_bytes_per_second", {"node", "dev"}, "bytes_per_second"),
                ("sum by (dir) (rate(belay_net_bytes_total{dev!=\"lo\"}[2m]))", {"dir"}, "bytes_per_second"),
                ("1 - sum(belay_node_memory_bytes{kind=\"free\"}) / sum(belay_node_memory_bytes)", set(), "ratio"),
                ("count(belay_node_cpus) + 1", set(), ""), ("1 + 2 * 3", None, None),
                ("rate(belay_gpu_energy_joules_total[2m]) > 0 or belay_gpu_power_watts", {"node", "device"}, "watts"),
                ("increase(belay_gpu_energy_joules_total[2m])", {"node", "device"}, "joules"),
                ("label_replace(belay_node_load_1m, \"what\", \"x\", \"\", \"\") or belay_gpu_power_watts", {"node", "what", "device"},
                 "mixed"),
                ("belay_gpu_power_watts and on (node) belay_node_load_1m", {"node", "device"}, "watts")):
            self.assertEqual(promql.check(text, declared), (None if labels is None else frozenset(labels), unit), text)


# Series of two nodes and two jobs, a sample each 15 s; counters grow as said for each second.
def series(text, start, each_second=0.0):
    return f"  - series: '{text}'\n    values: '{start}+{15 * each_second}x40'\n"


SERIES = "".join([
    series('belay_node_cpus{node="n1"}', 4), series('belay_node_cpus{node="n2"}', 4),
    series('belay_node_cpu_seconds_total{node="n1",mode="user"}', 100, 1),
    series('belay_node_cpu_seconds_total{node="n1",mode="idle"}', 9, 2),
    series('belay_node_cpu_seconds_total{node="n1",mode="iowait"}', 9, 1),
    series('belay_node_cpu_seconds_total{node="n2",mode="idle"}', 9, 4),
    series('belay_node_memory_bytes{node="n1",kind="total"}', 1000), series('belay_node_memory_bytes{node="n1",kind="available"}', 250),
    series('belay_node_vmstat_total{node="n1",event="oom_kill"}', 7), series('belay_node_vmstat_total{node="n2",event="oom_kill"}', 0, 1),
    series('belay_net_bytes_total{node="n1",dev="eth0",dir="rx"}', 5, 100),
    series('belay_net_bytes_total{node="n1",dev="bond0",dir="rx"}', 5, 100),
    series('belay_net_bytes_total{node="n1",dev="lo",dir="rx"}', 5, 1000),
    series('belay_net_counted_elsewhere{node="n1",dev="eth0"}', 0), series('belay_net_counted_elsewhere{node="n1",dev="bond0"}', 1),
    series('belay_node_disk_bytes_total{node="n1",kind="disk",name="nvme0n1",op="read"}', 0, 50),
    series('belay_node_disk_bytes_total{node="n1",kind="disk",name="dm-0",op="read"}', 0, 50),
    series('belay_filesystem_responsive{node="n1",kind="mount",name="/scratch",type="lustre",source="s"}', 0),
    series('belay_filesystem_responsive{node="n1",kind="mount",name="/",type="ext4",source="d"}', 1),
    series('belay_filesystem_size_bytes{node="n1",kind="mount",name="/",type="ext4",source="d"}', 100),
    series('belay_filesystem_available_bytes{node="n1",kind="mount",name="/",type="ext4",source="d"}', 25),
    series('belay_job_info{node="n1",job_id="4711",step_id="0",restart="0"}', 1),
    series('belay_job_info{node="n1",job_id="4711",step_id="0",restart="0",device="GPU-1"}', 1),
    series('belay_job_info{node="n2",job_id="4712",step_id="0",restart="0",device="GPU-2"}', 1),
    series('belay_gpu_sm_active_ratio{node="n1",device="GPU-1"}', 0.5), series('belay_gpu_sm_active_ratio{node="n2",device="GPU-2"}', 0.25),
    series('belay_gpu_energy_joules_total{node="n1",device="GPU-1"}', 10**6, 300),
    series('belay_gpu_energy_joules_total{node="n2",device="GPU-2"}', 0, 1),
    series('belay_process_cpu_seconds_total{node="n1",pid="7",job_id="4711",step_id="0",task="0",command="python",mode="user"}', 3, 0.5),
    series('belay_process_cpu_seconds_total{node="n1",pid="7",job_id="4711",step_id="0",task="0",command="python",mode="system"}', 3, 0.25),
    series('belay_process_cpu_children_unseen_seconds_total{node="n1",pid="7",job_id="4711",step_id="0",task="0",command="python"}',
           3, 0.25),
    series('belay_process_cpu_seconds_total{node="n1",pid="8",job_id="4712",step_id="0",task="0",command="python",mode="user"}', 3, 1),
    series('belay_progress_loss{node="n1",task="0",source="pattern",kind="train"}', 0.75),
    series('belay_progress_loss{node="n2",task="0",source="pattern",kind="train"}', 0.5),
])

# What panels show of them after five minutes.
EXPECTED = [
    ("cluster.json", "Nodes", "A", "stat", {"{}": 2}),
    ("cluster.json", "Jobs", "A", "stat", {"{}": 2}),
    ("cluster.json", "GPUs of jobs", "A", "stat", {"{}": 2}),
    ("cluster.json", "CPUs and memory", "A", "timeseries", {"{}": 0.125}),
    ("cluster.json", "CPUs and memory", "B", "timeseries", {"{}": 0.75}),
    ("cluster.json", "Network", "A", "timeseries", {'{dir="rx"}': 100}),
    ("cluster.json", "Disks", "A", "timeseries", {'{op="read"}': 50}),
    ("cluster.json", "Nodes", "A", "table", {'{node="n1"}': 0.25, '{node="n2"}': 0}),
    ("cluster.json", "Faults in this time", "A", "table", {
        '{node="n2", event="oom_kill", what="processes killed for lack of memory"}': 300,
        '{node="n1", kind="mount", name="/scratch", type="lustre", source="s", what="file system does not answer"}': 0}),
    ("node.json", "CPUs in use", "A", "timeseries", {'{mode="user"}': 1, '{mode="iowait"}': 1}),
    ("node.json", "Jobs", "A", "table", {'{job_id="4711"}': 2}),
    ("node.json", "File systems", "A", "bargauge", {'{node="n1", kind="mount", name="/", type="ext4", source="d"}': 0.75}),
    ("job.json", "Nodes", "A", "stat", {"{}": 1}),
    ("job.json", "GPUs", "A", "stat", {"{}": 1}),
    ("job.json", "CPUs in use", "A", "stat", {"{}": 1}),
    ("job.json", "CPUs in use", "A", "timeseries", {'{node="n1"}': 1}),
    ("job.json", "GPUs active", "A", "stat", {"{}": 0.5}),
    ("job.json", "Energy of GPUs", "A", "stat", {"{}": 90_000}),
    ("job.json", "Multiprocessors active", "A", "timeseries", {'{node="n1", device="GPU-1"}': 0.5}),
    ("job.json", "Loss", "A", "timeseries", {'{node="n1", task="0"}': 0.75}),
    ("job.json", "CPUs busy", "A", "timeseries", {'{node="n1"}': 0.25}),
]


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
class TestPrometheus(unittest.TestCase):
    def promtool(self, kind, files):
        """Writes files (name, text) and has the first one checked or tested."""
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files:
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)
            ended = subprocess.run(["promtool", kind, "rules", os.path.join(directory, files[0][0])], capture_output=True, text=True,
                                   timeout=120, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    def rules(self, expressions):
        text = "groups:\n- name: dashboards\n  rules:\n"
        for number, expression in enumerate(expressions):
            text += f"  - record: dashboard:expression:{number}\n    expr: {json.dumps(expression)}\n"
        return text

    def test_prometheus_reads_all_expressions(self):
        expressions = [plain(target["expr"]) for _, _, target in targets()]
        status, said = self.promtool("check", [("rules.yaml", self.rules(expressions))])
        self.assertEqual(status, 0, said)
        self.assertIn(f"SUCCESS: {len(expressions)} rules found", said)
        status, said = self.promtool("check", [("rules.yaml", self.rules([*expressions, "sum(belay_node_cpus"]))])
        self.assertNotEqual(status, 0, said)

    def panel_tests(self, expected):
        text = f"evaluation_interval: 15s\ntests:\n- interval: 15s\n  input_series:\n{SERIES}  promql_expr_test:\n"
        for name, title, ref, kind, values in expected:
            found = [target for panel in panels_of(dashboards()[name]) if (panel["title"], panel["type"]) == (title, kind)
                     for target in panel["targets"] if target["refId"] == ref]
            self.assertEqual(len(found), 1, f"{name}: {title}")
            expression = plain(found[0]["expr"]).replace('node=~"n1"', 'node=~".+"')
            text += f"  - expr: {json.dumps(f'round({expression}, 0.001)')}\n    eval_time: 5m\n    exp_samples:\n"
            for labels, value in values.items():
                text += f"    - labels: {json.dumps(labels)}\n      value: {value}\n"
        return text

    def test_prometheus_gives_what_panels_say_they_show(self):
        status, said = self.promtool("test", [("test.yaml", self.panel_tests(EXPECTED))])
        self.assertEqual(status, 0, said)
        status, said = self.promtool("test", [("test.yaml", self.panel_tests([(*EXPECTED[0][:4], {"{}": 3})]))])
        self.assertNotEqual(status, 0, said)


if __name__ == "__main__":
    with open(sys.argv.pop(1), encoding="utf-8") as declared_file:
        declared.update({metric["name"]: metric for metric in json.load(declared_file)})
    unittest.main()
