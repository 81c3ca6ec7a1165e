"""train.py MODEL STEPS THREADS: trains the model of MODEL.py in PyTorch and prints the samples per second of all steps but
the first tenth."""
import importlib
import sys
import time

import torch


def main():
    model, steps, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    module = importlib.import_module(model)
    network, step, samples = module.make()
    warm_up = steps // 10
    order = torch.Generator().manual_seed(2)
    for number in range(steps):
        if number == warm_up:
            start = time.perf_counter()
        step(torch.randperm(samples, generator=order)[: module.BATCH])
    seconds = time.perf_counter() - start
    parameters = sum(each.numel() for each in network.parameters())
    print(f"{(steps - warm_up) * module.BATCH / seconds:.3f} {parameters}")


main()
