#!/usr/bin/python3
"""Flower classifier: one hidden layer, mini batches, gradients averaged over the tasks."""
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


D, H, K, BATCH = 12, 16, 3, 400
centre_rng = random.Random(SEED + 50)
CENTRES = [[centre_rng.gauss(0, 0.6) for _ in range(D)] for _ in range(2 * K)]


def grad_on(job):
    w1, w2, seed, count = job
    rng = random.Random(seed)
    g1, g2, loss = [[0.0] * D for _ in range(H)], [[0.0] * H for _ in range(K)], 0.0
    for _ in range(count):
        c = rng.randrange(2 * K)
        x = [m + rng.gauss(0, 0.8) for m in CENTRES[c]]
        h = [math.tanh(sum(map(mul, r, x))) for r in w1]
        z = [sum(map(mul, r, h)) for r in w2]
        m = max(z)
        e = [math.exp(v - m) for v in z]
        s = sum(e)
        loss -= math.log(e[c % K] / s + 1e-12)
        back = [0.0] * H
        for k in range(K):
            d = e[k] / s - (k == c % K)
            g2[k] = [a + d * b for a, b in zip(g2[k], h)]
            back = [a + d * b for a, b in zip(back, w2[k])]
        for k in range(H):
            d = back[k] * (1 - h[k] * h[k])
            g1[k] = [a + d * b for a, b in zip(g1[k], x)]
    return [v for r in g1 for v in r] + [v for r in g2 for v in r] + [loss]


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
    announce(None, None, "")
    n, pmap = parallel(grad_on)
    comm = Comm()
    rng = random.Random(SEED)
    w1 = [[rng.gauss(0, 0.3) for _ in range(D)] for _ in range(H)]
    w2 = [[rng.gauss(0, 0.3) for _ in range(H)] for _ in range(K)]
    step, batch = 0, BATCH // n * n
    while True:
        parts = pmap([(w1, w2, (SEED, step, j, RANK).__hash__(), batch // n) for j in range(n)])
        tot = comm.allreduce([sum(p) for p in zip(*parts)] + [float(RANK == 0 and clock() > SECONDS)])
        m = batch * WORLD
        for k in range(H):
            w1[k] = [a - 0.08 * b / m for a, b in zip(w1[k], tot[k * D:(k + 1) * D])]
        for k in range(K):
            at = H * D + k * H
            w2[k] = [a - 0.08 * b / m for a, b in zip(w2[k], tot[at:at + H])]
        step += 1
        if RANK == 0 and step % 4 == 0:
            done = min(1.0, clock() / SECONDS)
            sys.stderr.write("\rfit: %3d%%|%-24s| %d steps, %.1f it/s, loss=%.4f" % (
                100 * done, "=" * int(24 * done), step, step / clock(), tot[-2] / m))
            sys.stderr.flush()
        if tot[-1]:
            break
    if RANK == 0:
        sys.stderr.write("\n")


if __name__ == "__main__":
    main()
