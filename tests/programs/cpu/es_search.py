#!/usr/bin/python3
"""Evolution strategy: task 0 keeps the distribution and hands out candidates, the workers score them."""
import time

T0 = time.monotonic()

import ctypes
import json
import os
import random
import signal
import socket
import sys
import tempfile
import select

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


DIM = 24
EVALS = 260
target_rng = random.Random(SEED)
TARGET = [target_rng.uniform(-2, 2) for _ in range(DIM)]


def fitness(c, seed):
    rng = random.Random(seed)
    total = 0.0
    for _ in range(EVALS):
        x = [rng.gauss(0, 1) for _ in range(DIM)]
        total += (sum(a * b for a, b in zip(c, x)) - sum(a * b for a, b in zip(TARGET, x))) ** 2
    return total / EVALS


def serve(conn):
    """A worker: take a candidate, give its score."""
    for line in conn.makefile("rb"):
        if line == b"stop\n":
            return
        k, c = json.loads(line)
        conn.sendall(json.dumps([k, fitness(c, (SEED, k).__hash__())]).encode() + b"\n")


def start_workers(server, n):
    for _ in range(n):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            while True:
                try:
                    c = socket.create_connection(server() if callable(server) else server)
                    break
                except (OSError, ValueError):
                    if clock() > 60:
                        raise
                    time.sleep(0.05)
            serve(c)
            os._exit(0)


def main():
    announce(None, None, "", note="rank 0 coordinates and does little by design")
    addr = os.path.join(SCRATCH, "%s-%s.%s-%d.addr" % (
        NAME, os.environ.get("SLURM_JOB_ID", "0"), os.environ.get("SLURM_STEP_ID", "0"), SEED))
    if RANK > 0:
        def server():
            with open(addr) as f:
                return "127.0.0.1", int(f.read())

        start_workers(server, cpus())
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return
    srv = socket.create_server(("127.0.0.1", 0), backlog=32)
    with open(addr + ".part", "w") as f:
        f.write(str(srv.getsockname()[1]))
    os.replace(addr + ".part", addr)
    expect = cpus() * max(1, WORLD - 1)
    if WORLD == 1:
        start_workers(srv.getsockname(), expect)
    workers = []
    srv.settimeout(60)
    while len(workers) < expect:
        c, _ = srv.accept()
        c.settimeout(None)
        workers.append(c)
    lines = {c.fileno(): c.makefile("rb") for c in workers}
    os.unlink(addr)
    print("coordinator: %d worker(s)" % len(workers), flush=True)
    rng = random.Random(SEED + 9)
    mean, sigma, gen, serial = [0.0] * DIM, 0.6, 0, 0
    while clock() < SECONDS:
        cands, scores = [[m + sigma * rng.gauss(0, 1) for m in mean] for _ in range(24)], [0.0] * 24
        todo = list(range(24))
        busy = {}
        free = list(workers)
        while todo or busy:
            while todo and free:
                f, k = free.pop(), todo.pop()
                f.sendall(json.dumps([k, cands[k]]).encode() + b"\n")
                busy[f.fileno()] = f
            ready, _, _ = select.select(list(busy), [], [])
            for fd in ready:
                f = busy.pop(fd)
                k, s = json.loads(lines[fd].readline())
                scores[k] = s
                free.append(f)
        best = sorted(range(24), key=scores.__getitem__)[:6]
        mean = [sum(cands[b][d] for b in best) / 6 for d in range(DIM)]
        sigma = max(0.03, sigma * 0.97)
        gen += 1
        if gen % 3 == 0:
            print("gen %3d  best %.4f  sigma %.3f" % (gen, scores[best[0]], sigma), flush=True)
    for f in workers:
        f.sendall(b"stop\n")
    print("coordinator: stopped after %d generations" % gen)


if __name__ == "__main__":
    main()
