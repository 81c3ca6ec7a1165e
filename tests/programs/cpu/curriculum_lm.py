#!/usr/bin/python3
"""Trigram-like language model with growing sequence length (curriculum)."""
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


V = 24
chain = random.Random(SEED)
NEXT = [[chain.random() ** 4 for _ in range(V)] for _ in range(V)]


def grad_on(job):
    w, seed, sequences, length = job
    rng = random.Random(seed)
    g, loss = [[0.0] * V for _ in range(V)], 0.0
    for _ in range(sequences):
        c = rng.randrange(V)
        for _ in range(length):
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


def main():
    first = plan.choice([16, 24, 32])
    parts = plan.randint(3, 5)
    growth = plan.uniform(1.4, 1.8)
    announce(None, None, "", note="steps get longer by schedule", last_step_over_first=round(growth ** (parts - 1), 2))
    n, pmap = parallel(grad_on)
    lengths = [int(first * growth ** k) for k in range(parts)]
    print("curriculum: seq_len %s" % " -> ".join(map(str, lengths)), flush=True)
    w, step, tokens, mark, now_at = [[0.0] * V for _ in range(V)], 0, 0, clock(), None
    while clock() < SECONDS:
        length = lengths[min(parts - 1, int(parts * clock() / SECONDS))]
        if length != now_at:
            print("curriculum: seq_len is now %d" % length, flush=True)
            now_at = length
        loss = 0.0
        total = 64 // n * n * length
        for g, l in pmap([(w, (SEED, step, j, RANK).__hash__(), 64 // n, length) for j in range(n)]):
            loss += l / total
            for a in range(V):
                w[a] = [u - 2.0 * v / total for u, v in zip(w[a], g[a])]
        step += 1
        tokens += total
        if step % 20 == 0:
            print("step %d | seq_len %d | loss %.4f | %.0f tokens/s" % (step, length, loss, tokens / (clock() - mark)), flush=True)
            tokens, mark = 0, clock()


if __name__ == "__main__":
    main()
