"""train.py MODEL STEPS THREADS: trains the model of MODEL.py in PyTorch and prints the samples per second between a fifth
and four fifths of the steps, and the number of parameters."""
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
    first, last = steps // 5, steps * 4 // 5
    order = torch.Generator().manual_seed(2)
    for number in range(steps):
        if number == first:
            start = time.perf_counter()
        if number == last:
            seconds = time.perf_counter() - start
        step(torch.randperm(samples, generator=order)[: module.BATCH])
    parameters = sum(each.numel() for each in network.parameters())
    print(f"{(last - first) * module.BATCH / seconds:.3f} {parameters}")


main()
