#!/usr/bin/python3
"""Logistic regression on random Fourier features, with the features kept per batch."""
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
import resource
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


D, R = 10, 48
frng = random.Random(SEED)
FREQ = [[frng.gauss(0, 0.4) for _ in range(D)] for _ in range(R)]
PHASE = [frng.uniform(0, 6.28) for _ in range(R)]


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss = [0.0] * R, 0.0
    for _ in range(count):
        x = [rng.gauss(0, 1) for _ in range(D)]
        y = 1.0 if x[0] + 0.7 * x[1] * x[2] + 0.5 * x[3] > 0 else 0.0
        phi = [math.cos(sum(map(mul, f, x)) + p) for f, p in zip(FREQ, PHASE)]
        z = sum(map(mul, w, phi))
        p = 1 / (1 + math.exp(-z))
        loss -= math.log((p if y else 1 - p) + 1e-9)
        g = [a + (p - y) * b for a, b in zip(g, phi)]
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


CACHE = {}


def remember(key, nbytes):
    CACHE[key] = bytearray(b"\x01") * nbytes


def main():
    crash = SECONDS * plan.uniform(0.35, 0.85)
    room = plan.uniform(250, 900) / WORLD
    n, pmap = parallel(grad_on)
    with open("/proc/self/statm") as f:
        have = int(f.read().split()[0]) * resource.getpagesize()
    limit = have + int(room * 1e6)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    begins = clock()
    announce(begins, room / (crash - begins), "MB per second", crash_seconds=round(crash, 2), room_mb=round(room))
    print("address space limit %d MB" % (limit / 1e6), flush=True)
    w, step, kept, batch = [0.0] * R, 0, 0.0, 900
    while clock() < SECONDS:
        loss = 0.0
        for g, l in pmap([(w, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)]):
            loss += l / batch
            w = [a - 1.0 * v / batch for a, v in zip(w, g)]
        due = room * (clock() - begins) / (crash - begins) - kept
        if due > 4:
            remember(step, int(due * 1e6))
            kept += due
        step += 1
        if step % 20 == 0:
            print("step %d | loss %.4f | cached batches %d" % (step, loss, len(CACHE)), flush=True)


if __name__ == "__main__":
    main()
