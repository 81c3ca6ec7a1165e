#!/usr/bin/python3
"""Node embeddings from random walks; ring averaging of the parameters between the tasks."""
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
import socket
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


N, DIM, WALKS = 400, 12, 60
graph_rng = random.Random(SEED)
NEIGH = [[(i + d) % N for d in (1, 2, 5, N - 1, N - 2, graph_rng.randrange(1, N))] for i in range(N)]


def walk_pairs(job):
    emb, seed = job
    rng = random.Random(seed)
    upd, loss, cnt = {}, 0.0, 0
    for _ in range(WALKS):
        v = rng.randrange(N)
        for _ in range(6):
            u = rng.choice(NEIGH[v])
            for t, y in ((u, 1.0), (rng.randrange(N), 0.0), (rng.randrange(N), 0.0)):
                a, b = emb[v], emb[t]
                z = sum(p * q for p, q in zip(a, b))
                p = 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))
                loss -= math.log((p if y else 1 - p) + 1e-9)
                cnt += 1
                d = p - y
                for node, other in ((v, b), (t, a)):
                    old = upd.get(node)
                    upd[node] = [d * q for q in other] if old is None else [o + d * q for o, q in zip(old, other)]
            v = u
    return upd, loss / cnt


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


class Ring:
    def __init__(self):
        base = os.path.join(SCRATCH, "%s-%s.%s-%d.ring" % (
            NAME, os.environ.get("SLURM_JOB_ID", "0"), os.environ.get("SLURM_STEP_ID", "0"), SEED))
        srv = socket.create_server(("127.0.0.1", 0))
        with open("%s%d.part" % (base, RANK), "w") as f:
            f.write(str(srv.getsockname()[1]))
        os.replace("%s%d.part" % (base, RANK), "%s%d" % (base, RANK))
        while True:
            try:
                with open("%s%d" % (base, (RANK + 1) % WORLD)) as f:
                    self.next = socket.create_connection(("127.0.0.1", int(f.read())))
                break
            except (OSError, ValueError):
                if clock() > 60:
                    raise
                time.sleep(0.05)
        self.prev, _ = srv.accept()

    def push(self, vec):
        self.next.sendall(array.array("d", vec).tobytes())

    def pull(self, n):
        buf = bytearray()
        while len(buf) < 8 * n:
            part = self.prev.recv(8 * n - len(buf))
            if not part:
                sys.exit("ring neighbour went away")
            buf += part
        return array.array("d", bytes(buf)).tolist()


def say(**kw):
    if RANK == 0:
        print(json.dumps(kw), flush=True)


def main():
    refine_from = SECONDS * plan.uniform(0.2, 0.75)
    announce(refine_from, 1, "all wait for ever")
    rng = random.Random(SEED * 3 + 1)
    emb = [[rng.gauss(0, 0.3) for _ in range(DIM)] for _ in range(N)]
    n, pmap = parallel(walk_pairs)
    ring = Ring()
    say(event="start", world=WORLD, nodes=N, workers=n)
    step, stopping = 0, False
    while not stopping:
        loss = 0.0
        for upd, l in pmap([(emb, (SEED, step, RANK, j).__hash__()) for j in range(n)]):
            loss += l / n
            for node, g in upd.items():
                emb[node] = [a - 0.15 * b for a, b in zip(emb[node], g)]
        step += 1
        if step % 10 == 0:
            flat = [v for r in emb for v in r] + [clock()]
            if clock() > refine_from:
                other = ring.pull(len(flat))
                flat = [0.5 * (a + b) for a, b in zip(flat, other)]
                ring.push(flat)
            else:
                ring.push(flat)
                other = ring.pull(len(flat))
                flat = [0.5 * (a + b) for a, b in zip(flat, other)]
            stopping = flat[-1] > SECONDS
            emb = [flat[i * DIM:(i + 1) * DIM] for i in range(N)]
            say(event="train", step=step, loss=round(loss, 4), elapsed=round(clock(), 1))
    say(event="end", step=step)


if __name__ == "__main__":
    main()
