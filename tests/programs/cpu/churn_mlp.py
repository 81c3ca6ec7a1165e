#!/usr/bin/python3
"""Customer churn: small perceptron on a table read from text lines."""
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


D, H, BATCH = 16, 20, 240
data = random.Random(SEED + 100)
RULE = [data.gauss(0, 1) for _ in range(D)]


def record(rng, broken):
    x = [rng.gauss(0, 1) for _ in range(D)]
    y = 1 if sum(map(mul, RULE, x)) + 0.8 * x[0] * x[1] + rng.gauss(0, 1.0) > 0 else 0
    cells = ["%.4f" % v for v in x]
    if broken:
        cells[rng.randrange(D)] = "nan"
    return ",".join(cells) + ",%d" % y


def grad_on(job):
    w1, w2, lines = job
    g1 = [[0.0] * D for _ in range(H)]
    g2 = [0.0] * H
    loss, hit = 0.0, 0
    for line in lines:
        cells = line.split(",")
        x, y = [float(c) for c in cells[:D]], int(cells[D])
        h = [math.tanh(sum(map(mul, r, x))) for r in w1]
        z = sum(map(mul, w2, h))
        p = 1 / (1 + math.exp(-z)) if -30 < z < 30 or z != z else (z > 0) * 1.0
        p_true = p if y else 1 - p
        loss -= math.log(p_true + 1e-12)
        hit += (p > 0.5) == y
        d = p - y
        for k in range(H):
            g2[k] += d * h[k]
            e = d * w2[k] * (1 - h[k] * h[k])
            g1[k] = [a + e * b for a, b in zip(g1[k], x)]
    return [v for r in g1 for v in r] + g2 + [loss, float(hit)]


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def main():
    begins = SECONDS * plan.uniform(0.15, 0.7)
    broken = plan.choice([1, 1, 2, 5, 20])
    every = plan.choice([10, 25, 50])
    announce(begins, broken, "broken records in the batch")
    n, pmap = parallel(grad_on)
    rng = random.Random(SEED)
    w1 = [[rng.gauss(0, 0.2) for _ in range(D)] for _ in range(H)]
    w2 = [rng.gauss(0, 0.2) for _ in range(H)]
    step, epoch, lr, per_epoch, seen = 0, 1, 0.25, 150, False
    while clock() < SECONDS:
        bad = 0
        if clock() >= begins and not seen:
            bad, seen = broken, True
        lines = [record(rng, k < bad) for k in range(BATCH)]
        parts = pmap([(w1, w2, lines[j::n]) for j in range(n)])
        tot = [sum(p) for p in zip(*parts)]
        for k in range(H):
            w1[k] = [a - lr * b / BATCH for a, b in zip(w1[k], tot[k * D:(k + 1) * D])]
            w2[k] -= lr * tot[H * D + k] / BATCH
        step += 1
        if step % every == 0:
            print("Epoch %d/12, step %d, loss=%.4f, acc=%.3f" % (epoch, step % per_epoch, tot[-2] / BATCH, tot[-1] / BATCH), flush=True)
        if step % per_epoch == 0:
            epoch += 1


if __name__ == "__main__":
    main()
