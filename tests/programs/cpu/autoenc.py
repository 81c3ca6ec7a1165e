#!/usr/bin/python3
"""Linear-tanh autoencoder with a checkpoint now and then."""
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


logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("autoenc")
D, H = 24, 6
mix_rng = random.Random(SEED)
MIX = [[mix_rng.gauss(0, 0.5) for _ in range(4)] for _ in range(D)]


def grad_on(job):
    enc, dec, seed, count = job
    rng = random.Random(seed)
    ge, gd, loss = [[0.0] * D for _ in range(H)], [[0.0] * H for _ in range(D)], 0.0
    for _ in range(count):
        z = [rng.gauss(0, 1) for _ in range(4)]
        x = [sum(map(mul, r, z)) + rng.gauss(0, 0.1) for r in MIX]
        h = [math.tanh(sum(map(mul, r, x))) for r in enc]
        back = [0.0] * H
        for o in range(D):
            e = sum(map(mul, dec[o], h)) - x[o]
            loss += e * e
            gd[o] = [a + e * b for a, b in zip(gd[o], h)]
            back = [a + e * b for a, b in zip(back, dec[o])]
        for k in range(H):
            d = back[k] * (1 - h[k] * h[k])
            ge[k] = [a + d * b for a, b in zip(ge[k], x)]
    return ge, gd, loss


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def save(step, enc, dec, mb):
    path = os.path.join(SCRATCH, "%s-r%d-%d.ckpt" % (NAME, RANK, SEED))
    with open(path + ".part", "wb") as f:
        f.write(array.array("d", [v for r in enc + dec for v in r]).tobytes())
        f.write(bytes(mb << 20))
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".part", path)
    log.info("checkpoint of step %d written", step)
    return path


def main():
    every = plan.uniform(8, 14) * min(1.0, SECONDS / 40)
    mb = plan.randint(2, 8)
    announce(None, None, "", checkpoint_every_seconds=round(every, 1), checkpoint_mb=mb)
    n, pmap = parallel(grad_on)
    rng = random.Random(SEED + 7)
    enc = [[rng.gauss(0, 0.1) for _ in range(D)] for _ in range(H)]
    dec = [[rng.gauss(0, 0.1) for _ in range(H)] for _ in range(D)]
    step, last, batch, path = 0, clock(), 500, None
    while clock() < SECONDS:
        loss = 0.0
        for ge, gd, l in pmap([(enc, dec, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)]):
            loss += l / batch / D
            for k in range(H):
                enc[k] = [a - 0.02 * b / batch for a, b in zip(enc[k], ge[k])]
            for o in range(D):
                dec[o] = [a - 0.02 * b / batch for a, b in zip(dec[o], gd[o])]
        step += 1
        if step % 20 == 0:
            log.info("step %d loss %.5f", step, loss)
        if clock() - last > every:
            path, last = save(step, enc, dec, mb), clock()
    path = save(step, enc, dec, mb)
    os.unlink(path)
    log.info("training complete")


if __name__ == "__main__":
    main()
