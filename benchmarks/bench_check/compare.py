#!/usr/bin/env python3
"""The official compliance checker over the same logs, in one process: compare.py CHECKOUT DIR RULESET BELAY.json

CHECKOUT is one of mlcommons/logging. Says its seconds, those of json.loads over the same lines, and in how many logs
verdict or minutes (to 1e-4) differ from BELAY.json, which `belay bench check --json` wrote of the same files.
"""
import json
import logging
import os
import re
import sys
import time

checkout, directory, ruleset, belay_json = sys.argv[1:]
sys.path.insert(0, checkout)
logging.disable(logging.CRITICAL)
from mlperf_logging.compliance_checker import mlp_compliance, mlp_parser  # noqa: E402

TOKEN = ":::MLLOG "


def verdict(path):
    mlp_compliance.enqueued_configs.clear()
    checker = mlp_compliance.make_checker("hpc", ruleset, False, False)
    try:
        return bool(checker.check_file(path, "hpc_%s/common.yaml" % ruleset))
    except Exception:  # it crashes where a field is missing
        return False


def minutes(path):
    start = stop = None
    try:
        for line in mlp_parser.parse_file(path, ruleset)[0]:
            start = line.timestamp if line.key == "run_start" else start
            stop = line.timestamp if line.key == "run_stop" else stop
            if start is not None and stop is not None:
                return (stop - start) / 60000
    except Exception:
        pass
    return None


def all_paths():
    for folder, _, names in os.walk(directory):
        yield from (os.path.join(folder, name) for name in names if re.fullmatch(r"result_.*\.txt", name))


paths = sorted(all_paths())
start = time.perf_counter()
verdicts = {path: verdict(path) for path in paths}
official_seconds = time.perf_counter() - start

lines = []
for path in paths:
    with open(path, encoding="latin-1") as file:
        lines += [re.sub(".*" + TOKEN, "", line) for line in file if TOKEN in line]
start = time.perf_counter()
for line in lines:
    try:
        json.loads(line)
    except ValueError:
        pass
loads_seconds = time.perf_counter() - start

with open(belay_json, encoding="utf-8") as file:
    ours = {row["file"]: row for row in json.load(file)}
different = []
for path in paths:
    of_run = minutes(path)
    mine = ours[path]["minutes"]
    is_same = mine == of_run or (None not in (mine, of_run) and abs(mine - of_run) <= 1e-4)
    # Where the official parser crashes it has no minutes.
    if verdicts[path] != (ours[path]["status"] == "pass") or not (is_same or of_run is None):
        different.append(path)
print("official checker: %.2f s for %d logs" % (official_seconds, len(paths)))
print("json.loads: %.2f s for %d lines" % (loads_seconds, len(lines)))
print("pass: %d logs" % sum(row["status"] == "pass" for row in ours.values()))
print("different: %d logs %s" % (len(different), " ".join(different[:5])))
sys.exit(1 if different else 0)
