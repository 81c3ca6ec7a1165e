#!/usr/bin/python3
"""Toy segmentation net; keeps every checkpoint in SCRATCH_DIR/small."""
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


D, H = 25, 14
OUT = os.path.join(SCRATCH, "small")
krng = random.Random(SEED)
KERNEL = [krng.gauss(0, 0.4) for _ in range(D)]


def grad_on(job):
    w1, w2, seed, count = job
    rng = random.Random(seed)
    g1, g2, loss = [[0.0] * D for _ in range(H)], [0.0] * H, 0.0
    for _ in range(count):
        x = [rng.gauss(0, 1) for _ in range(D)]
        y = 1.0 if sum(map(mul, KERNEL, x)) > 0.2 else -1.0
        h = [math.tanh(sum(map(mul, r, x))) for r in w1]
        e = sum(map(mul, w2, h)) - y
        loss += e * e
        for k in range(H):
            g2[k] += e * h[k]
            d = e * w2[k] * (1 - h[k] * h[k])
            g1[k] = [a + d * b for a, b in zip(g1[k], x)]
    return [v for r in g1 for v in r] + g2 + [loss]


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def save(step, w1, w2, pad):
    blob = array.array("d", [v for r in w1 for v in r] + w2).tobytes()
    path = os.path.join(OUT, "rank%d-step%06d.ckpt" % (RANK, step))
    with open(path, "wb") as f:
        f.write(blob)
        left = pad
        while left > 0:
            f.write(blob[:1] * min(left, 1 << 20))
            left -= 1 << 20


def main():
    full_at = SECONDS * plan.uniform(0.3, 0.8)
    count = plan.randint(5, 16)
    announce(full_at, count, "checkpoints that fit")
    os.makedirs(OUT, exist_ok=True)
    st = os.statvfs(OUT)
    if st.f_blocks * st.f_frsize > 256 << 20:
        sys.stderr.write("%s: not a small file system\n" % OUT)
        sys.exit(77)
    size = int(st.f_bavail * st.f_frsize / WORLD / (count - 0.4))
    n, pmap = parallel(grad_on)
    rng = random.Random(SEED + 8)
    w1 = [[rng.gauss(0, 0.2) for _ in range(D)] for _ in range(H)]
    w2 = [rng.gauss(0, 0.2) for _ in range(H)]
    step, batch, saved = 0, 240, 0
    while clock() < SECONDS:
        parts = pmap([(w1, w2, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)])
        tot = [sum(p) for p in zip(*parts)]
        for k in range(H):
            w1[k] = [a - 0.15 * b / batch for a, b in zip(w1[k], tot[k * D:(k + 1) * D])]
            w2[k] -= 0.15 * tot[H * D + k] / batch
        step += 1
        done = min(1.0, clock() / SECONDS)
        bar = "#" * int(20 * done)
        sys.stderr.write("\rtrain: %3d%%|%-20s| step %d [%02d:%02d, loss=%.4f]" % (
            100 * done, bar, step, clock() // 60, clock() % 60, tot[-1] / batch))
        sys.stderr.flush()
        if clock() > full_at * (saved + 1) / count:
            save(step, w1, w2, size)
            saved += 1
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
