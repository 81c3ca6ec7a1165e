#!/usr/bin/python3
"""Worker of a hyper-parameter search: trains the trials that it finds in the queue directory."""
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


logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s worker-" + str(RANK) + " %(message)s")
log = logging.getLogger()
QUEUE = os.path.join(SCRATCH, "%s-queue-r%d-%d" % (NAME, RANK, SEED))
D = 20
RULE = [random.Random(SEED).gauss(0, 1) for _ in range(D)]


def grad_on(job):
    w, seed, count = job
    rng = random.Random(seed)
    g, loss = [0.0] * D, 0.0
    for _ in range(count):
        x = [rng.gauss(0, 1) for _ in range(D)]
        e = sum(map(mul, w, x)) - sum(map(mul, RULE, x))
        loss += e * e
        g = [a + e * b for a, b in zip(g, x)]
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


def trial(name, seconds, pmap, n):
    w, step, end = [0.0] * D, 0, clock() + seconds
    while clock() < end:
        loss = 0.0
        for g, l in pmap([(w, (SEED, step, j).__hash__(), 4000 // n) for j in range(n)]):
            loss += l / 4000
            w = [a - 0.03 * v / 4000 for a, v in zip(w, g)]
        step += 1
        if step % 20 == 0:
            log.info("%s step %d loss %.4f", name, step, loss)
    log.info("%s finished", name)


def main():
    short = max(1.0, SECONDS * plan.uniform(0.06, 0.2))
    idle = plan.uniform(0.75, 1.0)
    every = plan.uniform(6, 12)
    poll = plan.choice([0.5, 1.0, 2.0])
    chatty = plan.random() < 0.5
    announce(short, min(1.0, idle), "share of the time idle after the start", says_so=chatty)
    os.makedirs(QUEUE, exist_ok=True)
    n, pmap = parallel(grad_on)
    log.info("queue %s", QUEUE)
    trial("trial-0", short - clock(), pmap, n)
    num, last = 1, clock()
    while clock() < SECONDS:
        if idle < 0.97 and clock() - last > every * idle:
            trial("trial-%d" % num, every * (1 - idle), pmap, n)
            num, last = num + 1, clock()
        if not os.listdir(QUEUE):
            if chatty:
                log.info("queue empty, waiting")
            time.sleep(max(0.05, min(poll, SECONDS - clock())))
    os.rmdir(QUEUE)


if __name__ == "__main__":
    main()
