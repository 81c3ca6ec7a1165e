"""Train a small GPT in bf16 with activations and optimiser state kept in host memory."""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.ln2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 4 * width, bias=False)
        self.fc2 = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, vocab, width, layers, heads, seq):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Embedding(seq, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)

    def trunk(self, idx):
        h = self.tok(idx) + self.pos.weight[: idx.shape[1]]
        for block in self.blocks:
            h = block(h)
        return self.ln(h)

    def head(self, h, targets):
        logits = F.linear(h, self.tok.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


class HostAdamW:
    """AdamW whose two moments live in host memory and visit the GPU for each update."""

    def __init__(self, params, lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1):
        self.params = [p for p in params if p.requires_grad]
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self.m = [torch.zeros(p.shape, device="cpu") for p in self.params]
        self.v = [torch.zeros(p.shape, device="cpu") for p in self.params]
        self.t = 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        fix1, fix2 = 1 - b1 ** self.t, math.sqrt(1 - b2 ** self.t)
        for p, m_host, v_host in zip(self.params, self.m, self.v):
            m, v = m_host.to("cuda"), v_host.to("cuda")
            m.mul_(b1).add_(p.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            p.mul_(1 - self.lr * self.weight_decay)
            p.addcdiv_(m, v.sqrt().div_(fix2).add_(self.eps), value=-self.lr / fix1)
            m_host.copy_(m)
            v_host.copy_(v)

    def zero_grad(self):
        for p in self.params:
            p.grad = None


def make_batch(batch, seq, vocab, device="cuda"):
    # Zipf-like segments that repeat inside each row, so there is something to learn
    seg = (torch.rand(batch, 64, device=device) ** 3 * vocab).long().clamp_(max=vocab - 1)
    rows = seg.repeat(1, seq // 64 + 1)[:, : seq + 1]
    return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--layers", type=int, default=6)
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--heads", type=int, default=16)
    ap.add_argument("--seq", type=int, default=512)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--vocab", type=int, default=16384)
    ap.add_argument("--lr", type=float, default=3e-4)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = GPT(args.vocab, args.width, args.layers, args.heads, args.seq)
    opt = HostAdamW(model.parameters(), lr=args.lr)
    n_params = sum(p.numel() for p in model.parameters())
    print(f"device {torch.cuda.get_device_name()} params {n_params / 1e6:.1f}M", flush=True)

    def train_step():
        x, y = make_batch(args.batch, args.seq, args.vocab)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            with torch.autograd.graph.save_on_cpu(pin_memory=False):
                h = model.trunk(x)
            loss = model.head(h, y)
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
        value = loss.item()
        now = time.perf_counter()
        dt, last = now - last, now
        print(f"step {step} loss {value:.4f} lr {args.lr:.1e} {dt * 1e3:.1f} ms/step "
              f"{args.batch * args.seq / dt:.0f} tok/s", flush=True)
    torch.cuda.synchronize()
    print(f"done: {step} steps, final loss {loss.item():.4f}, "
          f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
