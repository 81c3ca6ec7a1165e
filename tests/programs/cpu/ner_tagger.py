#!/usr/bin/python3
"""Averaged perceptron tagger on generated sentences with a feature cache."""
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


TAGS = 5
lex = random.Random(SEED)
WORDS = ["".join(lex.choices("abcdefghijklmnopqrstuvwxyz", k=lex.randint(3, 9))) for _ in range(1500)]
EMIT = {w: [lex.gauss(0, 1) for _ in range(TAGS)] for w in WORDS}
MOVE = {c: [lex.gauss(0, 0.7) for _ in range(TAGS)] for c in "abcdefghijklmnopqrstuvwxyz<"}


def features(word, prev):
    f = ["w=" + word, "p=" + prev]
    for k in range(1, 4):
        f.append("s%d=%s" % (k, word[-k:]))
        f.append("b%d=%s" % (k, word[:k]))
    return f


def train_on(job):
    w, seed, sentences = job
    rng = random.Random(seed)
    upd, wrong, total = {}, 0, 0
    for _ in range(sentences):
        prev = "<s>"
        for word in rng.choices(WORDS, k=14):
            fs = features(word, prev)
            score = [0.0] * TAGS
            for f in fs:
                r = w.get(f)
                if r:
                    for t in range(TAGS):
                        score[t] += r[t]
            best = max(range(TAGS), key=score.__getitem__)
            gold = max(range(TAGS), key=[a + b for a, b in zip(EMIT[word], MOVE[prev[0]])].__getitem__)
            if rng.random() < 0.04:
                gold = rng.randrange(TAGS)
            total += 1
            if best != gold:
                wrong += 1
                for f in fs:
                    u = upd.setdefault(f, [0.0] * TAGS)
                    u[gold] += 1
                    u[best] -= 1
            prev = word
    return upd, wrong, total


def _child():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def parallel(fn):
    n = cpus()
    if n == 1:
        return n, lambda items: [fn(i) for i in items]
    pool = multiprocessing.get_context("fork").Pool(n, _child)
    return n, lambda items: pool.map(fn, items, 1)


def lookup(cache, limit, seconds):
    """Features of the gazetteer: from the cache, or made anew when the cache is full."""
    if len(cache) < limit:
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for word in WORDS[:40]:
            features(word, "<s>")


def main():
    factor = plan.uniform(1.4, 3.0)
    begins = SECONDS * plan.uniform(0.3, 0.7)
    announce(begins, factor, "step time after / before")
    n, pmap = parallel(train_on)
    w, cache, step, sum_t = {}, {}, 0, 0.0
    limit = 1000
    while clock() < SECONDS:
        b = clock()
        wrong = total = 0
        for upd, a, t in pmap([(w, (SEED, step, j, RANK).__hash__(), 300 // n) for j in range(n)]):
            wrong += a
            total += t
            for f, u in upd.items():
                r = w.setdefault(f, [0.0] * TAGS)
                for k in range(TAGS):
                    r[k] += 0.02 * u[k]
        step += 1
        cost = clock() - b
        sum_t = cost if not sum_t else 0.9 * sum_t + 0.1 * cost
        while len(cache) < min(limit, limit * clock() / begins):
            cache[len(cache)] = None
        lookup(cache, limit, (factor - 1) * sum_t)
        if step % 5 == 0:
            sys.stdout.write("\rstep %d, error %.3f, %.1f sent/s   " % (step, wrong / total, 300 / (clock() - b)))
            sys.stdout.flush()
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
