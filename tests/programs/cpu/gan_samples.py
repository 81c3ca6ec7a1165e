#!/usr/bin/python3
"""One-dimensional GAN that writes a sheet of samples every few steps to SCRATCH_DIR/small."""
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


logging.basicConfig(format="%(asctime)s %(levelname)-7s %(message)s", level=logging.INFO)
log = logging.getLogger("gan")
OUT = os.path.join(SCRATCH, "small")


def sig(v):
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, v))))


def half_step(job):
    gen, dis, seed, count = job
    rng = random.Random(seed)
    a, b = gen
    dg, dd, ld, lg = [0.0, 0.0], [0.0, 0.0, 0.0], 0.0, 0.0
    for _ in range(count):
        real, z = rng.gauss(2.0, 0.7), rng.gauss(0, 1)
        fake = a * z + b
        pr = sig(dis[0] + dis[1] * real + dis[2] * real * real)
        pf = sig(dis[0] + dis[1] * fake + dis[2] * fake * fake)
        ld -= math.log(pr + 1e-9) + math.log(1 - pf + 1e-9)
        lg -= math.log(pf + 1e-9)
        for k in range(3):
            dd[k] += (pr - 1) * real ** k + pf * fake ** k
        s = (pf - 1) * (dis[1] + 2 * dis[2] * fake)
        dg[0] += s * z
        dg[1] += s
    return dg + dd + [ld, lg]


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def write_sheet(step, gen, size):
    path = os.path.join(OUT, "r%d-sheet-%06d.pgm" % (RANK, step))
    rng = random.Random(step)
    row = bytes(max(0, min(255, int(60 * (gen[0] * rng.gauss(0, 1) + gen[1])))) for _ in range(4096))
    with open(path, "wb") as f:
        f.write(b"P5\n4096 %d\n255\n" % (size // 4096))
        for _ in range(size // 4096):
            f.write(row)


def main():
    full_at = SECONDS * plan.uniform(0.2, 0.65)
    count = plan.randint(10, 50)
    announce(full_at, count, "sheets that fit", goes_on_to_the_end=True)
    os.makedirs(OUT, exist_ok=True)
    st = os.statvfs(OUT)
    if st.f_blocks * st.f_frsize > 256 << 20:
        sys.stderr.write("%s: not a small file system\n" % OUT)
        sys.exit(77)
    size = int(st.f_bavail * st.f_frsize / WORLD / (count - 0.4))
    n, pmap = parallel(half_step)
    gen, dis = [0.3, 0.0], [0.0, 0.1, -0.05]
    step, sheets, batch, lost = 0, 0, 12000, 0
    while clock() < SECONDS:
        parts = pmap([(gen, dis, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)])
        tot = [sum(p) / batch for p in zip(*parts)]
        gen = [g - 0.05 * d for g, d in zip(gen, tot[:2])]
        dis = [w - 0.1 * d - 0.002 * w for w, d in zip(dis, tot[2:5])]
        step += 1
        if step % 20 == 0:
            log.info("step %d d_loss %.4f g_loss %.4f mean %.3f", step, tot[5], tot[6], gen[1])
        if clock() > full_at * (sheets + 1) / count:
            sheets += 1
            try:
                write_sheet(step, gen, size)
            except OSError as e:
                lost += 1
                log.warning("could not write samples: %s", e)
    log.info("finished: %d sheets, %d not written", sheets, lost)


if __name__ == "__main__":
    main()
