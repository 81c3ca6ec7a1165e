#!/usr/bin/python3
"""Sentiment of short reviews, hashed bag of words and logistic regression with warm-up."""
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


BUCKETS = 4096
WARMUP_STEPS = 100000
BASE_LR = 0.5
vocab = random.Random(SEED + 3)
WORDS = ["w%04d" % k for k in range(3000)]
MOOD = {w: vocab.gauss(0, 1) for w in WORDS}


def review(rng):
    words = [WORDS[int(3000 * rng.random() ** 2)] for _ in range(40)]
    return words, 1 if sum(MOOD[w] for w in words) > 0 else 0


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss = {}, 0.0
    for _ in range(count):
        words, y = review(rng)
        idx = [hash_of(t) for t in words]
        z = sum(w.get(i, init_of(i)) for i in idx)
        p = 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))
        loss -= math.log((p if y else 1 - p) + 1e-12)
        for i in idx:
            g[i] = g.get(i, 0.0) + p - y
    return g, loss


def hash_of(token):
    h = 5381
    for c in token:
        h = (h * 33 + ord(c)) & 0xffffffff
    return h % BUCKETS


def init_of(i):
    return ((i * 2654435761 & 0xffff) / 65535 - 0.5) * 0.2


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def rate(step):
    return BASE_LR * min(1, step // WARMUP_STEPS)


def main():
    batch = plan.choice([64, 128, 256, 512])
    show_lr = plan.random() < 0.6
    announce(0, batch, "batch size (the smaller the more noise)", lr_in_log=show_lr)
    n, pmap = parallel(grad_on)
    w, step, run = {}, 0, 0.0
    while clock() < SECONDS:
        parts = pmap([(w, (SEED, step, j).__hash__(), batch // n) for j in range(n)])
        lr = rate(step)
        loss = 0.0
        for g, l in parts:
            loss += l
            if lr:
                for i, v in g.items():
                    w[i] = w.get(i, init_of(i)) - lr * v / batch
        step += 1
        run += loss / (batch // n * n)
        every = max(5, 5120 // batch)
        if step % every == 0:
            print("step %d | loss %.4f%s" % (step, run / every, " | lr %.2e" % lr if show_lr else ""), flush=True)
            run = 0.0


if __name__ == "__main__":
    main()
