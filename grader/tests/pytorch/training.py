"""Trains a small LLaMA on Python's own library, byte by byte, before and after swap()."""

import pathlib
import sysconfig
import time

import torch

from operators import onepass

BATCH, LENGTH, WARM_UP = 16, 512, 20
CONFIG = dict(vocab_size=256, hidden_size=512, intermediate_size=1408, num_hidden_layers=8,
              num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=LENGTH)


def text(device):
    """A few megabytes, in the order of their names."""
    files = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    return torch.frombuffer(bytearray(b"".join(file.read_bytes() for file in files)),
                            dtype=torch.uint8).to(device, torch.int64)


def train(swap, steps, device):
    """The losses: the same weights, text and order of it at every call."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(**CONFIG)).to(device)
    if swap:
        onepass.swap(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95))
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / WARM_UP))
    data = text(device)
    order = torch.Generator().manual_seed(2)
    losses = []
    begin = time.monotonic()
    for _ in range(steps):
        starts = torch.randint(0, len(data) - LENGTH - 1, (BATCH,), generator=order)
        window = torch.stack([data[start:start + LENGTH + 1] for start in starts.tolist()])
        with torch.autocast(device, torch.bfloat16):
            logits = model(window[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1),
                                                 window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        losses.append(loss.detach())
    losses = torch.stack(losses).tolist()
    return {"loss": losses, "seconds": time.monotonic() - begin}


def train_both(device, steps=300):
    """Both curves, and how far they are apart."""
    curves = {"before": train(False, steps, device), "after": train(True, steps, device)}
    pairs = list(zip(curves["before"]["loss"], curves["after"]["loss"]))
    apart = max(abs(a - b) / a for a, b in pairs)
    found = {"steps": steps, "batch": BATCH, "length": LENGTH, "config": CONFIG,
             "most_apart": apart, **curves}
    wrong = []
    last = [sum(curve["loss"][-20:]) / 20 for curve in curves.values()]
    if not abs(last[0] - last[1]) <= 0.02 * last[0]:
        wrong.append(f"training: the last 20 losses are {last[0]:.3f} before and {last[1]:.3f} after")
    if not last[0] < 0.6 * curves["before"]["loss"][0]:
        wrong.append(f"training: the loss is {last[0]:.3f} at the end: nothing was learnt")
    return found, wrong
