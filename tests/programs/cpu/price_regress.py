#!/usr/bin/python3
"""House prices: linear model, gradient descent with momentum-free steps and a multi-step learning rate."""
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


D, N = 24, 1600
rng = random.Random(SEED + 4)
TRUE = [rng.gauss(0, 1) for _ in range(D)]
SCALE = [0.4 + 1.2 * rng.random() for _ in range(D)]
X = [[s * rng.gauss(0, 1) for s in SCALE] for _ in range(N)]
Y = [sum(map(mul, TRUE, x)) + rng.gauss(0, 0.4) for x in X]


def grad_on(job):
    w, idx, jitter = job
    r = random.Random(jitter)
    g, loss = [0.0] * D, 0.0
    for i in idx:
        x = X[i]
        e = sum(map(mul, w, x)) - Y[i] + r.gauss(0, 0.2)
        loss += 0.5 * e * e
        g = [a + e * b for a, b in zip(g, x)]
    return g + [loss]


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def top_curvature():
    v = [1.0] * D
    for _ in range(30):
        u = [0.0] * D
        for x in X:
            p = sum(map(mul, x, v))
            u = [a + p * b for a, b in zip(u, x)]
        size = math.sqrt(sum(a * a for a in u))
        v = [a / size for a in u]
    return size / N


def main():
    milestone = SECONDS * plan.uniform(0.25, 0.6)
    decades = plan.uniform(7, 40)
    announce(milestone, decades, "decades of growth until the end")
    n, pmap = parallel(grad_on)
    curv = top_curvature()
    w = [0.0] * D
    lr = 0.2 / curv
    step, passed, since = 0, False, clock()
    while clock() < SECONDS:
        if not passed and clock() >= milestone and step > 5:
            left = (SECONDS - clock()) / ((clock() - since) / step)
            lr = (1 + 10 ** (decades / (2 * left))) / curv
            passed = True
        parts = pmap([(w, range(j, N, n), SEED * 1000003 + step * 17 + j) for j in range(n)])
        tot = [sum(p) for p in zip(*parts)]
        w = [a - lr * b / N for a, b in zip(w, tot)]
        step += 1
        if step % 20 == 0:
            print("step %5d | loss %.4g | lr %.3e" % (step, tot[-1] / N, lr), flush=True)
    print("done | steps %d" % step)


if __name__ == "__main__":
    main()
