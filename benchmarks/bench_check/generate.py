#!/usr/bin/env python3
"""Writes logs of MLPerf HPC as large as those that were published: generate.py DIR [LOGS] [MEGABYTES].

Each is a valid closed run of round 3.0 but for one in fifty, which has a broken rule. A third of the bytes are
lines of other programs; the rest are MLLOG lines, with keys that rules know and keys that they do not. The same
arguments write the same bytes.
"""
import json
import os
import random
import sys

COMMON = {"number_of_nodes": 16, "accelerators_per_node": 8, "global_batch_size": 512,
          "gradient_accumulation_frequency": 1}
BENCHMARKS = {
    "cosmoflow": ("eval_error", 0.124, {
        "train_samples": 524288, "eval_samples": 65536, "opt_name": "sgd", "opt_base_learning_rate": 0.001,
        "opt_learning_rate_warmup_epochs": 4, "opt_learning_rate_warmup_factor": 1,
        "opt_learning_rate_decay_boundary_epochs": [32, 64], "opt_learning_rate_decay_factor": [0.25, 0.125],
        "dropout": 0.5, "opt_weight_decay": 0.0}),
    "oc20": ("eval_error", 0.036, {
        "train_samples": 2000000, "eval_samples": 999866, "opt_name": "AdamW", "opt_base_learning_rate": 0.0004,
        "opt_learning_rate_warmup_steps": 31252, "opt_learning_rate_warmup_factor": 0.2,
        "opt_learning_rate_decay_boundary_steps": [125008, 187512], "opt_learning_rate_decay_factor": 0.1}),
    "deepcam": ("eval_accuracy", 0.82, {
        "train_samples": 121266, "eval_samples": 15158, "opt_name": "LAMB", "opt_lr": 0.0055,
        "opt_betas": [0.9, 0.999], "opt_eps": 1e-6, "opt_bias_correction": True, "opt_grad_averaging": True,
        "opt_max_grad_norm": 1.0, "batchnorm_group_size": 1, "scheduler_type": "multistep",
        "scheduler_milestones": [800], "scheduler_decay_rate": 0.1, "scheduler_lr_warmup_steps": 400,
        "scheduler_lr_warmup_factor": 1.0}),
}


class Log:
    def __init__(self, number):
        self.random = random.Random(number)
        self.time_ms = 1_650_000_000_000 + number * 1000
        self.lines = []
        self.size = 0

    def write(self, line):
        self.lines.append(line)
        self.size += len(line) + 1

    def event(self, key, value=None, kind="POINT_IN_TIME", seconds=0.1, **metadata):
        self.time_ms += int(seconds * 1000)
        where = {"file": "/workspace/benchmark/implementation/src/trainer/train_hpc.py",
                 "lineno": self.random.randrange(40, 900)}
        self.write(":::MLLOG " + json.dumps({"namespace": "", "time_ms": self.time_ms, "event_type": kind, "key": key,
                                             "value": value, "metadata": where | metadata}))

    def noise(self):
        self.write("%d: step %d loss %.6f, %.1f samples/s, lr %.3e" % (
            self.random.randrange(16), self.random.randrange(100000), self.random.random(),
            self.random.random() * 10000, self.random.random() * 1e-3))


def text_of(number, wanted):
    log = Log(number)
    benchmark = sorted(BENCHMARKS)[number % len(BENCHMARKS)]
    metric, target, values = BENCHMARKS[benchmark]
    log.event("submission_benchmark", benchmark)
    log.event("submission_org", "Generated")
    log.event("submission_division", "closed")
    log.event("submission_status", "onprem")
    log.event("submission_platform", "system of %d" % number)
    log.event("cache_clear")
    log.event("init_start", kind="INTERVAL_START")
    for key, value in (COMMON | values).items():
        log.event(key, value)
    log.event("seed", number + 1)
    log.event("init_stop", kind="INTERVAL_END", seconds=60)
    log.event("run_start", kind="INTERVAL_START")
    log.event("staging_start", kind="INTERVAL_START")
    log.event("staging_stop", kind="INTERVAL_END", seconds=30)
    epoch = 0
    while log.size < wanted:
        epoch += 1
        log.event("epoch_start", kind="INTERVAL_START", epoch_num=epoch)
        for step in range(16):
            log.event("tracked_stats", {"throughput": log.random.random() * 1e4, "loss": log.random.random()},
                      seconds=1, epoch_num=epoch, step=step)
            log.event("learning_rate", log.random.random() * 1e-3, epoch_num=epoch, step=step)
            for _ in range(3):
                log.noise()
        log.event("eval_start", kind="INTERVAL_START", epoch_num=epoch)
        log.event(metric, target * (1 + log.random.random() * (1 if metric == "eval_error" else -1)), seconds=5,
                  epoch_num=epoch)
        log.event("eval_stop", kind="INTERVAL_END", epoch_num=epoch)
        log.event("epoch_stop", kind="INTERVAL_END", epoch_num=epoch)
    log.event(metric, target * (0.99 if metric == "eval_error" else 1.01), epoch_num=epoch)
    if number % 50 != 49:
        log.event("run_stop", kind="INTERVAL_END", status="success")
    return "\n".join(log.lines) + "\n"


def main():
    directory = sys.argv[1]
    logs = int(sys.argv[2]) if len(sys.argv) > 2 else 3800
    megabytes = float(sys.argv[3]) if len(sys.argv) > 3 else 340
    os.makedirs(directory, exist_ok=True)
    for number in range(logs):
        with open(os.path.join(directory, "result_%05d.txt" % number), "w", encoding="ascii") as file:
            file.write(text_of(number, megabytes * 1e6 / logs))


main()
