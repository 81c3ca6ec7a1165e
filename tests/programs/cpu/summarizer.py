#!/usr/bin/python3
"""Extractive summaries: scores sentences by position and length, then reports the quality by source."""
import time

T0 = time.monotonic()

import ctypes
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
from operator import mul

NAME = os.path.splitext(os.path.basename(sys.argv[0]))[0]
if len(sys.argv) < 3:
    sys.exit("usage: %s SECONDS SEED [SCRATCH_DIR]" % NAME)
SECONDS = float(sys.argv[1])
SEED = int(sys.argv[2])
RANK = int(os.environ.get("SLURM_PROCID", "0"))
WORLD = 1
if "SLURM_PROCID" in os.environ:
    WORLD = int(os.environ.get("SLURM_STEP_NUM_TASKS") or os.environ.get("SLURM_NTASKS") or "1")
SCRATCH = sys.argv[3] if len(sys.argv) > 3 else os.path.join(tempfile.gettempdir(), "%s-%d" % (NAME, SEED))
os.makedirs(SCRATCH, exist_ok=True)
plan = random.Random("%s/%d" % (NAME, SEED))


def clock():
    return time.monotonic() - T0


def cpus():
    n = os.environ.get("SLURM_CPUS_PER_TASK")
    if n:
        return max(1, int(n))
    return max(1, len(os.sched_getaffinity(0)) // WORLD)


def announce(begins, strength, unit, **more):
    path = os.environ.get("TRUTH_FILE")
    if path and RANK == 0:
        line = {"program": NAME, "seed": SEED, "seconds": SECONDS, "tasks": WORLD,
                "started_unix": round(time.time() - clock(), 3),
                "fault_begins_seconds": None if begins is None else round(begins, 2),
                "strength": None if strength is None else round(strength, 3), "strength_unit": unit}
        line.update(more)
        with open(path, "a") as f:
            f.write(json.dumps(line) + "\n")


D = 12
truth = random.Random(SEED)
RULE = [truth.gauss(0, 1) for _ in range(D)]
SOURCES = ["news", "legal", "forum", "wiki"]


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss, seen = [0.0] * D, 0.0, {}
    for _ in range(count):
        s = SOURCES[min(3, int(rng.expovariate(1.0)))]
        x = [rng.gauss(0, 1) for _ in range(D)]
        e = sum(map(mul, w, x)) - sum(map(mul, RULE, x)) - rng.gauss(0, 0.5)
        loss += e * e
        a = seen.setdefault(s, [0, 0.0])
        a[0] += 1
        a[1] += e * e
        g = [u + e * v for u, v in zip(g, x)]
    return g, loss, seen


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def report(by_source, source):
    rows = by_source.get(source, [0, 0.0])
    return source, rows[1] / rows[0]


def main():
    late = SECONDS * plan.uniform(0.7, 0.95)
    announce(late, 1, "ends with a traceback")
    n, pmap = parallel(grad_on)
    w, step, epoch, by_source = [0.0] * D, 0, 1, {}
    while clock() < SECONDS:
        loss = 0.0
        for g, l, seen in pmap([(w, (SEED, step, j, RANK).__hash__(), 6000 // n) for j in range(n)]):
            loss += l / 6000
            w = [a - 0.02 * v / 6000 for a, v in zip(w, g)]
            for s, (c, v) in seen.items():
                a = by_source.setdefault(s, [0, 0.0])
                a[0] += c
                a[1] += v
        step += 1
        if step % 20 == 0:
            print("Epoch %d/8, step %d, loss=%.4f" % (epoch, step, loss), flush=True)
        if step % 100 == 0:
            epoch += 1
        if clock() > late:
            print("quality by source:", flush=True)
            for s in SOURCES + ["mail"]:
                print("  %-6s %.4f" % report(by_source, s), flush=True)


if __name__ == "__main__":
    main()
