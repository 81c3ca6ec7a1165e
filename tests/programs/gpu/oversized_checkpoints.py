"""Train a small GPT in bf16 and keep a checkpoint of weights and optimiser state."""
import argparse
import os
import tempfile
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

    def forward(self, idx, targets):
        h = self.tok(idx) + self.pos.weight[: idx.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.ln(h), self.tok.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def make_batch(batch, seq, vocab, device="cuda"):
    # Zipf-like segments that repeat inside each row, so there is something to learn
    seg = (torch.rand(batch, 64, device=device) ** 3 * vocab).long().clamp_(max=vocab - 1)
    rows = seg.repeat(1, seq // 64 + 1)[:, : seq + 1]
    return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def save_checkpoint(folder, previous, step, model, opt):
    if previous is not None:
        os.remove(previous)  # keep only one on disk
    path = os.path.join(folder, f"step_{step}.pt")
    with open(path, "wb") as f:
        torch.save({"step": step, "model": model.state_dict(), "optimizer": opt.state_dict()}, f)
        f.flush()
        os.fsync(f.fileno())
    return path


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--layers", type=int, default=12)
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--heads", type=int, default=16)
    ap.add_argument("--seq", type=int, default=1024)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--vocab", type=int, default=16384)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--ckpt-every", type=float, default=3.0, help="seconds")
    ap.add_argument("--ckpt-dir", default=None, help="where to make the temporary folder")
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
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss.detach()

    for _ in range(3):
        train_step()
    torch.cuda.synchronize()

    with tempfile.TemporaryDirectory(prefix="gpt_ckpt_", dir=args.ckpt_dir) as folder:
        path = None
        start = last = last_ckpt = time.perf_counter()
        step = 0
        while time.perf_counter() - start < args.seconds:
            loss = train_step()
            step += 1
            if step % 10 == 0:
                value = loss.item()
                now = time.perf_counter()
                dt, last = (now - last) / 10, now
                print(f"step {step} loss {value:.4f} lr {args.lr:.1e} {dt * 1e3:.1f} ms/step "
                      f"{args.batch * args.seq / dt:.0f} tok/s", flush=True)
            if time.perf_counter() - last_ckpt >= args.ckpt_every:
                t = time.perf_counter()
                path = save_checkpoint(folder, path, step, model, opt)
                last_ckpt = time.perf_counter()
                print(f"saved {os.path.basename(path)} {os.path.getsize(path) / 1e9:.2f} GB "
                      f"in {last_ckpt - t:.2f} s", flush=True)
        torch.cuda.synchronize()
        print(f"done: {step} steps, final loss {loss.item():.4f}, "
              f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
