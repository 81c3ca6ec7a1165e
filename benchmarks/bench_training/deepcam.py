"""DeepCAM's mini profile in PyTorch as its users would write it: the layers, loss, optimiser and batch of
src/bench/models/deepcam, on random images and masks. Batch norm is PyTorch's own, over the whole batch."""
import torch
from torch import nn

BATCH = 8
IMAGE = (4, 64, 96)
FREQUENCIES = (0.926, 0.034, 0.040)


def normalized(convolution):
    return nn.Sequential(convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU(inplace=True))


def separable(inputs, outputs, stride=1):
    by_channel = nn.Conv2d(inputs, inputs, 3, stride=stride, padding=1, groups=inputs, bias=False)
    return nn.Sequential(by_channel, normalized(nn.Conv2d(inputs, outputs, 1, bias=False)))


def deconvolution(inputs, outputs):
    return nn.ConvTranspose2d(inputs, outputs, 3, stride=2, padding=1, output_padding=1, bias=False)


class Pyramid(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        convolutions = [nn.Conv2d(inputs, outputs, 1, bias=False)]
        convolutions += [nn.Conv2d(inputs, outputs, 3, padding=d, dilation=d, bias=False) for d in (3, 6)]
        self.branches = nn.ModuleList(normalized(each) for each in convolutions)
        self.mean = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.factor = nn.Parameter(torch.ones(outputs, 1, 1))
        self.offset = nn.Parameter(torch.zeros(outputs, 1, 1))
        self.project = normalized(nn.Conv2d(4 * outputs, outputs, 1, bias=False))

    def forward(self, x):
        mean = torch.relu(self.factor * self.mean(x.mean((2, 3), keepdim=True)) + self.offset)
        parts = [branch(x) for branch in self.branches] + [mean.expand(-1, -1, *x.shape[2:])]
        return self.project(torch.cat(parts, 1))


class DeepCam(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Sequential(normalized(nn.Conv2d(4, 16, 3, padding=1, bias=False)), separable(16, 32, 2))
        self.high = nn.Sequential(separable(32, 64, 2), separable(64, 64))
        self.pyramid = Pyramid(64, 32)
        self.details = normalized(nn.Conv2d(32, 16, 1, bias=False))
        self.widen = normalized(deconvolution(32, 16))
        self.decode = nn.Sequential(
            normalized(nn.Conv2d(32, 16, 3, padding=1, bias=False)), normalized(nn.Conv2d(16, 16, 3, padding=1, bias=False)),
            nn.Conv2d(16, 16, 1), deconvolution(16, 3))

    def forward(self, x):
        low = self.low(x)
        value = self.widen(self.pyramid(self.high(low)))
        return self.decode(torch.cat([value, self.details(low)], 1))


def make():
    """The network, what one step does with the numbers of its samples, and how many samples there are."""
    network = DeepCam()
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.002, eps=1e-6, weight_decay=0.01)
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(64, *IMAGE, generator=generator)
    masks = torch.multinomial(torch.tensor(FREQUENCIES), 64 * IMAGE[1] * IMAGE[2], True, generator=generator)
    masks = masks.view(64, *IMAGE[1:])
    weights = torch.tensor(FREQUENCIES) ** -0.125

    def step(samples):
        optimizer.zero_grad(set_to_none=True)
        losses = nn.functional.cross_entropy(network(images[samples]), masks[samples], weight=weights, reduction="none")
        loss = losses.mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return network, step, len(images)
