#!/usr/bin/python3
"""Patch regression; every patch is a file of its own, drawn at random each step."""
import time

T0 = time.monotonic()

import array
import ctypes
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import shutil
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


D = 64
ROOT = os.path.join(SCRATCH, "%s-data-r%d-%d" % (NAME, RANK, SEED))


def path_of(k):
    return os.path.join(ROOT, "%02x" % (k % 64), "patch-%06d.raw" % k)


def prepare(count, size):
    for d in range(64):
        os.makedirs(os.path.join(ROOT, "%02x" % d), exist_ok=True)
    rng = random.Random(SEED)
    body = array.array("f", [rng.gauss(0, 1) for _ in range(size // 4)]).tobytes()
    for k in range(count):
        with open(path_of(k), "wb") as f:
            cut = 4 * (k * 37 % (size // 4))
            f.write(body[cut:] + body[:cut])


def read_patch(k):
    with open(path_of(k), "rb") as f:
        return f.read()


def grad_on(job):
    w, patches, seed = job
    rng = random.Random(seed)
    g, loss = [0.0] * D, 0.0
    for p in patches:
        a = array.array("f", p)
        for at in range(0, 193, 12):
            x = a[at:at + D]
            e = sum(map(mul, w, x)) - x[0] - 0.5 * x[1] + rng.gauss(0, 0.3)
            loss += e * e
            g = [u + e * v for u, v in zip(g, x)]
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
    count = plan.randint(4000, 16000)
    size = plan.choice([1024, 2048, 4096])
    print("writing %d patches of %d bytes" % (count, size), flush=True)
    prepare(count, size)
    try:
        n, pmap = parallel(grad_on)
        rng, w = random.Random(SEED + RANK), [0.0] * D
        b = clock()
        probe = [read_patch(rng.randrange(count)) for _ in range(400)]
        t_read = (clock() - b) / 400
        b = clock()
        pmap([(w, probe[:300][j::n], j) for j in range(n)])
        t_step = clock() - b
        files = max(300, min(12000, int(t_step * share / (1 - share) / t_read)))
        announce(clock(), share, "share of a step reading files", files_per_step=files, files=count)
        print("%d patches, %d per step" % (count, files), flush=True)
        step, epoch, done = 0, 1, 0
        while clock() < SECONDS:
            batch = [read_patch(rng.randrange(count)) for _ in range(files)]
            use = batch[:300]
            loss = 0.0
            for g, l in pmap([(w, use[j::n], (SEED, step, j).__hash__()) for j in range(n)]):
                loss += l / 5100
                w = [a - 0.008 * v / 5100 for a, v in zip(w, g)]
            step += 1
            done += files
            if step % 10 == 0:
                print("Epoch %d/20, step %d, loss=%.4f, %d files" % (epoch, step, loss, done), flush=True)
            epoch = 1 + step // 100
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)


if __name__ == "__main__":
    main()
