#!/usr/bin/python3
"""Language identification on lower-cased lines; normalisation by the usual Unix tool."""
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
import subprocess

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


ALPHA = "ABCDEFGHIJKLMNOPQRSTUVWXYZ "
LANGS = []
lr_rng = random.Random(SEED + 2)
for _ in range(5):
    w = [lr_rng.random() ** 2 for _ in ALPHA]
    LANGS.append(w)


def sample(rng):
    k = rng.randrange(5)
    return "".join(rng.choices(ALPHA, LANGS[k], k=120)), k


def normalise(line):
    return subprocess.run(["tr", "A-Z", "a-z"], input=line.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()


def grad_on(job):
    w, items = job
    g, loss = {}, 0.0
    for line, k in items:
        feats = {}
        for a, b in zip(line, line[1:]):
            feats[a + b] = feats.get(a + b, 0) + 1
        z = [sum(w.get((f, c), 0.0) * n for f, n in feats.items()) for c in range(5)]
        m = max(z)
        e = [math.exp(v - m) for v in z]
        s = sum(e)
        loss -= math.log(e[k] / s + 1e-12)
        for c in range(5):
            d = e[c] / s - (c == k)
            for f, n in feats.items():
                g[(f, c)] = g.get((f, c), 0.0) + d * n
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
    per_step = plan.randint(5, 50)
    begins = plan.choice([0.0, SECONDS * plan.uniform(0.1, 0.3)])
    n, pmap = parallel(grad_on)
    announce(begins, per_step, "child processes per step (a step computes 50-100 ms)")
    rng = random.Random(SEED)
    w, step = {}, 0
    while clock() < SECONDS:
        batch = [sample(rng) for _ in range(64)]
        done = []
        for j, (line, k) in enumerate(batch):
            if j < per_step and clock() >= begins:
                line = normalise(line)
            else:
                line = line.lower()
            done.append((line, k))
        loss = 0.0
        for g, l in pmap([(w, done[j::n]) for j in range(n)]):
            loss += l / 64
            for f, v in g.items():
                w[f] = w.get(f, 0.0) - 0.00012 * v
        step += 1
        sys.stderr.write("\r%d it [%02d:%02d, %.2f it/s, loss=%.3f]" % (step, clock() // 60, clock() % 60, step / clock(), loss))
        sys.stderr.flush()
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
