#!/usr/bin/python3
"""Small network on insurance claims; the tasks exchange gradients as files."""
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


logging.basicConfig(format="%(asctime)s %(levelname)s [rank " + str(RANK) + "] %(message)s", level=logging.INFO)
log = logging.getLogger("tabular")
REGIONS = {"north": 0.2, "south": -0.1, "east": 0.4, "west": -0.3, "islands": 0.7}
H, D = 16, 12
RUN = "%s-%s.%s-%d" % (NAME, os.environ.get("SLURM_JOB_ID", "0"), os.environ.get("SLURM_STEP_ID", "0"), SEED)


class Claims:
    def __init__(self, late_rows_from):
        self.rng = random.Random(SEED * 13 + RANK)
        self.late_rows_from = late_rows_from

    def rows(self, n):
        for _ in range(n):
            region = self.rng.choice(list(REGIONS))
            if clock() > self.late_rows_from:
                region = "overseas"
            yield {"region": region, "age": self.rng.uniform(18, 90), "amounts": [self.rng.gauss(0, 1) for _ in range(D - 2)]}


def encode(row):
    x = [REGIONS[row["region"]], (row["age"] - 50) / 20] + row["amounts"]
    y = 1.0 if x[0] + 0.5 * x[1] + x[2] * x[3] - 0.3 * x[4] > 0 else 0.0
    return x, y


def grad_on(job):
    (w1, w2), batch = job
    g1 = [[0.0] * D for _ in range(H)]
    g2 = [0.0] * H
    loss = 0.0
    for x, y in batch:
        h = [math.tanh(sum(a * b for a, b in zip(r, x))) for r in w1]
        z = sum(a * b for a, b in zip(w2, h))
        p = 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))
        loss -= math.log(p + 1e-12) if y else math.log(1 - p + 1e-12)
        d = p - y
        for k in range(H):
            g2[k] += d * h[k]
            dk = d * w2[k] * (1 - h[k] * h[k])
            g1[k] = [a + dk * b for a, b in zip(g1[k], x)]
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


def exchange(step, vec, limit):
    """Sum of the vectors of all ranks, through files in the scratch directory."""
    if WORLD == 1:
        return vec
    mine = os.path.join(SCRATCH, "%s.%d.%d" % (RUN, step, RANK))
    with open(mine + ".part", "wb") as f:
        f.write(array.array("d", vec).tobytes())
    os.replace(mine + ".part", mine)
    total = list(vec)
    for r in range(WORLD):
        if r == RANK:
            continue
        path = os.path.join(SCRATCH, "%s.%d.%d" % (RUN, step, r))
        since = clock()
        while not os.path.exists(path):
            if clock() - since > limit:
                raise TimeoutError("no gradient of step %d from rank %d within %.0f s" % (step, r, limit))
            time.sleep(0.004)
        with open(path, "rb") as f:
            total = [a + b for a, b in zip(total, array.array("d", f.read()))]
    if step >= 2:
        os.unlink(os.path.join(SCRATCH, "%s.%d.%d" % (RUN, step - 2, RANK)))
    return total


def main():
    at = SECONDS * plan.uniform(0.15, 0.6)
    limit = plan.uniform(8, 20) * min(1.0, SECONDS / 30)
    who = plan.randrange(WORLD)
    announce(at, limit, "seconds the other waits", rank=who)
    rng = random.Random(SEED)
    w1 = [[rng.gauss(0, 0.4) for _ in range(D)] for _ in range(H)]
    w2 = [rng.gauss(0, 0.4) for _ in range(H)]
    n, pmap = parallel(grad_on)
    claims = Claims(at if RANK == who else 1e9)
    log.info("starting, %d tasks, %d local workers", WORLD, n)
    step, batch_size = 0, 256
    while clock() < SECONDS:
        batch = [encode(r) for r in claims.rows(batch_size)]
        parts = pmap([((w1, w2), batch[j::n]) for j in range(n)])
        tot = exchange(step, [sum(p) for p in zip(*parts)], limit)
        lr = 0.8 / (batch_size * WORLD)
        for k in range(H):
            w1[k] = [a - lr * b for a, b in zip(w1[k], tot[k * D:(k + 1) * D])]
            w2[k] -= lr * tot[H * D + k]
        step += 1
        if step % 25 == 0:
            log.info("step %d train_loss %.4f", step, tot[-1] / (batch_size * WORLD))
    log.info("done, %d steps", step)


if __name__ == "__main__":
    main()
