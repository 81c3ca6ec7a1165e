"""Train a small GPT in bf16 with numeric traces of each layer."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def trace(name, t):
    torch.cuda.synchronize()
    t = t.detach().float()
    mean = t.mean().item()
    std = t.std().item()
    peak = t.abs().max().item()
    torch.cuda.synchronize()
    print(f"  {name} mean {mean:+.5f} std {std:.5f} max {peak:.4f}", flush=True)


class Block(nn.Module):
    def __init__(self, index, width, heads):
        super().__init__()
        self.index = index
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
        y = self.proj(y.transpose(1, 2).reshape(b, t, c))
        trace(f"block {self.index} attention", y)
        x = x + y
        y = self.fc2(F.gelu(self.fc1(self.ln2(x))))
        trace(f"block {self.index} mlp", y)
        x = x + y
        x.register_hook(lambda g: trace(f"block {self.index} grad", g))
        return x


class GPT(nn.Module):
    def __init__(self, vocab, width, layers, heads, seq):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Embedding(seq, width)
        self.blocks = nn.ModuleList(Block(i, width, heads) for i in range(layers))
        self.ln = nn.LayerNorm(width)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)

    def forward(self, idx, targets):
        h = self.tok(idx) + self.pos.weight[: idx.shape[1]]
        trace("embedding", h)
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.ln(h), self.tok.weight)
        trace("logits", logits)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def make_batch(batch, seq, vocab, device="cuda"):
    # Zipf-like segments that repeat inside each row, so there is something to learn
    seg = (torch.rand(batch, 64, device=device) ** 3 * vocab).long().clamp_(max=vocab - 1)
    rows = seg.repeat(1, seq // 64 + 1)[:, : seq + 1]
    return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--layers", type=int, default=8)
    ap.add_argument("--width", type=int, default=768)
    ap.add_argument("--heads", type=int, default=8)
    ap.add_argument("--seq", type=int, default=256)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--vocab", type=int, default=8192)
    ap.add_argument("--lr", type=float, default=3e-4)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = GPT(args.vocab, args.width, args.layers, args.heads, args.seq)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95),
                            weight_decay=0.1, fused=True)
    n_params = sum(p.numel() for p in model.parameters())
    print(f"device {torch.cuda.get_device_name()} params {n_params / 1e6:.1f}M", flush=True)

    def train_step():
        x, y = make_batch(args.batch, args.seq, args.vocab)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(x, y)
        torch.cuda.synchronize()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.cuda.synchronize()
        total = 0.0
        for i, block in enumerate(model.blocks):
            square = 0.0
            for p in block.parameters():
                square += p.grad.norm().item() ** 2
            print(f"  block {i} weight grad norm {square ** 0.5:.5f}", flush=True)
            total += square
        opt.step()
        torch.cuda.synchronize()
        return loss.item(), total ** 0.5

    for _ in range(2):
        train_step()
    torch.cuda.synchronize()

    start = last = time.perf_counter()
    step = 0
    while time.perf_counter() - start < args.seconds:
        value, norm = train_step()
        step += 1
        now = time.perf_counter()
        dt, last = now - last, now
        print(f"step {step} loss {value:.4f} grad_norm {norm:.3f} {dt * 1e3:.1f} ms/step "
              f"{args.batch * args.seq / dt:.0f} tok/s", flush=True)
    print(f"done: {step} steps, final loss {value:.4f}, "
          f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
