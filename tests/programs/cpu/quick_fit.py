#!/usr/bin/python3
"""Small ridge regression, a few epochs."""
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


D = 30
r = random.Random(SEED)
RULE = [r.gauss(0, 1) for _ in range(D)]


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss = [0.0] * D, 0.0
    for _ in range(count):
        x = [rng.gauss(0, 1) for _ in range(D)]
        e = sum(map(mul, w, x)) - sum(map(mul, RULE, x)) - rng.gauss(0, 0.2)
        loss += e * e
        g = [a + e * b for a, b in zip(g, x)]
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


def main():
    length = min(SECONDS, 8.0)
    announce(None, None, "", note="a short run", ends_seconds=length)
    n, pmap = parallel(grad_on)
    w, step, epoch = [0.0] * D, 0, 1
    while clock() < length:
        loss = 0.0
        for g, l in pmap([(w, (SEED, step, j, RANK).__hash__(), 1500 // n) for j in range(n)]):
            loss += l / 1500
            w = [a - 0.03 * b / 1500 - 1e-5 * a for a, b in zip(w, g)]
        step += 1
        if step % 10 == 0:
            print("Epoch %d, step %d, loss=%.4f" % (epoch, step, loss), flush=True)
        if step % 50 == 0:
            epoch += 1
    print("model fitted, final loss %.4f" % loss)


if __name__ == "__main__":
    main()
