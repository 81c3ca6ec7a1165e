#!/usr/bin/python3
"""Denoiser for a two-dimensional toy distribution; saves model, optimiser state and the noise bank."""
import time

T0 = time.monotonic()

import array
import ctypes
import json
import math
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import glob
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


H = 40
OUT = os.path.join(SCRATCH, "%s-ckpt-r%d-%d" % (NAME, RANK, SEED))


def grad_on(job):
    w1, w2, seed, count = job
    rng = random.Random(seed)
    g1, g2, loss = [[0.0] * 4 for _ in range(H)], [[0.0] * H for _ in range(2)], 0.0
    for _ in range(count):
        t, ang = rng.random(), rng.uniform(0, 6.2832)
        eps = (rng.gauss(0, 1), rng.gauss(0, 1))
        x = (math.cos(ang) * (1 - t) + eps[0] * t, math.sin(ang) * (1 - t) + eps[1] * t, t, 1.0)
        h = [math.tanh(sum(map(mul, r, x))) for r in w1]
        back = [0.0] * H
        for o in range(2):
            e = sum(map(mul, w2[o], h)) - eps[o]
            loss += e * e
            g2[o] = [a + e * b for a, b in zip(g2[o], h)]
            back = [a + e * b for a, b in zip(back, w2[o])]
        for k in range(H):
            d = back[k] * (1 - h[k] * h[k])
            g1[k] = [a + d * b for a, b in zip(g1[k], x)]
    return g1, g2, loss


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def save(step, state, bank):
    path = os.path.join(OUT, "step-%06d.pt" % step)
    with open(path, "wb") as f:
        f.write(array.array("d", state).tobytes())
        for _ in range(bank):
            f.write(BLOCK)
        f.flush()
        os.fsync(f.fileno())
    for old in sorted(glob.glob(os.path.join(OUT, "*.pt")))[:-2]:
        os.unlink(old)


BLOCK = os.urandom(1 << 20)


def main():
    share = plan.uniform(0.2, 0.45)
    mb = plan.randint(40, 160) // WORLD
    os.makedirs(OUT, exist_ok=True)
    announce(0, share, "share of the time in checkpoints", checkpoint_mb=mb)
    n, pmap = parallel(grad_on)
    rng = random.Random(SEED)
    w1 = [[rng.gauss(0, 0.4) for _ in range(4)] for _ in range(H)]
    w2 = [[rng.gauss(0, 0.2) for _ in range(H)] for _ in range(2)]
    step, batch, spent, saves = 0, 1500, 0.0, 0
    began = clock()
    try:
        while clock() < SECONDS:
            loss = 0.0
            for g1, g2, l in pmap([(w1, w2, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)]):
                loss += l / batch / 2
                for k in range(H):
                    w1[k] = [a - 0.012 * b / batch for a, b in zip(w1[k], g1[k])]
                for o in range(2):
                    w2[o] = [a - 0.012 * b / batch for a, b in zip(w2[o], g2[o])]
            step += 1
            if step % 10 == 0:
                print("step %d | loss %.4f" % (step, loss), flush=True)
            if step > 5 and spent < share * (clock() - began):
                b = clock()
                save(step, [v for r in w1 + w2 for v in r], mb)
                spent += clock() - b
                saves += 1
                print("saved step-%06d.pt (%d MB)" % (step, mb), flush=True)
    finally:
        for p in glob.glob(os.path.join(OUT, "*.pt")):
            os.unlink(p)
        os.rmdir(OUT)
    print("done: %d steps, %d checkpoints" % (step, saves))


if __name__ == "__main__":
    main()
