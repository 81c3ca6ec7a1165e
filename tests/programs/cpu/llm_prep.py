#!/usr/bin/python3
"""Bigram language model; the corpus shards are staged first."""
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


V = 40
chain = random.Random(SEED)
NEXT = [[chain.random() ** 3 for _ in range(V)] for _ in range(V)]


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss, c = [[0.0] * V for _ in range(V)], 0.0, 0
    for _ in range(count):
        t = rng.choices(range(V), NEXT[c])[0]
        row = w[c]
        m = max(row)
        e = [math.exp(v - m) for v in row]
        s = sum(e)
        loss -= math.log(e[t] / s)
        g[c] = [a + b / s for a, b in zip(g[c], e)]
        g[c][t] -= 1
        c = t
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


def stage(until, talk):
    k, shards, first = 0, 16, clock()
    while clock() < until:
        time.sleep(max(0.01, min(0.5, until - clock())))
        if talk and clock() > first + (k + 1) * (until - first) / shards:
            k += 1
            print("shard %02d/%d staged" % (k, shards), flush=True)


def main():
    share = plan.uniform(0.5, 0.75)
    talk = plan.random() < 0.5
    announce(0, share, "share of the run before the first step", fault_ends_seconds=round(share * SECONDS, 2), says_so=talk)
    print("preparing corpus ...", flush=True)
    stage(share * SECONDS, talk)
    n, pmap = parallel(grad_on)
    w, step = [[0.0] * V for _ in range(V)], 0
    while clock() < SECONDS:
        loss = 0.0
        for g, l in pmap([(w, (SEED, step, j, RANK).__hash__(), 6000 // n) for j in range(n)]):
            loss += l / 6000
            for a in range(V):
                w[a] = [u - 5.0 * v / 6000 for u, v in zip(w[a], g[a])]
        step += 1
        if step % 10 == 0:
            print("step %d | loss %.4f | ppl %.1f" % (step, loss, math.exp(loss)), flush=True)
    print("finished")


if __name__ == "__main__":
    main()
