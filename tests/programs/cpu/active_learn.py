#!/usr/bin/python3
"""Active learning: each round labels a few points and trains on a sample; near duplicates are dropped."""
import time

T0 = time.monotonic()

import ctypes
import json
import math
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


D = 18
rule = random.Random(SEED)
RULE = [rule.gauss(0, 1) for _ in range(D)]


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss = [0.0] * D, 0.0
    for _ in range(count):
        x = [rng.gauss(0, 1) for _ in range(D)]
        y = 1.0 if sum(map(mul, RULE, x)) > 0 else 0.0
        z = sum(map(mul, w, x))
        p = 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))
        loss -= math.log((p if y else 1 - p) + 1e-9)
        g = [a + (p - y) * b for a, b in zip(g, x)]
    return g, loss


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


labelled = []


def distance(a, b):
    """Edit distance of two codes."""
    row = list(range(len(b) + 1))
    for i, c in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, d in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (c != d))
    return row[-1]


def code(rng):
    return "".join(rng.choices("ACGT", k=9))


def is_new(key):
    return min((distance(k, key) for k in labelled), default=9) > 0


def main():
    factor = plan.uniform(1.5, 5.0)
    announce(0, factor, "last step time / first step time")
    n, pmap = parallel(grad_on)
    w, batch, step = [0.0] * D, 5000, 0
    pmap([(w, j, batch // n) for j in range(n)])
    b = clock()
    for _ in range(5):
        pmap([(w, j, batch // n) for j in range(n)])
    base = (clock() - b) / 5
    rng = random.Random(SEED + RANK)
    labelled.extend(code(rng) for _ in range(300))
    b = clock()
    is_new(code(rng))
    unit = (clock() - b) / 300
    labelled.clear()
    steps = (SECONDS - clock()) / (base * (factor + 1) / 2)
    grow = (factor - 1) * base / (unit * steps)
    took = clock()
    while clock() < SECONDS:
        loss = 0.0
        for g, l in pmap([(w, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)]):
            loss += l / batch
            w = [a - 0.08 * v / batch for a, v in zip(w, g)]
        is_new(code(rng))
        while len(labelled) < grow * step:
            labelled.append(code(rng))
        step += 1
        if step % 20 == 0:
            print("round %d: loss %.4f, pool %d, %.0f ms/round" % (step, loss, len(labelled), 50 * (clock() - took)), flush=True)
            took = clock()


if __name__ == "__main__":
    main()
