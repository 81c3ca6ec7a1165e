"""CosmoFlow's mini profile in PyTorch as its users would write it: the same layers, loss, optimiser and batch as
src/bench/models/cosmoflow, on random counts. The weights start as PyTorch starts them, which costs the same."""
import torch
from torch import nn

SAMPLE_SHAPE = (4, 32, 32, 32)
BATCH = 8


class CosmoFlow(nn.Module):
    def __init__(self):
        super().__init__()
        channels = [4, 8, 16, 32, 64]
        stages = []
        for inputs, outputs in zip(channels, channels[1:]):
            stages += [nn.Conv3d(inputs, outputs, 3, padding=1), nn.LeakyReLU(0.3), nn.MaxPool3d(2)]
        self.features = nn.Sequential(*stages)
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 2**3, 128), nn.LeakyReLU(0.3), nn.Linear(128, 64), nn.LeakyReLU(0.3), nn.Linear(64, 4))

    def forward(self, x):
        return torch.tanh(self.head(self.features(x))) * 1.2


def make_samples(count, generator):
    counts = torch.poisson(torch.full((count, *SAMPLE_SHAPE), 4.0), generator=generator).to(torch.int16)
    return counts, torch.rand(count, 4, generator=generator) * 2 - 1


def make():
    """The network, what one step does with the numbers of its samples, and how many samples there are."""
    network = CosmoFlow()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    counts, targets = make_samples(64, torch.Generator().manual_seed(1))

    def step(samples):
        inputs = torch.log1p(counts[samples].float())
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(network(inputs), targets[samples])
        loss.backward()
        optimizer.step()
        return loss.item()

    return network, step, len(counts)
