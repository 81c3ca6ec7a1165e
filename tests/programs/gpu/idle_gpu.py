"""Fit a two-layer network to features; the feature table is put on the GPU at the start."""
import argparse
import time

import numpy as np
import torch


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--rows", type=int, default=1 << 19)
    ap.add_argument("--features", type=int, default=1024)
    ap.add_argument("--hidden", type=int, default=2048)
    ap.add_argument("--batch", type=int, default=4096)
    ap.add_argument("--lr", type=float, default=0.05)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    table = torch.randn(args.rows, args.features, device="cuda")
    torch.cuda.synchronize()
    print(f"device {torch.cuda.get_device_name()} feature table "
          f"{table.numel() * table.element_size() / 1e9:.2f} GB on {table.device}", flush=True)

    host = table[: 8 * args.batch].cpu().numpy()
    true_w = rng.standard_normal((args.features, 1), dtype=np.float32)
    scale = np.float32(args.features ** -0.5)
    target = np.tanh(host @ true_w * scale)
    w1 = rng.standard_normal((args.features, args.hidden), dtype=np.float32)
    w1 *= scale
    b1 = np.zeros(args.hidden, dtype=np.float32)
    w2 = rng.standard_normal((args.hidden, 1), dtype=np.float32) * np.float32(args.hidden ** -0.5)
    lr = np.float32(args.lr)

    start = last = time.perf_counter()
    step = 0
    while time.perf_counter() - start < args.seconds:
        pick = rng.integers(len(host), size=args.batch)
        x, y = host[pick], target[pick]
        hidden = np.tanh(x @ w1 + b1)
        error = hidden @ w2 - y
        loss = float((error ** 2).mean())
        g_out = 2.0 * error / np.float32(args.batch)
        g_hidden = (g_out @ w2.T) * (1.0 - hidden ** 2)
        w2 -= lr * (hidden.T @ g_out)
        w1 -= lr * (x.T @ g_hidden)
        b1 -= lr * g_hidden.sum(axis=0)
        step += 1
        if step % 5 == 0:
            now = time.perf_counter()
            dt, last = (now - last) / 5, now
            print(f"step {step} loss {loss:.4f} lr {args.lr:.2f} {dt * 1e3:.1f} ms/step "
                  f"{args.batch / dt:.0f} rows/s", flush=True)
    print(f"done: {step} steps, final loss {loss:.4f}, "
          f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
