#!/usr/bin/python3
"""Word vectors by weighted least squares, with an evaluation pass every few seconds."""
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


V, DIM = 500, 16
co_rng = random.Random(SEED)
HID = [[co_rng.gauss(0, 0.5) for _ in range(5)] for _ in range(V)]


def train_part(job):
    vec, seed, count = job
    rng = random.Random(seed)
    upd, loss = {}, 0.0
    for _ in range(count):
        a, b = rng.randrange(V), rng.randrange(V)
        e = sum(map(mul, vec[a], vec[b])) - sum(map(mul, HID[a], HID[b])) - rng.gauss(0, 0.1)
        loss += e * e
        for p, q in ((a, b), (b, a)):
            o = upd.get(p)
            upd[p] = [e * v for v in vec[q]] if o is None else [u + e * v for u, v in zip(o, vec[q])]
    return upd, loss / count


def eval_part(job):
    vec, first, stride, rows = job
    sq = c = 0
    for a in range(first, rows, stride):
        for b in range(V):
            e = sum(map(mul, vec[a], vec[b])) - sum(map(mul, HID[a], HID[b]))
            sq += e * e
            c += 1
    return sq, c


def task(job):
    return train_part(job[1:]) if job[0] == "t" else eval_part(job[1:])


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
    every = plan.uniform(6, 10) * min(1.0, SECONDS / 30)
    rows = plan.randint(120, 300)
    announce(None, None, "", evaluation_every_seconds=round(every, 1))
    n, pmap = parallel(task)
    rng = random.Random(SEED + 1)
    vec = [[rng.gauss(0, 0.25) for _ in range(DIM)] for _ in range(V)]
    step, last = 0, clock()
    while clock() < SECONDS:
        loss = 0.0
        for upd, l in pmap([("t", vec, (SEED, step, j, RANK).__hash__(), 3000 // n) for j in range(n)]):
            loss += l / n
            for p, g in upd.items():
                vec[p] = [a - 0.01 * b for a, b in zip(vec[p], g)]
        step += 1
        if step % 20 == 0:
            print("step %d | train loss %.4f" % (step, loss), flush=True)
        if clock() - last > every:
            b, sq, c = clock(), 0.0, 0
            print("evaluating ...", flush=True)
            for k in range(0, rows * 4, 100):
                for s, m in pmap([("e", vec, j, n, min(100, V)) for j in range(n)]):
                    sq += s
                    c += m
            print("step %d | eval rmse %.4f (%.1f s)" % (step, math.sqrt(sq / c), clock() - b), flush=True)
            last = clock()


if __name__ == "__main__":
    main()
