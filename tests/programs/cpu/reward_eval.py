#!/usr/bin/python3
"""Policy gradient on a bandit; each batch starts an external scorer in the background."""
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


ARMS = 40
brng = random.Random(SEED)
PAY = [brng.random() for _ in range(ARMS)]


def rollout(job):
    theta, seed, count = job
    rng = random.Random(seed)
    m = max(theta)
    e = [math.exp(t - m) for t in theta]
    s = sum(e)
    p = [v / s for v in e]
    g, total = [0.0] * ARMS, 0.0
    for _ in range(count):
        a = rng.choices(range(ARMS), p)[0]
        r = 1.0 if rng.random() < PAY[a] else 0.0
        total += r
        adv = r - 0.5
        g = [x - adv * q for x, q in zip(g, p)]
        g[a] += adv
    return g, total


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def start_scorer():
    os.posix_spawn("/bin/true", ["true", "--score", "last"], os.environ)


def main():
    per_second = plan.uniform(1.5, 8)
    begins = SECONDS * plan.uniform(0.0, 0.3)
    announce(begins, per_second, "children left unreaped per second")
    n, pmap = parallel(rollout)
    theta, step, started = [0.0] * ARMS, 0, 0
    while clock() < SECONDS:
        parts = pmap([(theta, (SEED, step, j).__hash__(), 2500 // n) for j in range(n)])
        total = 0.0
        for g, r in parts:
            total += r
            theta = [t + 2.0 * v / 2500 for t, v in zip(theta, g)]
        step += 1
        while started < min(900, per_second * (clock() - begins)):
            start_scorer()
            started += 1
        if step % 20 == 0:
            print("[%7.2fs] iter %d avg_reward %.4f" % (clock(), step, total / 2500), flush=True)


if __name__ == "__main__":
    main()
