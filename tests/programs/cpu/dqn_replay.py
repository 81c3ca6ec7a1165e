#!/usr/bin/python3
"""Q-learning with replay on a small maze; frames go to the replay memory."""
import time

T0 = time.monotonic()

import ctypes
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import logging

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


logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="[%(asctime)s][%(levelname)s] %(message)s")
log = logging.getLogger()
W = 16
maze = random.Random(SEED)
WALL = {(maze.randrange(1, W - 1), maze.randrange(1, W - 1)) for _ in range(44)} - {(0, 0), (W - 1, W - 1)}
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def episode(job):
    q, eps, seed, count = job
    rng = random.Random(seed)
    out, total = [], 0
    for _ in range(count):
        s, steps = (0, 0), 0
        while s != (W - 1, W - 1) and steps < 300:
            vals = q[s[0] * W + s[1]]
            a = rng.randrange(4) if rng.random() < eps else max(range(4), key=vals.__getitem__)
            b = rng.randrange(4) if rng.random() < 0.1 else a
            t = (s[0] + MOVES[b][0], s[1] + MOVES[b][1])
            if not (0 <= t[0] < W and 0 <= t[1] < W) or t in WALL:
                t = s
            r = 10.0 if t == (W - 1, W - 1) else -0.1
            out.append((s[0] * W + s[1], a, r, t[0] * W + t[1]))
            s = t
            steps += 1
        total += steps
    return out, total / count


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


class Replay:
    def __init__(self):
        self.frames, self.moves = [], []

    def add(self, moves, nbytes):
        self.moves = (self.moves + moves)[-20000:]
        if nbytes > 0:
            self.frames.append(bytes([len(self.frames) % 255 + 1]) * nbytes)


def main():
    final = plan.uniform(250, 1400) / WORLD
    begins = SECONDS * plan.choice([0.0, plan.uniform(0.1, 0.4)])
    announce(begins, final / (SECONDS - begins), "MB per second", final_mb=round(final))
    n, pmap = parallel(episode)
    q, memory, step = [[0.0] * 4 for _ in range(W * W)], Replay(), 0
    rng, kept = random.Random(SEED + 1 + RANK), 0.0
    while clock() < SECONDS:
        eps = max(0.1, 1 - clock() / SECONDS * 1.5)
        steps = 0.0
        for moves, s in pmap([(q, eps, (SEED, step, j, RANK).__hash__(), 20) for j in range(n)]):
            due = max(0.0, final * (clock() - begins) / (SECONDS - begins)) - kept
            kept += due
            memory.add(moves, int(due * 1e6))
            steps += s / n
        err = 0.0
        for s, a, r, t in rng.sample(memory.moves, min(8000, len(memory.moves))):
            d = r + (0.97 * max(q[t]) if t != W * W - 1 else 0) - q[s][a]
            err += d * d
            q[s][a] += 0.1 * d
        step += 1
        if step % 20 == 0:
            log.info("iter %d td_error %.5f episode_len %.1f eps %.2f", step, err / 8000, steps, eps)
    log.info("training ended")


if __name__ == "__main__":
    main()
