#!/usr/bin/python3
"""Next frame prediction on short clips kept as files in the scratch directory."""
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
import resource
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


D = 48
CLIPS = os.path.join(SCRATCH, "%s-clips-r%d-%d" % (NAME, RANK, SEED))


def make_clips(n):
    os.makedirs(CLIPS, exist_ok=True)
    rng = random.Random(SEED)
    for k in range(n):
        x, v = [rng.uniform(-1, 1) for _ in range(D)], []
        for _ in range(40):
            x = [0.72 * a + 0.25 * b + rng.gauss(0, 0.1) for a, b in zip(x, x[1:] + x[:1])]
            v += x
        with open(os.path.join(CLIPS, "clip%03d.bin" % k), "wb") as f:
            f.write(array.array("f", v).tobytes())


class ClipIndex:
    def __init__(self, n):
        self.n, self.handles = n, []

    def frames(self, k):
        f = open(os.path.join(CLIPS, "clip%03d.bin" % (k % self.n)), "rb")
        self.handles.append(f)
        a = array.array("f", f.read())
        return [list(a[i:i + D]) for i in range(0, len(a), D)]


def grad_on(job):
    w, clip = job
    g, loss, cnt = [[0.0] * D for _ in range(D)], 0.0, 0
    for x, y in zip(clip, clip[1:]):
        for o in range(D):
            e = sum(map(mul, w[o], x)) - y[o]
            loss += e * e
            cnt += 1
            g[o] = [a + e * b for a, b in zip(g[o], x)]
    return g, loss / cnt


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
    limit = plan.choice([64, 96, 128, 256])
    crash = SECONDS * plan.uniform(0.35, 0.9)
    make_clips(50)
    n, pmap = parallel(grad_on)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    used = len(os.listdir("/proc/self/fd"))
    begins = clock()
    announce(begins, limit, "open files allowed", crash_seconds=round(crash, 2))
    clips = ClipIndex(50)
    w = [[0.0] * D for _ in range(D)]
    step, pick, cur = 0, random.Random(SEED), None
    try:
        while clock() < SECONDS:
            due = (clock() - begins) / (crash - begins) * (limit - used + 1)
            while cur is None or len(clips.handles) < due:
                cur = clips.frames(pick.randrange(50))
            parts = pmap([(w, cur[j * 20:j * 20 + 20]) for j in range(2)])
            loss = 0.0
            for g, l in parts:
                loss += l / 2
                for o in range(D):
                    w[o] = [a - 0.003 * b for a, b in zip(w[o], g[o])]
            step += 1
            if step % 20 == 0:
                print("step %d: frame loss %.5f (%.1f s)" % (step, loss, clock()), flush=True)
    finally:
        for f in clips.handles:
            f.close()
        shutil.rmtree(CLIPS, ignore_errors=True)


if __name__ == "__main__":
    main()
