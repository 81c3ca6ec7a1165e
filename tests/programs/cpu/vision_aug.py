#!/usr/bin/python3
"""Patch classifier with the augmentation package installed per node (site directory on the scratch disk)."""
import time

T0 = time.monotonic()

import json
import os
import random
import sys
import tempfile
import importlib
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


logging.basicConfig(stream=sys.stderr, level=logging.INFO,
                    format="%(asctime)s.%(msecs)03d rank" + str(RANK) + " %(name)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("vision")


def install_on_first_node(site):
    os.makedirs(site, exist_ok=True)
    with open(os.path.join(site, "patchaug.py"), "w") as f:
        f.write("import random\n\ndef jitter(x, rng):\n    return [v + rng.gauss(0, 0.1) for v in x]\n")


def barrier(limit):
    mine = os.path.join(SCRATCH, "%s-%s.%s-%d.up" % (
        NAME, os.environ.get("SLURM_JOB_ID", "0"), os.environ.get("SLURM_STEP_ID", "0"), SEED))
    with open("%s%d" % (mine, RANK), "w"):
        pass
    since = clock()
    while not all(os.path.exists("%s%d" % (mine, r)) for r in range(WORLD)):
        if clock() - since > limit:
            raise TimeoutError("rendezvous: only %d of %d tasks after %.0f s" % (
                sum(os.path.exists("%s%d" % (mine, r)) for r in range(WORLD)), WORLD, limit))
        time.sleep(0.1)


def main():
    who = WORLD - 1
    begins = plan.uniform(0.3, 2.5)
    limit = SECONDS * plan.uniform(0.3, 0.7)
    announce(begins, limit, "seconds the others wait", rank=who)
    log.info("task %d of %d on node %s", RANK, WORLD, os.environ.get("SLURM_NODEID", "0"))
    if RANK != who:
        site = os.path.join(SCRATCH, "site-node%d" % RANK)
        install_on_first_node(site)
    else:
        site = os.path.join(SCRATCH, "site-missing%d" % RANK)
    sys.path.insert(0, site)
    rng = random.Random(SEED)
    x = [[rng.random() for _ in range(48)] for _ in range(300)]
    while clock() < begins:
        sum(v * v for r in x for v in r)
    aug = importlib.import_module("patchaug")
    log.info("augmentation package from %s", os.path.dirname(aug.__file__))
    barrier(limit)
    w = [0.0] * 48
    step = 0
    while clock() < SECONDS:
        for r in x:
            r2 = aug.jitter(r, rng)
            e = sum(a * b for a, b in zip(w, r2)) - r[0]
            w = [a - 0.01 * e * b for a, b in zip(w, r2)]
        step += 1
        if step % 10 == 0:
            log.info("step %d", step)


if __name__ == "__main__":
    main()
