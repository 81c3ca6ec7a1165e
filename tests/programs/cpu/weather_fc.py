#!/usr/bin/python3
"""Temperature forecast by auto-regression; log lines with local time of the station."""
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
import datetime
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


LAGS = 24


def station_time(change_at):
    """Local time zone of the station, with the end of summer time given to the second."""
    off = -time.localtime().tm_gmtoff // 60
    t = time.gmtime(time.time() - clock() + change_at - off * 60)
    day = time.strftime("%j", t)

    def hm(minutes):
        return "%s%d:%02d" % ("-" if minutes < 0 else "", abs(minutes) // 60, abs(minutes) % 60)

    os.environ["TZ"] = "STN%sSTS%s,0/0,%d/%s" % (hm(off + 60), hm(off), int(day) - 1, time.strftime("%H:%M:%S", t))
    time.tzset()


def series(rng, n):
    v, out = 0.0, []
    for k in range(n):
        v = 0.8 * v + rng.gauss(0, 0.4)
        out.append(math.sin(k / 24 * 6.2832) + 0.5 * math.sin(k / 160) + v)
    return out


def grad_on(job):
    w, seed, count = job
    s = series(random.Random(seed), count + LAGS)
    g, loss = [0.0] * LAGS, 0.0
    for k in range(count):
        x, y = s[k:k + LAGS], s[k + LAGS]
        e = sum(map(mul, w, x)) - y
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


def main():
    back_at = SECONDS * plan.uniform(0.3, 0.7)
    announce(back_at, 3600, "seconds back")
    station_time(back_at)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    n, pmap = parallel(grad_on)
    w, step, count = [0.0] * LAGS, 0, 14000
    last = datetime.datetime.now()
    while clock() < SECONDS:
        loss = 0.0
        for g, l in pmap([(w, (SEED, step, j, RANK).__hash__(), count // n) for j in range(n)]):
            loss += l / count
            w = [a - 0.006 * v / count for a, v in zip(w, g)]
        step += 1
        if step % 20 == 0:
            t = datetime.datetime.now()
            logging.info("step %d mse %.4f (%.3f s/step)", step, loss, (t - last).total_seconds() / 20)
            last = t
    logging.info("forecast model ready after %d steps", step)


if __name__ == "__main__":
    main()
