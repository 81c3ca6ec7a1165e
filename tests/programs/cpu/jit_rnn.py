#!/usr/bin/python3
"""Recurrent cell on sine waves; the step function is generated for the shape and tuned before training."""
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


H = 12


def source(unroll):
    lines = ["def cell(w, u, b, h, x, tanh):"]
    for k in range(0, H, unroll):
        for r in range(k, min(H, k + unroll)):
            lines.append("    a%d = tanh(%s + u[%d] * x + b[%d])" % (r, " + ".join("w[%d] * h[%d]" % (r * H + c, c) for c in range(H)), r, r))
    lines.append("    return [%s]" % ", ".join("a%d" % r for r in range(H)))
    return "\n".join(lines)


def build(unroll):
    env = {}
    exec(compile(source(unroll), "<cell-%d>" % unroll, "exec"), env)
    return env["cell"]


CELLS = {u: build(u) for u in (1, 2, 3, 4, 6, 12)}


def tune(job):
    unroll, seconds = job
    rng = random.Random(unroll)
    w, u, b = [rng.gauss(0, 0.2) for _ in range(H * H)], [0.1] * H, [0.0] * H
    calls, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        cell, h = build(unroll), [0.0] * H
        for _ in range(2000):
            h = cell(w, u, b, h, 0.3, math.tanh)
        calls += 2000
    return calls


def forward(cell, params, xs):
    w, u, b, o = params
    h, hs, loss = [0.0] * H, [], 0.0
    for x, y in zip(xs, xs[1:]):
        h = cell(w, u, b, h, x, math.tanh)
        e = sum(p * q for p, q in zip(o, h)) - y
        loss += e * e
        hs.append((h, e))
    return hs, loss


def grad_on(job):
    params, seed, count, unroll = job
    rng = random.Random(seed)
    g, total, cell = [0.0] * H, 0.0, CELLS[unroll]
    for _ in range(count):
        f, p = rng.uniform(0.1, 0.4), rng.uniform(0, 6.28)
        xs = [math.sin(f * t + p) + rng.gauss(0, 0.05) for t in range(40)]
        hs, loss = forward(cell, params, xs)
        total += loss / 39
        for h, e in hs[5:]:
            g = [a + e * b for a, b in zip(g, h)]
    return g, total


def work(job):
    return tune(job[1:]) if job[0] == "tune" else grad_on(job[1:])


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
    warm = min(10.0, SECONDS * 0.4)
    announce(None, None, "", warm_up_seconds=warm)
    n, pmap = parallel(work)
    print("compiling step function for H=%d ..." % H, flush=True)
    speeds, each = {}, (warm - clock()) / len(CELLS)
    for u in CELLS:
        speeds[u] = min(pmap([("tune", u, each)] * n))
        print("  autotune unroll=%d: %.1f kcalls" % (u, speeds[u] / 1000), flush=True)
    best = max(speeds, key=speeds.get)
    print("compiled, unroll=%d" % best, flush=True)
    rng = random.Random(SEED)
    params = ([rng.gauss(0, 0.25) for _ in range(H * H)], [rng.gauss(0, 0.6) for _ in range(H)], [rng.gauss(0, 0.2) for _ in range(H)], [0.0] * H)
    step, count = 0, 80
    while clock() < SECONDS:
        loss, acc = 0.0, [0.0] * H
        for g, l in pmap([("grad", params, (SEED, step, j, RANK).__hash__(), count // n, best) for j in range(n)]):
            loss += l / count
            acc = [a + b for a, b in zip(acc, g)]
        params = params[:3] + ([o - 0.02 * a / (count * 34) for o, a in zip(params[3], acc)],)
        step += 1
        if step % 10 == 0:
            print("step %d | loss %.4f" % (step, loss), flush=True)


if __name__ == "__main__":
    main()
