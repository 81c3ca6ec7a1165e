#!/usr/bin/python3
"""Frame level acoustic encoder (linear + tanh, regression on cepstra); utterances are bucketed by length."""
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
import struct
import sys
import tempfile
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


D, H = 24, 16
wrng = random.Random(SEED)
TEACH = [[wrng.gauss(0, 0.3) for _ in range(D)] for _ in range(4)]


def frames(rng, n):
    return [[rng.gauss(0, 1) for _ in range(D)] for _ in range(n)]


def grad_on(job):
    w1, w2, batch = job
    g1 = [[0.0] * D for _ in range(H)]
    g2 = [[0.0] * H for _ in range(4)]
    loss = 0.0
    for x in batch:
        h = [math.tanh(sum(map(mul, r, x))) for r in w1]
        back = [0.0] * H
        for o in range(4):
            e = sum(map(mul, w2[o], h)) - math.tanh(sum(map(mul, TEACH[o], x)))
            loss += e * e
            g2[o] = [a + e * b for a, b in zip(g2[o], h)]
            back = [a + e * b for a, b in zip(back, w2[o])]
        for k in range(H):
            d = back[k] * (1 - h[k] * h[k])
            g1[k] = [a + d * b for a, b in zip(g1[k], x)]
    return [v for r in g1 for v in r] + [v for r in g2 for v in r] + [loss, float(len(batch))]


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


class Comm:
    """Star shaped all-reduce over loopback TCP, rank 0 is the hub."""

    def __init__(self):
        self.peers = []
        if WORLD == 1:
            return
        addr = os.path.join(SCRATCH, "%s-%s.%s-%d.addr" % (
            NAME, os.environ.get("SLURM_JOB_ID", "0"), os.environ.get("SLURM_STEP_ID", "0"), SEED))
        if RANK == 0:
            srv = socket.create_server(("127.0.0.1", 0), backlog=WORLD)
            srv.settimeout(120)
            with open(addr + ".tmp", "w") as f:
                f.write(str(srv.getsockname()[1]))
            os.replace(addr + ".tmp", addr)
            got = {}
            while len(got) < WORLD - 1:
                c, _ = srv.accept()
                c.settimeout(None)
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                got[struct.unpack("<i", self._read(c, 4))[0]] = c
            self.peers = [got[r] for r in sorted(got)]
            os.unlink(addr)
        else:
            while True:
                try:
                    with open(addr) as f:
                        c = socket.create_connection(("127.0.0.1", int(f.read())), timeout=5)
                    break
                except (OSError, ValueError):
                    if clock() > 120:
                        raise
                    time.sleep(0.05)
            c.settimeout(None)
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            c.sendall(struct.pack("<i", RANK))
            self.peers = [c]

    @staticmethod
    def _read(c, n):
        buf = bytearray()
        while len(buf) < n:
            part = c.recv(min(1 << 20, n - len(buf)))
            if not part:
                raise ConnectionError("peer closed the connection")
            buf += part
        return bytes(buf)

    def allreduce(self, vec):
        if WORLD == 1:
            return vec
        if RANK == 0:
            acc = list(vec)
            for c in self.peers:
                other = array.array("d", self._read(c, 8 * len(acc)))
                acc = [a + b for a, b in zip(acc, other)]
            data = array.array("d", acc).tobytes()
            for c in self.peers:
                c.sendall(data)
            return acc
        self.peers[0].sendall(array.array("d", vec).tobytes())
        return array.array("d", self._read(self.peers[0], 8 * len(vec))).tolist()


def main():
    factor = plan.uniform(1.6, 3.0)
    begins = plan.choice([0.0, SECONDS * plan.uniform(0.1, 0.4)])
    who = plan.randrange(WORLD)
    if WORLD > 1:
        announce(begins, factor, "work per step of that rank / of the others", rank=who)
    else:
        announce(None, None, "work per step of one rank / of the others", note="needs two tasks")
    rng = random.Random(SEED * 5 + RANK)
    init = random.Random(SEED + 1)
    w1 = [[init.gauss(0, 0.2) for _ in range(D)] for _ in range(H)]
    w2 = [[init.gauss(0, 0.2) for _ in range(H)] for _ in range(4)]
    n, pmap = parallel(grad_on)
    comm = Comm()
    step, lr, base = 0, 0.3, 260
    mark = clock()
    while True:
        count = base
        if WORLD > 1 and RANK == who and clock() >= begins:
            count = int(base * factor)
        batch = frames(rng, count)
        parts = pmap([(w1, w2, batch[j::n]) for j in range(n)])
        tot = comm.allreduce([sum(p) for p in zip(*parts)] + [float(RANK == 0 and clock() > SECONDS)])
        m = tot[-2]
        for k in range(H):
            w1[k] = [a - lr * b / m for a, b in zip(w1[k], tot[k * D:(k + 1) * D])]
        for o in range(4):
            at = H * D + o * H
            w2[o] = [a - lr * b / m for a, b in zip(w2[o], tot[at:at + H])]
        step += 1
        if step % 10 == 0 and RANK == 0:
            print("step %4d  mse %.5f  %.2f steps/s" % (step, tot[-3] / m / 4, 10 / (clock() - mark)), flush=True)
            mark = clock()
        if tot[-1]:
            break
    if RANK == 0:
        print("training finished")


if __name__ == "__main__":
    main()
