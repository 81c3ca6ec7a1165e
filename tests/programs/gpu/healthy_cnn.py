"""Train a ResNet-50 in bf16, channels last, on synthetic images.

Batches are gathered on the host into pinned buffers by a thread and copied to
the GPU on a side stream while the previous batch is being trained on.
"""
import argparse
import os
import queue
import tempfile
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, cin, mid, stride):
        super().__init__()
        cout = 4 * mid
        self.conv1 = nn.Conv2d(cin, mid, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(mid)
        self.conv2 = nn.Conv2d(mid, mid, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(mid)
        self.conv3 = nn.Conv2d(mid, cout, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(cout)
        nn.init.zeros_(self.bn3.weight)
        self.skip = None
        if stride != 1 or cin != cout:
            self.skip = nn.Sequential(nn.Conv2d(cin, cout, 1, stride=stride, bias=False),
                                      nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.skip is None else self.skip(x)), inplace=True)


class ResNet(nn.Module):
    def __init__(self, classes, depths=(3, 4, 6, 3)):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        layers, cin = [], 64
        for stage, depth in enumerate(depths):
            mid = 64 << stage
            for i in range(depth):
                layers.append(Bottleneck(cin, mid, 2 if stage > 0 and i == 0 else 1))
                cin = 4 * mid
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(cin, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, stride=2, padding=1)
        return self.fc(self.layers(x).mean(dim=(2, 3)))


class Slot:
    """One pinned host buffer and the event that says its copy is over."""

    def __init__(self, batch, size):
        self.x = torch.empty((batch, 3, size, size), dtype=torch.uint8, pin_memory=True)
        self.y = torch.empty((batch,), dtype=torch.int64, pin_memory=True)
        self.copied = torch.cuda.Event(blocking=True)


class Prefetcher:
    def __init__(self, images, labels, batch, seed, depth=4):
        self.images, self.labels = images, labels
        self.batch = batch
        self.stream = torch.cuda.Stream()
        self.free, self.ready = queue.Queue(), queue.Queue()
        for _ in range(depth):
            self.free.put(Slot(batch, images.shape[-1]))
        self.rng = torch.Generator()
        self.rng.manual_seed(seed)
        self.thread = threading.Thread(target=self._fill, daemon=True)
        self.thread.start()
        self._load()

    def _fill(self):
        while True:
            slot = self.free.get()
            if slot is None:
                return
            slot.copied.synchronize()
            idx = torch.randint(len(self.images), (self.batch,), generator=self.rng)
            torch.index_select(self.images, 0, idx, out=slot.x)
            torch.index_select(self.labels, 0, idx, out=slot.y)
            self.ready.put(slot)

    def _load(self):
        slot = self.ready.get()
        with torch.cuda.stream(self.stream):
            self.next_x = slot.x.to("cuda", non_blocking=True)
            self.next_y = slot.y.to("cuda", non_blocking=True)
            slot.copied.record(self.stream)
        self.free.put(slot)

    def next(self):
        current = torch.cuda.current_stream()
        current.wait_stream(self.stream)
        x, y = self.next_x, self.next_y
        x.record_stream(current)
        y.record_stream(current)
        self._load()
        return x, y

    def close(self):
        self.free.put(None)
        self.thread.join(timeout=10)


def make_images(count, size, classes, templates):
    """uint8 images: a smooth pattern for each class and noise. Made on the GPU, kept on the host."""
    images, labels = [], []
    for first in range(0, count, 128):
        n = min(128, count - first)
        y = torch.randint(classes, (n,), device="cuda")
        base = F.interpolate(templates[y], size=(size, size), mode="bilinear", align_corners=False)
        noisy = 128 + 40 * base + 40 * torch.randn(base.shape, device="cuda")
        images.append(noisy.clamp(0, 255).to(torch.uint8).cpu())
        labels.append(y.cpu())
    return torch.cat(images), torch.cat(labels)


def normalise(x):
    return ((x.float() - 128.0) / 64.0).contiguous(memory_format=torch.channels_last)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--size", type=int, default=224)
    ap.add_argument("--classes", type=int, default=100)
    ap.add_argument("--images", type=int, default=2048)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--eval-every", type=float, default=5.0, help="seconds")
    ap.add_argument("--log-every", type=int, default=5)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    model = ResNet(args.classes).cuda().to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-5,
                          nesterov=True)
    n_params = sum(p.numel() for p in model.parameters())
    print(f"device {torch.cuda.get_device_name()} params {n_params / 1e6:.1f}M", flush=True)

    templates = torch.randn(args.classes, 3, 8, 8, device="cuda")
    images, labels = make_images(args.images, args.size, args.classes, templates)
    val_x, val_y = make_images(4 * args.batch, args.size, args.classes, templates)
    val_x, val_y = val_x.cuda(), val_y.cuda()
    loader = Prefetcher(images, labels, args.batch, args.seed)
    print(f"data ready: {len(images)} train, {len(val_x)} validation images", flush=True)

    def train_step():
        x, y = loader.next()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(normalise(x)), y, label_smoothing=0.1)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        return loss.detach()

    @torch.no_grad()
    def evaluate(batches):
        model.eval()
        total = torch.zeros((), device="cuda")
        hits = torch.zeros((), device="cuda")
        seen = 0
        for i in range(batches):
            x = val_x[i * args.batch:(i + 1) * args.batch]
            y = val_y[i * args.batch:(i + 1) * args.batch]
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out = model(normalise(x))
            total += F.cross_entropy(out.float(), y)
            hits += (out.argmax(1) == y).sum()
            seen += len(y)
        model.train()
        return total.item() / batches, hits.item() / seen

    for _ in range(3):
        train_step()
    evaluate(1)
    torch.cuda.synchronize()

    with tempfile.TemporaryDirectory(prefix="cnn_ckpt_") as ckpt_dir:
        start = last = time.perf_counter()
        next_eval = args.eval_every
        saved = False
        step = 0
        while True:
            elapsed = time.perf_counter() - start
            if elapsed >= args.seconds:
                break
            loss = train_step()
            step += 1
            if step % args.log_every == 0:
                value = loss.item()
                now = time.perf_counter()
                dt, last = (now - last) / args.log_every, now
                print(f"step {step} loss {value:.4f} lr {args.lr:.3f} {dt * 1e3:.1f} ms/step "
                      f"{args.batch / dt:.0f} img/s", flush=True)
            if elapsed >= next_eval:
                torch.cuda.synchronize()
                t = time.perf_counter()
                val_loss, acc = evaluate(4)
                spent = time.perf_counter() - t
                print(f"eval step {step} val_loss {val_loss:.4f} val_acc {acc:.3f} "
                      f"({spent:.2f} s)", flush=True)
                next_eval += args.eval_every
                last += spent
            if not saved and elapsed >= 0.5 * args.seconds:
                torch.cuda.synchronize()
                t = time.perf_counter()
                path = os.path.join(ckpt_dir, f"step_{step}.pt")
                torch.save({"step": step, "model": model.state_dict(),
                            "optimizer": opt.state_dict()}, path)
                spent = time.perf_counter() - t
                print(f"saved {os.path.basename(path)} {os.path.getsize(path) / 1e6:.0f} MB "
                      f"in {spent:.2f} s", flush=True)
                saved = True
                last += spent
        torch.cuda.synchronize()
        print(f"done: {step} steps, final loss {loss.item():.4f}, "
              f"{time.perf_counter() - start:.1f} s", flush=True)
    loader.close()


if __name__ == "__main__":
    main()
