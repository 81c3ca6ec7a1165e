"""Puts what `measure` left in a folder into one JSON object: device, readings of Belay and of the peer by kind of work."""

import csv
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys


def rows_of(path):
    answer = json.loads(path.read_text())
    names = [column["name"] if isinstance(column, dict) else column for column in answer["columns"]]
    return [dict(zip(names, row)) for row in answer["rows"]]


def median_of(rows, name):
    values = [float(row[name]) for row in rows]
    return statistics.median(values) if values else None


def main():
    out = pathlib.Path(sys.argv[1])
    with open(out / "peer.csv", newline="") as file:
        peer = list(csv.DictReader(file))
    kinds = []
    for line in (out / "spans").read_text().splitlines():
        kind, begin, end = line.split()
        readings = rows_of(out / f"{kind}.readings")[0]
        during = [row for row in peer if readings["begin"] and readings["begin"] <= float(row["time"]) <= readings["end"]]
        work = (out / f"{kind}.json").read_text().strip()
        user, system = map(float, (out / f"{kind}.time").read_text().split()[-2:])
        kinds.append({
            "kind": kind,
            "work": json.loads(work) if work else None,
            "belay": readings,
            "peer": {name: median_of(during, name) for name in (peer[0] if peer else {}) if name != "time"},
            "peer_rows": len(during),
            "seconds": float(end) - float(begin),
            "cpu_seconds": user + system,
        })
    machine = f"{os.cpu_count()} CPUs, Linux {platform.release()}"
    date = datetime.date.today().isoformat()
    json.dump({"date": date, "machine": machine, "device": rows_of(out / "device.readings")[0], "kinds": kinds}, sys.stdout, indent=1, default=str)
    print()


main()
