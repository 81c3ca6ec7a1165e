"""OC20's mini profile in PyTorch as its users would write it: the DimeNet++, loss, optimiser and batch of
src/bench/models/oc20, with forces by double backward, on random structures of the same kind with random forces. As there,
neighbours and triplets are found anew in each step, here for all structures of a batch at once; the spherical basis is in
closed form rather than from a table: its functions of distance take 4% of a step. The weights start as PyTorch starts them,
which costs the same."""
import math

import torch
from torch import nn

BATCH = 16
HIDDEN, INTERACTION, BASIS, RADIAL = 32, 16, 4, 4
SITES, FEWEST, MOST, JITTER = 3, 12, 20, 0.4
CUTOFF, SIDE = 4.0, 8.0  # Å
FORCE_WEIGHT = 50
# With it the structures have 15.5 atoms, 132 edges and 1067 triplets in the mean, as the first 64 of Belay's.
SEED = 324
# The first zeros of the spherical Bessel functions of the orders 0 to 3.
ZEROS = (
    (3.14159265, 6.28318531, 9.42477796, 12.56637061), (4.49340946, 7.72525184, 10.90412166, 14.06619391),
    (5.76345920, 9.09501133, 12.32294097, 15.51460301), (6.98793200, 10.41711855, 13.69802315, 16.92362129))


def find_edges(positions, exists):
    """Edges j -> i of all structures, ordered by i: the numbers of j and i and the vector from i to j. The cutoff is half a
    side of the box, so only the nearest image can be within it, and no atom has more neighbours than are allowed."""
    vectors = positions[:, None] - positions[:, :, None]
    vectors -= SIDE * torch.round(vectors / SIDE)
    squares = vectors.square().sum(-1)
    near = (squares <= CUTOFF**2) & (squares > 1e-4) & exists[:, None] & exists[:, :, None]
    structure, i, j = near.nonzero(as_tuple=True)
    numbers = exists.view(-1).cumsum(0).view(exists.shape) - 1
    return numbers[structure, j], numbers[structure, i], vectors[structure, i, j]


def find_triplets(source, target, atoms):
    """Pairs of edges k -> j -> i but for the way back: the numbers of both."""
    degrees = torch.bincount(target, minlength=atoms)
    counts = degrees[source]
    first = (degrees.cumsum(0) - degrees)[source] - (counts.cumsum(0) - counts)
    ji = torch.repeat_interleave(counts)
    kj = first[ji] + torch.arange(len(ji))
    goes_on = source[kj] != target[ji]
    return kj[goes_on], ji[goes_on]


def add_rows(values, rows, count):
    """Sums of rows. On CPUs index_put is faster than index_add and scatter_add, and so is its gradient."""
    return values.new_zeros(count, values.shape[1]).index_put((rows,), values, accumulate=True)


def envelope(x):
    return 1 / x + x**5 * (-28 + x * (48 - 21 * x))


def spherical_bessel(order, x):
    before, value = torch.cos(x) / x, torch.sin(x) / x
    for n in range(order):
        before, value = value, (2 * n + 1) / x * value - before
    return value


class SphericalBasis(nn.Module):
    def __init__(self):
        super().__init__()
        zeros = torch.tensor(ZEROS, dtype=torch.double)
        norms = [math.sqrt((2 * n + 1) / (2 * math.pi)) / spherical_bessel(n + 1, z).abs() for n, z in enumerate(zeros)]
        self.register_buffer("zeros", zeros.float())
        self.register_buffer("norms", torch.stack(norms).float())

    def forward(self, distances, cosines, kj):
        x = distances / CUTOFF
        radial = torch.stack([spherical_bessel(order, x * zeros) for order, zeros in enumerate(self.zeros)], 1)
        radial = radial * self.norms * envelope(x)[:, :, None]
        squares = cosines * cosines
        legendre = [torch.ones_like(cosines), cosines, 1.5 * squares - 0.5, cosines * (2.5 * squares - 1.5)]
        return (radial[kj] * torch.cat(legendre, 1)[:, :, None]).flatten(1)


def dense(inputs, outputs, bias=True):
    return nn.Sequential(nn.Linear(inputs, outputs, bias=bias), nn.SiLU())


def reduced(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, BASIS, bias=False), nn.Linear(BASIS, outputs, bias=False))


class Residual(nn.Sequential):
    def __init__(self):
        super().__init__(dense(HIDDEN, HIDDEN), dense(HIDDEN, HIDDEN))

    def forward(self, x):
        return x + super().forward(x)


class Output(nn.Module):
    def __init__(self):
        super().__init__()
        self.radial = nn.Linear(RADIAL, HIDDEN, bias=False)
        layers = [dense(HIDDEN, HIDDEN) for _ in range(3)]
        self.layers = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), *layers, nn.Linear(HIDDEN, 1, bias=False))

    def forward(self, messages, radial, target, atoms):
        return self.layers(add_rows(self.radial(radial) * messages, target, atoms))


class Interaction(nn.Module):
    def __init__(self):
        super().__init__()
        self.radial = reduced(RADIAL, HIDDEN)
        self.basis = reduced(len(ZEROS) * RADIAL, INTERACTION)
        self.kj = dense(HIDDEN, HIDDEN)
        self.ji = dense(HIDDEN, HIDDEN)
        self.down = dense(HIDDEN, INTERACTION, bias=False)
        self.up = dense(INTERACTION, HIDDEN, bias=False)
        self.before_skip = nn.Sequential(Residual(), dense(HIDDEN, HIDDEN))
        self.after_skip = nn.Sequential(Residual(), Residual())

    def forward(self, messages, radial, basis, kj, ji):
        down = self.down(self.kj(messages) * self.radial(radial))
        gathered = add_rows(down[kj] * self.basis(basis), ji, len(messages))
        return self.after_skip(self.before_skip(self.ji(messages) + self.up(gathered)) + messages)


class DimeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequencies = nn.Parameter(math.pi * torch.arange(1.0, RADIAL + 1))
        self.atoms = nn.Embedding(95, HIDDEN)
        self.radial = dense(RADIAL, HIDDEN)
        self.embed = dense(3 * HIDDEN, HIDDEN)
        self.spherical = SphericalBasis()
        self.outputs = nn.ModuleList([Output(), Output()])
        self.interaction = Interaction()

    def energies(self, elements, source, target, vectors):
        """The energy of each atom."""
        kj, ji = find_triplets(source, target, len(elements))
        distances = vectors.norm(dim=1, keepdim=True)
        directions = vectors / distances
        cosines = (directions[kj] * directions[ji]).sum(1, keepdim=True)
        x = distances / CUTOFF
        radial = envelope(x) * torch.sin(x * self.frequencies)
        atoms = self.atoms(elements)
        messages = self.embed(torch.cat([atoms[target], atoms[source], self.radial(radial)], 1))
        energies = self.outputs[0](messages, radial, target, len(elements))
        messages = self.interaction(messages, radial, self.spherical(distances, cosines, kj), kj, ji)
        return energies + self.outputs[1](messages, radial, target, len(elements))

    def forward(self, elements, positions, exists):
        """Forces -dE/dx of all atoms, one structure's after the other's."""
        source, target, vectors = find_edges(positions, exists)
        elements = elements[exists]
        energies = self.energies(elements, source, target, vectors.requires_grad_())
        slopes = torch.autograd.grad(energies.sum(), vectors, create_graph=True)[0]
        return add_rows(slopes, target, len(elements)) - add_rows(slopes, source, len(elements))


def make_samples(count, generator):
    """Elements, positions, which atoms there are, forces, and the weights of the forces' errors."""
    atoms = torch.randint(FEWEST, MOST + 1, (count, 1), generator=generator)
    exists = torch.arange(MOST) < atoms
    sites = torch.rand(count, SITES**3, generator=generator).argsort(1)[:, :MOST]
    places = torch.stack([sites % SITES, sites // SITES % SITES, sites // SITES**2], 2)
    jitter = JITTER * (2 * torch.rand(places.shape, generator=generator) - 1)
    elements = torch.tensor([1, 6, 8])[torch.randint(3, (count, MOST), generator=generator)]
    is_free = exists & (torch.arange(MOST) >= atoms // 5)
    weights = is_free / (3 * is_free.sum(1, keepdim=True))
    forces = torch.randn(places.shape, generator=generator)
    return elements, SIDE / SITES * (places + 0.5) + jitter, exists, forces, weights


def make():
    """The network, what one step does with the numbers of its samples, and how many samples there are."""
    network = DimeNet()
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=0.002, weight_decay=0.01, foreach=True)
    elements, positions, exists, forces, weights = make_samples(64, torch.Generator().manual_seed(SEED))

    def step(samples):
        optimizer.zero_grad(set_to_none=True)
        there = exists[samples]
        predictions = network(elements[samples], positions[samples], there)
        errors = (predictions - forces[samples][there]).abs().sum(1)
        loss = FORCE_WEIGHT / len(samples) * (errors * weights[samples][there]).sum()
        loss.backward(inputs=parameters)  # not the vectors
        optimizer.step()
        return loss.item()

    return network, step, len(elements)
