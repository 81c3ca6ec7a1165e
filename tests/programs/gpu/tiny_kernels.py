"""Character-level recurrent network with its own cell and its own optimiser."""
import argparse
import math
import time

import torch
import torch.nn.functional as F


class CharRNN:
    """A GRU written out gate by gate, two layers."""

    def __init__(self, vocab, hidden, layers=2):
        self.hidden = hidden
        self.embed = self._param(vocab, hidden)
        self.cells = []
        for _ in range(layers):
            cell = {}
            for gate in ("z", "r", "n"):
                cell["w" + gate] = self._param(hidden, hidden)
                cell["u" + gate] = self._param(hidden, hidden)
                cell["b" + gate] = torch.zeros(hidden, device="cuda", requires_grad=True)
            self.cells.append(cell)
        self.out = self._param(hidden, vocab)

    @staticmethod
    def _param(rows, cols):
        w = torch.randn(rows, cols, device="cuda") / math.sqrt(rows)
        return w.requires_grad_(True)

    def parameters(self):
        yield self.embed
        for cell in self.cells:
            yield from cell.values()
        yield self.out

    def loss(self, tokens):
        batch, length = tokens.shape
        states = [torch.zeros(batch, self.hidden, device="cuda") for _ in self.cells]
        total = torch.zeros((), device="cuda")
        for t in range(length - 1):
            x = self.embed[tokens[:, t]]
            for i, c in enumerate(self.cells):
                h = states[i]
                z = torch.sigmoid(x @ c["wz"] + h @ c["uz"] + c["bz"])
                r = torch.sigmoid(x @ c["wr"] + h @ c["ur"] + c["br"])
                n = torch.tanh(x @ c["wn"] + (r * h) @ c["un"] + c["bn"])
                h = (1 - z) * n + z * h
                states[i] = h
                x = h
            total = total + F.cross_entropy(x @ self.out, tokens[:, t + 1])
        return total / (length - 1)


class RowAdam:
    """Adam that keeps and updates its state row by row."""

    def __init__(self, params, lr, betas=(0.9, 0.99), eps=1e-8):
        self.params, self.lr, self.betas, self.eps = list(params), lr, betas, eps
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]
        self.t = 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        scale = self.lr * math.sqrt(1 - b2 ** self.t) / (1 - b1 ** self.t)
        for p, m, v in zip(self.params, self.m, self.v):
            rows = range(p.shape[0]) if p.dim() == 2 else [slice(None)]
            for i in rows:
                g, mi, vi = p.grad[i], m[i], v[i]
                mi.mul_(b1).add_(g, alpha=1 - b1)
                vi.mul_(b2).addcmul_(g, g, value=1 - b2)
                p[i].sub_(scale * mi / (vi.sqrt() + self.eps))

    def zero_grad(self):
        for p in self.params:
            p.grad = None


def make_batch(batch, length, vocab):
    start = torch.randint(vocab, (batch, 1), device="cuda")
    stride = torch.randint(1, 4, (batch, 1), device="cuda")
    return (start + stride * torch.arange(length, device="cuda")) % vocab


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--length", type=int, default=64)
    ap.add_argument("--vocab", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    model = CharRNN(args.vocab, args.hidden)
    opt = RowAdam(model.parameters(), args.lr)
    n_params = sum(p.numel() for p in opt.params)
    print(f"device {torch.cuda.get_device_name()} params {n_params / 1e3:.1f}k", flush=True)

    def train_step():
        loss = model.loss(make_batch(args.batch, args.length, args.vocab))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    for _ in range(2):
        train_step()
    torch.cuda.synchronize()

    start = last = time.perf_counter()
    step = 0
    while time.perf_counter() - start < args.seconds:
        loss = train_step()
        step += 1
        if step % 5 == 0:
            value = loss.item()
            now = time.perf_counter()
            dt, last = (now - last) / 5, now
            print(f"step {step} loss {value:.4f} lr {args.lr:.1e} {dt * 1e3:.1f} ms/step "
                  f"{args.batch * args.length / dt:.0f} char/s", flush=True)
    torch.cuda.synchronize()
    print(f"done: {step} steps, final loss {loss.item():.4f}, "
          f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
