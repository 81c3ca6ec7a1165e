#!/usr/bin/python3
"""Node regression with sampled neighbourhoods; the size of a sample depends on the seed nodes."""
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


N, F = 1500, 10
g_rng = random.Random(SEED)
ADJ = [[g_rng.randrange(N) for _ in range(min(60, 3 + int(g_rng.paretovariate(1.3))))] for _ in range(N)]
FEAT = [[g_rng.gauss(0, 1) for _ in range(F)] for _ in range(N)]
RULE = [g_rng.gauss(0, 1) for _ in range(F)]


def sample_grad(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss, touched = [0.0] * F, 0.0, 0
    for _ in range(count):
        v = rng.randrange(N)
        hop = [u for a in ADJ[v] for u in ADJ[a]]
        touched += len(hop)
        m = [0.0] * F
        for u in hop:
            m = [p + q for p, q in zip(m, FEAT[u])]
        x = [p / math.sqrt(len(hop)) for p in m]
        e = sum(p * q for p, q in zip(w, x)) - sum(p * q for p, q in zip(RULE, x)) - rng.gauss(0, 0.3)
        loss += e * e
        g = [p + e * q for p, q in zip(g, x)]
    return g, loss, touched


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
    spread = plan.uniform(0.35, 0.7)
    announce(None, None, "", note="step times vary with the sample size", spread=round(spread, 2))
    n, pmap = parallel(sample_grad)
    w, step, rng, mark, nodes = [0.0] * F, 0, random.Random(SEED * 3 + RANK), clock(), 0
    while clock() < SECONDS:
        count = max(10, int(900 * rng.lognormvariate(0, spread)) // n)
        loss = 0.0
        touched = 0
        for g, l, t in pmap([(w, (SEED, step, j, RANK).__hash__(), count) for j in range(n)]):
            loss += l / (count * n)
            touched += t
            w = [a - 0.006 * b / (count * n) for a, b in zip(w, g)]
        step += 1
        nodes += touched
        if step % 5 == 0:
            print(json.dumps({"step": step, "loss": round(loss, 4), "sampled": nodes, "sec": round(clock() - mark, 3)}), flush=True)
            mark, nodes = clock(), 0


if __name__ == "__main__":
    main()
