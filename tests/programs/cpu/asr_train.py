#!/usr/bin/python3
"""Keyword spotting; samples come one by one from the object store."""
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
import queue
import threading
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


D, K, BATCH = 30, 6, 24
wrng = random.Random(SEED)
PROTO = [[wrng.gauss(0, 0.35) for _ in range(D)] for _ in range(K)]


class ObjectStore:
    def __init__(self, latency):
        self.latency, self.rng = latency, random.Random(SEED + RANK)

    def get(self):
        time.sleep(self.latency * self.rng.uniform(0.6, 1.4))
        k = self.rng.randrange(K)
        return [[c + self.rng.gauss(0, 1) for c in PROTO[k]] for _ in range(4)], k


def loader(store, q):
    while True:
        q.put([store.get() for _ in range(BATCH)])


def grad_on(job):
    w, items, views = job
    g, loss = [[0.0] * D for _ in range(K)], 0.0
    for frames, k in items:
        for v in range(views):
            x = frames[v % 4]
            z = [sum(map(mul, r, x)) for r in w]
            m = max(z)
            e = [math.exp(a - m) for a in z]
            s = sum(e)
            loss -= math.log(e[k] / s + 1e-12)
            for c in range(K):
                d = e[c] / s - (c == k)
                g[c] = [a + d * b for a, b in zip(g[c], x)]
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
    share = plan.uniform(0.4, 0.85)
    announce(0, share, "share of a step waiting for data")
    n, pmap = parallel(grad_on)
    w, views, lr = [[0.0] * D for _ in range(K)], 40, 0.15
    probe = [ObjectStore(0).get() for _ in range(BATCH)]
    pmap([(w, probe[j::n], views) for j in range(n)])
    b = clock()
    for _ in range(4):
        pmap([(w, probe[j::n], views) for j in range(n)])
    cost = (clock() - b) / 4
    q = queue.Queue(1)
    threading.Thread(target=loader, args=(ObjectStore(cost / (1 - share) / BATCH), q), daemon=True).start()
    step = 0
    while clock() < SECONDS:
        batch = q.get()
        loss = 0.0
        for g, l in pmap([(w, batch[j::n], views) for j in range(n)]):
            loss += l / (BATCH * views)
            for c in range(K):
                w[c] = [a - lr * b / (BATCH * views) for a, b in zip(w[c], g[c])]
        step += 1
        sys.stderr.write("\rtraining: %dit [%02d:%02d, %.2fit/s, loss=%.3f]" % (step, clock() // 60, clock() % 60, step / clock(), loss))
        sys.stderr.flush()
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
