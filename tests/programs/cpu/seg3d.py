#!/usr/bin/python3
"""Voxel classifier; volumes come in blocks from the storage gateway on this host."""
import time

T0 = time.monotonic()

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
import queue
import threading
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


D = 27
KERN = [random.Random(SEED).gauss(0, 0.5) for _ in range(D)]


def gateway(srv, pace, fast_until, size):
    """Serves blocks; the link behind it gives one block per `pace` seconds."""
    c, _ = srv.accept()
    block = os.urandom(size)
    due = time.monotonic()
    try:
        while c.recv(1):
            if clock() > fast_until:
                due = max(due + pace, time.monotonic() - pace)
                time.sleep(max(0.0, due - time.monotonic()))
            else:
                due = time.monotonic()
            c.sendall(block)
    except OSError:
        pass


def fetcher(c, size, q):
    while True:
        c.sendall(b"n")
        got = bytearray()
        while len(got) < size:
            got += c.recv(min(1 << 18, size - len(got)))
        q.put(got)


def grad_on(job):
    w, raw, seed = job
    rng = random.Random(seed)
    g, loss = [0.0] * D, 0.0
    for i in range(0, len(raw) - D, D):
        x = [(v - 127.5) / 74 for v in raw[i:i + D]]
        y = 1.0 if sum(map(mul, KERN, x)) + rng.gauss(0, 0.3) > 0 else 0.0
        z = sum(map(mul, w, x))
        p = 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))
        loss -= math.log((p if y else 1 - p) + 1e-9)
        g = [a + (p - y) * b for a, b in zip(g, x)]
    return g, loss, len(raw) // D


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def emit(**kw):
    print(json.dumps(kw), flush=True)


def main():
    pace = plan.uniform(0.3, 0.5)
    share = plan.uniform(0.35, 0.75)
    begins = plan.choice([0.0, 0.0, SECONDS * plan.uniform(0.1, 0.3)])
    announce(begins, share, "share of a step starved", period_seconds=round(pace, 3))
    size = 3 << 20
    n, pmap = parallel(grad_on)
    srv = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        gateway(srv, pace, begins, size)
        os._exit(0)
    link = socket.create_connection(srv.getsockname())
    srv.close()
    q = queue.Queue(1)
    threading.Thread(target=fetcher, args=(link, size, q), daemon=True).start()
    w, step = [0.0] * D, 0
    probe = os.urandom(D * 1000)
    pmap([(w, probe, j) for j in range(n)])
    b = clock()
    pmap([(w, probe, j) for j in range(n)])
    cells = max(200, int(1000 * pace * (1 - share) / (clock() - b)))
    emit(event="start", workers=n, voxels=cells * n)
    while clock() < SECONDS:
        block = bytes(q.get()[:cells * n * D])
        loss = m = 0.0
        for g, l, k in pmap([(w, block[j * cells * D:(j + 1) * cells * D], step * 64 + j) for j in range(n)]):
            loss += l
            m += k
            w = [a - 0.05 * v / (cells * n) for a, v in zip(w, g)]
        step += 1
        if step % 5 == 0:
            emit(event="step", step=step, loss=round(loss / m, 4), t=round(clock(), 2))
    emit(event="end", step=step)


if __name__ == "__main__":
    main()
