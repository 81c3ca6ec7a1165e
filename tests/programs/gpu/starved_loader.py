"""Train a small GPT in bf16 on text that is tokenised on the fly (WordPiece)."""
import argparse
import time
import unicodedata

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class WordPieceTokenizer:
    """Lower-case, strip accents, split punctuation, then greedy longest match first."""

    def __init__(self, pieces):
        self.vocab = {"[UNK]": 0, "[SEP]": 1}
        for piece in pieces:
            self.vocab.setdefault(piece, len(self.vocab))

    def clean(self, text):
        out = []
        for ch in text:
            cat = unicodedata.category(ch)
            if cat in ("Cc", "Cf"):
                continue
            out.append(" " if cat == "Zs" else ch)
        return "".join(out)

    def strip_accents(self, text):
        out = []
        for ch in unicodedata.normalize("NFD", text):
            if unicodedata.category(ch) == "Mn":
                continue
            out.append(ch)
        return "".join(out)

    def split_punctuation(self, word):
        parts, fresh = [], True
        for ch in word:
            if unicodedata.category(ch).startswith("P"):
                parts.append([ch])
                fresh = True
            else:
                if fresh:
                    parts.append([])
                fresh = False
                parts[-1].append(ch)
        return ["".join(p) for p in parts]

    def word_pieces(self, word):
        ids, begin = [], 0
        while begin < len(word):
            end, found = len(word), None
            while begin < end:
                piece = word[begin:end] if begin == 0 else "##" + word[begin:end]
                if piece in self.vocab:
                    found = self.vocab[piece]
                    break
                end -= 1
            if found is None:
                return [0]
            ids.append(found)
            begin = end
        return ids

    def encode(self, text):
        ids = []
        for word in self.clean(text).strip().split():
            for part in self.split_punctuation(self.strip_accents(word.lower())):
                ids.extend(self.word_pieces(part))
        ids.append(1)
        return ids


SYLLABLES = [c + v + e for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "ä", "é")
             for e in ("", "n", "r", "s")]


class TextDataset:
    """Synthetic documents; each is tokenised whole and a random window is taken from it."""

    def __init__(self, seq, seed, doc_words, documents=64):
        self.seq = seq
        self.rng = np.random.default_rng(seed)
        words = ["".join(self.rng.choice(SYLLABLES, size=self.rng.integers(1, 5)))
                 for _ in range(4000)]
        plain = [s.replace("ä", "a").replace("é", "e") for s in SYLLABLES]
        pieces = plain + ["##" + p for p in plain] + list(".,;?!")
        pieces += list("abcdefghijklmnopqrstuvwxyz")
        pieces += ["##" + c for c in "abcdefghijklmnopqrstuvwxyz"]
        self.tokenizer = WordPieceTokenizer(pieces)
        ranks = np.arange(1, len(words) + 1)
        weights = 1.0 / ranks
        weights /= weights.sum()
        marks = np.array(["", "", "", "", "", "", ",", ".", ";", "?"])
        self.documents = []
        for _ in range(documents):
            picks = self.rng.choice(len(words), size=doc_words, p=weights)
            ends = self.rng.choice(marks, size=doc_words)
            self.documents.append(" ".join(words[i].capitalize() + e if e == "." else words[i] + e
                                           for i, e in zip(picks, ends)))

    def sample(self):
        ids = []
        while len(ids) < self.seq + 1:
            ids += self.tokenizer.encode(self.documents[self.rng.integers(len(self.documents))])
        first = self.rng.integers(len(ids) - self.seq)
        return np.asarray(ids[first:first + self.seq + 1], dtype=np.int64)

    def batch(self, size):
        return torch.from_numpy(np.stack([self.sample() for _ in range(size)]))


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


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--layers", type=int, default=12)
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--heads", type=int, default=16)
    ap.add_argument("--seq", type=int, default=1024)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--vocab", type=int, default=32000)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--doc-words", type=int, default=8000)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = GPT(args.vocab, args.width, args.layers, args.heads, args.seq)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95),
                            weight_decay=0.1, fused=True)
    n_params = sum(p.numel() for p in model.parameters())
    print(f"device {torch.cuda.get_device_name()} params {n_params / 1e6:.1f}M", flush=True)
    data = TextDataset(args.seq, args.seed, args.doc_words)
    print(f"dataset ready: {len(data.documents)} documents, "
          f"{len(data.tokenizer.vocab)} word pieces", flush=True)

    def train_step():
        tokens = data.batch(args.batch).to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss.detach()

    for _ in range(3):
        train_step()
    torch.cuda.synchronize()

    start = last = time.perf_counter()
    step = 0
    while time.perf_counter() - start < args.seconds:
        loss = train_step()
        step += 1
        if step % 2 == 0:
            value = loss.item()
            now = time.perf_counter()
            dt, last = (now - last) / 2, now
            print(f"step {step} loss {value:.4f} lr {args.lr:.1e} {dt * 1e3:.1f} ms/step "
                  f"{args.batch * args.seq / dt:.0f} tok/s", flush=True)
    torch.cuda.synchronize()
    print(f"done: {step} steps, final loss {loss.item():.4f}, "
          f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
