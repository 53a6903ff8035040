#!/usr/bin/env python3
"""The library's functions beside quack, Liger, PyTorch and torch.compile, and a copy of as many
bytes: the same tensors, the same run, in turns. Needs a GPU; quack and Liger take part if they are
installed. Prints the table of docs/measured.md, a line as it comes.

    build/onepass library solutions
    ONEPASS_LIBRARY=build/library/solutions/libonepass.so python3 grader/tests/pytorch/peers.py

Of each call: the L2 cache is flushed by a read of 512 MB, events stand around it, and the median of
25 counts. The bytes are those that must move: each tensor read or written once.
"""
import argparse
import importlib
import pathlib
import statistics
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "pytorch"))
from onepass import library  # noqa: E402

EPS = 1e-6
CALLS = 25
PROVIDERS = ("One Pass", "quack", "Liger", "PyTorch", "torch.compile")
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
SHAPES = ("65536x1024:bf16,32768x2048:bf16,16384x4096:bf16,16384x5120:fp16,4096x8192:fp32,"
          "32768x8192:bf16,8192x16384:bf16,4096x32768:bf16,4096x65536:bf16,16384x4097:bf16")


def optional(name):
    """A library's module, or None; says so of one that is there and does not load."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
    except Exception as error:  # pylint: disable=broad-except
        print(f"{name} does not load: {error!r}", file=sys.stderr)
        return None


quack = optional("quack.rmsnorm")
quack_rotary = optional("quack.rotary")
liger_rms = optional("liger_kernel.ops.rms_norm")
liger_add = optional("liger_kernel.ops.fused_add_rms_norm")
liger_ln = optional("liger_kernel.ops.layer_norm")
liger_rope = optional("liger_kernel.ops.rope")


def random(*shape, dtype=torch.float32, mean=0.0, deviation=1.0):
    return (mean + deviation * torch.randn(*shape, device="cuda")).to(dtype)


def call(name, tensor, *arguments):
    library.call(f"onepass_{name}", tensor, *arguments)


def times_of(contest, flush):
    """The median of each provider's calls, in ms. Who fails is named, and is not in it."""
    events = {}
    for provider, function in contest.items():
        try:
            for _ in range(3):
                function()
            torch.cuda.synchronize()
            events[provider] = []
        except Exception as error:  # pylint: disable=broad-except
            print(f"{provider}: {error!r}"[:200], file=sys.stderr)
    for _ in range(CALLS):
        for provider, pairs in events.items():
            flush.sum()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            contest[provider]()
            end.record()
            pairs.append((begin, end))
        torch.cuda.synchronize()
    return {provider: statistics.median(begin.elapsed_time(end) for begin, end in pairs)
            for provider, pairs in events.items()}


# ---- What is compared: the bytes that must move, and a call of each provider ----

@torch.compile
def compiled_rmsnorm(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS) * weight.float()).to(x.dtype)


@torch.compile
def compiled_residual(x, residual, weight):
    total = x + residual
    return total, compiled_rmsnorm(total, weight)


@torch.compile
def compiled_layernorm(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias, EPS)


def rmsnorm_forward(rows, cols, dtype):
    x, weight = random(rows, cols, dtype=dtype), random(cols, dtype=dtype)
    y, rstd = torch.empty_like(x), random(rows)
    contest = {
        "One Pass": lambda: call("rmsnorm_forward", x, x, cols, weight, y, cols, rstd, rows, cols, EPS),
        "PyTorch": lambda: torch.ops.aten._fused_rms_norm(x, [cols], weight, EPS),
        "torch.compile": lambda: compiled_rmsnorm(x, weight)}
    if quack:
        contest["quack"] = lambda: quack.rmsnorm_fwd(x, weight, eps=EPS, store_rstd=True)
    if liger_rms:
        contest["Liger"] = lambda: liger_rms.rms_norm_forward(x, weight, EPS, 0.0, "llama", None)
    return 2 * x.nbytes + weight.nbytes + rstd.nbytes, contest


def rmsnorm_residual(rows, cols, dtype):
    x, residual = random(rows, cols, dtype=dtype), random(rows, cols, dtype=dtype)
    weight, total, y, rstd = random(cols, dtype=dtype), torch.empty_like(x), torch.empty_like(x), random(rows)
    contest = {
        "One Pass": lambda: call("rmsnorm_residual", x, x, cols, residual, cols, weight, total, cols, y,
                                 cols, rstd, rows, cols, EPS),
        "PyTorch": lambda: torch.ops.aten._fused_rms_norm(x + residual, [cols], weight, EPS),
        "torch.compile": lambda: compiled_residual(x, residual, weight)}
    if quack:
        contest["quack"] = lambda: quack.rmsnorm_fwd(x, weight, residual=residual, eps=EPS, store_rstd=True)
    if liger_add:
        contest["Liger"] = lambda: liger_add.fused_add_rms_norm_forward(x, residual, weight, EPS, 0.0, "llama")
    return 4 * x.nbytes + weight.nbytes + rstd.nbytes, contest


def rmsnorm_backward(rows, cols, dtype):
    x, dy, weight = (random(rows, cols, dtype=dtype), random(rows, cols, dtype=dtype),
                     random(cols, dtype=dtype))
    dx, dweight = torch.empty_like(x), torch.empty_like(weight)
    scratch = torch.empty(library.size("rmsnorm", rows, cols), device="cuda")
    _, rstd = torch.ops.aten._fused_rms_norm(x, [cols], weight, EPS)
    flat = rstd.reshape(-1).contiguous()
    contest = {
        "One Pass": lambda: call("rmsnorm_backward", x, dy, cols, x, cols, weight, flat, dx, cols, dweight,
                                 scratch, 0, rows, cols),
        "PyTorch": lambda: torch.ops.aten._fused_rms_norm_backward(dy, x, [cols], rstd, weight, [True, True])}
    if quack:
        contest["quack"] = lambda: quack.rmsnorm_bwd(x, weight, dy, flat)
    if liger_rms:
        _, _, saved, block, warps, mode = liger_rms.rms_norm_forward(x, weight, EPS, 0.0, "llama", None)[:6]
        contest["Liger"] = lambda: liger_rms.rms_norm_backward(dy, x, weight, saved, 0.0, mode, block, warps,
                                                               False, None)
    return 3 * x.nbytes + 2 * weight.nbytes + flat.nbytes, contest


def layernorm_forward(rows, cols, dtype):
    x = random(rows, cols, dtype=dtype, mean=-2.3, deviation=0.5)
    weight, bias = random(cols, dtype=dtype), random(cols, dtype=dtype)
    y, mean, rstd = torch.empty_like(x), random(rows), random(rows)
    weight32, bias32 = weight.float(), bias.float()
    contest = {
        "One Pass": lambda: call("layernorm_forward", x, x, cols, weight, bias, y, cols, mean, rstd, rows,
                                 cols, EPS),
        "PyTorch": lambda: torch.ops.aten.native_layer_norm(x, [cols], weight, bias, EPS),
        "torch.compile": lambda: compiled_layernorm(x, weight, bias)}
    if quack:
        contest["quack"] = lambda: quack.layernorm_fwd(x, weight32, bias32, EPS, True, True)
    if liger_ln:
        contest["Liger"] = lambda: liger_ln.layer_norm_forward(x, weight, bias, EPS)
    return 2 * x.nbytes + 2 * weight.nbytes + 2 * rstd.nbytes, contest


def layernorm_backward(rows, cols, dtype):
    x = random(rows, cols, dtype=dtype, mean=-2.3, deviation=0.5)
    dy = random(rows, cols, dtype=dtype, deviation=0.1)
    weight, bias = random(cols, dtype=dtype), random(cols, dtype=dtype)
    dx, dweight, dbias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
    scratch = torch.empty(library.size("layernorm", rows, cols), device="cuda")
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [cols], weight, bias, EPS)
    flat_mean, flat_rstd = mean.reshape(-1).contiguous(), rstd.reshape(-1).contiguous()
    contest = {
        "One Pass": lambda: call("layernorm_backward", x, dy, cols, x, cols, weight, flat_mean, flat_rstd,
                                 dx, cols, dweight, dbias, scratch, rows, cols),
        "PyTorch": lambda: torch.ops.aten.native_layer_norm_backward(dy, x, [cols], mean, rstd, weight, bias,
                                                                     [True, True, True])}
    if quack:
        contest["quack"] = lambda: quack.layernorm_bwd(x, weight, dy, flat_rstd, flat_mean)
    if liger_ln:
        saved = liger_ln.layer_norm_forward(x, weight, bias, EPS)
        contest["Liger"] = lambda: liger_ln.layer_norm_backward(dy, saved[1], weight, bias, saved[2], saved[3])
    return 3 * x.nbytes + 3 * weight.nbytes + 2 * flat_rstd.nbytes, contest


def rope(tokens, cols, dtype):
    """32 heads of q and 8 of k, split halves, tables of the tensors' type."""
    head_dim = 128
    heads, k_heads = cols // head_dim, cols // head_dim // 4
    q, k = random(1, tokens, heads, head_dim, dtype=dtype), random(1, tokens, k_heads, head_dim, dtype=dtype)
    angles = random(tokens, head_dim // 2)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    positions = torch.arange(tokens, device="cuda")
    table = library.DTYPES[dtype]
    contest = {"One Pass": lambda: call("rope", q, table, 64, q, heads * head_dim, k, k_heads * head_dim,
                                        positions, cos, sin, tokens, heads, k_heads, head_dim, head_dim, 1)}
    if quack_rotary:
        contest["quack"] = lambda: (quack_rotary.apply_rotary(q, cos, sin, inplace=True),
                                    quack_rotary.apply_rotary(k, cos, sin, inplace=True))
    if liger_rope:
        wide_cos, wide_sin = (torch.cat((one, one), -1).unsqueeze(0) for one in (cos, sin))
        q_by_head, k_by_head = q.transpose(1, 2), k.transpose(1, 2)
        contest["Liger"] = lambda: liger_rope.rope_forward(q_by_head, k_by_head, wide_cos, wide_sin)
    return 2 * (q.nbytes + k.nbytes) + 2 * cos.nbytes + positions.nbytes, contest


ROWS = {"RMSNorm": rmsnorm_forward, "residual RMSNorm": rmsnorm_residual,
        "RMSNorm backward": rmsnorm_backward, "LayerNorm": layernorm_forward,
        "LayerNorm backward": layernorm_backward}


def line_of(name, function, rows, cols, dtype, flush):
    size, contest = function(rows, cols, DTYPES[dtype])
    source = torch.empty(size // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = times_of({**contest, "copy": lambda: target.copy_(source)}, flush)
    of_copy = {provider: 100.0 * times["copy"] / ms for provider, ms in times.items()}
    peers = [of_copy[peer] for peer in PROVIDERS[1:] if peer in of_copy]
    ratio = f"{of_copy['One Pass'] / max(peers):.2f}" if peers and "One Pass" in of_copy else ""
    cells = [name, f"{rows} × {cols} {dtype}", f"{size / times['copy'] * 1e-6:.0f}"]
    cells += [f"{of_copy[one]:.0f}" if one in of_copy else "" for one in PROVIDERS]
    return "| " + " | ".join(cells + [ratio]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=SHAPES, help="rows x cols:type, several with commas")
    parser.add_argument("functions", nargs="*", help="such as LayerNorm; all by default")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    flush = torch.zeros(2**27, device="cuda")  # 512 MB
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}", file=sys.stderr)
    print("| function | rows × cols, type | copy, GB/s | " + " | ".join(PROVIDERS) + " | / best |")
    print("|---" * (len(PROVIDERS) + 4) + "|")
    shapes = [one.replace(":", "x").split("x") for one in arguments.shapes.split(",")]
    jobs = [(name, function, *shape) for name, function in ROWS.items() for shape in shapes]
    jobs += [("RoPE", rope, tokens, "4096", "bf16") for tokens in ("8192", "32768")]
    for name, function, rows, cols, dtype in jobs:
        if not arguments.functions or name in arguments.functions:
            try:
                print(line_of(name, function, int(rows), int(cols), dtype, flush), flush=True)
            except Exception as error:  # pylint: disable=broad-except
                print(f"{name} {rows} x {cols}: {error!r}"[:300], file=sys.stderr)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
