#!/usr/bin/python3
"""Digit classifier (softmax regression), data parallel over the tasks."""
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


D, K, BATCH = 40, 10, 320
data_rng = random.Random(1000 + SEED)
centres = [[data_rng.gauss(0, 0.45) for _ in range(D)] for _ in range(K)]
shard_rng = random.Random(SEED * 31 + RANK)
X, Y = [], []
for _ in range(2500):
    k = shard_rng.randrange(K)
    Y.append(k)
    X.append([c + shard_rng.gauss(0, 1) for c in centres[k]])


def grad_on(job):
    w, idx = job
    rows = [w[k * D:(k + 1) * D] for k in range(K)]
    g = [[0.0] * D for _ in range(K)]
    loss = 0.0
    for i in idx:
        x = X[i]
        z = [sum(map(mul, r, x)) for r in rows]
        m = max(z)
        e = [math.exp(v - m) for v in z]
        s = sum(e)
        loss -= z[Y[i]] - m - math.log(s)
        for k in range(K):
            d = e[k] / s - (k == Y[i])
            if abs(d) > 1e-3:
                g[k] = [a + d * b for a, b in zip(g[k], x)]
    return [v for r in g for v in r] + [loss, float(len(idx))]


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


def attendant(pid, after, length):
    """Job control from outside."""
    if os.fork():
        return
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    time.sleep(max(0.0, after - clock()))
    os.kill(pid, signal.SIGSTOP)
    time.sleep(length)
    os.kill(pid, signal.SIGCONT)
    os._exit(0)


def main():
    length = min(plan.uniform(10, 25), 0.5 * SECONDS)
    after = SECONDS * plan.uniform(0.2, 0.4)
    who = plan.randrange(WORLD)
    announce(after, length, "seconds stopped", fault_ends_seconds=round(after + length, 2), rank=who)
    if RANK == who:
        attendant(os.getpid(), after, length)
    n, pmap = parallel(grad_on)
    comm = Comm()
    rng = random.Random(SEED + 17 * RANK)
    w = [0.0] * (D * K)
    lr, step, epoch = 0.5, 0, 1
    if RANK == 0:
        print("world size %d, %d worker(s) per task, %d samples per task" % (WORLD, n, len(X)), flush=True)
    while True:
        idx = [rng.randrange(len(X)) for _ in range(BATCH)]
        parts = pmap([(w, idx[j::n]) for j in range(n)])
        tot = [sum(p) for p in zip(*parts)] + [float(RANK == 0 and clock() > SECONDS)]
        tot = comm.allreduce(tot)
        cnt = tot[-2]
        w = [a - lr * g / cnt for a, g in zip(w, tot)]
        step += 1
        if step % 20 == 0 and RANK == 0:
            print("Epoch %d/50, step %d, loss=%.4f" % (epoch, step, tot[-3] / cnt), flush=True)
        if step % 200 == 0:
            epoch += 1
            lr *= 0.9
        if tot[-1]:
            break
    if RANK == 0:
        print("finished after %d steps" % step)


if __name__ == "__main__":
    main()
