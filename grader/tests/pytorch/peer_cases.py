"""What peers.py compares: of each function its tensors, the bytes that must move, and a call of each
provider, which returns what the formula does."""
import dataclasses
import importlib
import math
import pathlib
import sys
import types
import typing

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "pytorch"))
from onepass import library  # noqa: E402

EPS = 1e-6
LLAMA = 0  # Liger's number of it
PROVIDERS = ("One Pass", "quack", "Liger", "Liger CuTe", "PyTorch", "torch.compile")
BACKEND = "liger_kernel.ops.backends._cutedsl"
MODULES = {
    "quack": {"norm": "quack.rmsnorm", "rotary": "quack.rotary"},
    "Liger": {"rms": "liger_kernel.ops.rms_norm", "add": "liger_kernel.ops.fused_add_rms_norm",
              "layer": "liger_kernel.ops.layer_norm", "rope": "liger_kernel.ops.rope",
              "utils": "liger_kernel.ops.utils"},
    "Liger CuTe": {"rms": f"{BACKEND}.rms_norm", "add": f"{BACKEND}.fused_add_rms_norm",
                   "layer": f"{BACKEND}.layer_norm", "rope": "liger_kernel.ops.cutedsl.ops.rope"},
}
quack, liger, cute = (types.SimpleNamespace() for _ in MODULES)
aten = torch.ops.aten


def is_there(provider):
    """Loads its modules, and says of a library that does not load why."""
    space = dict(zip(MODULES, (quack, liger, cute))).get(provider)
    try:
        for name, module in MODULES.get(provider, {}).items():
            setattr(space, name, importlib.import_module(module))
        return True
    except Exception as error:  # pylint: disable=broad-except
        print(f"no {provider}: {error!r}", file=sys.stderr)
        return False


class Tensors:
    """Makes tensors of a type. The one that is named `off` begins one element behind an aligned address."""

    def __init__(self, dtype, off=None):
        self.dtype, self.off, self.names = dtype, off, set()

    def empty(self, name, *shape):
        self.names.add(name)
        begin = int(name == self.off)
        return torch.empty(begin + math.prod(shape), dtype=self.dtype, device="cuda")[begin:].view(shape)

    def random(self, name, *shape, mean=0.0, deviation=1.0):
        return self.empty(name, *shape).normal_(mean, deviation)


def fp32(*shape):
    return torch.empty(*shape, device="cuda")


@dataclasses.dataclass
class Case:
    bytes: int
    exact: typing.Callable  # the results in fp64
    calls: dict             # by the provider's name
    before: typing.Callable = lambda: None  # what a call needs that changes its inputs


def case_of(size, formula, inputs, calls, before=lambda: None):
    """With the formula itself, compiled, and operator by operator where PyTorch has no call for it."""
    def in_fp32(*tensors):
        return tuple(one.to(inputs[0].dtype) for one in formula(*(one.float() for one in tensors)))

    compiled = torch.compile(in_fp32, dynamic=False)
    calls = {"PyTorch": lambda: in_fp32(*inputs), **calls, "torch.compile": lambda: compiled(*inputs)}
    return Case(size, lambda: formula(*(one.double() for one in inputs)), calls, before)


def ours(name, results, *arguments):
    """A call of the library, which writes these results."""
    def call():
        library.call(f"onepass_{name}", results[0], *arguments)
        return results
    return call


# ---- 1. RMSNorm ----

def normalised(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def rmsnorm_forward(t, rows, cols):
    """Of 1.4 or 1.7: the library chooses."""
    x, weight, y, rstd = t.random("x", rows, cols), t.random("weight", cols), t.empty("y", rows, cols), fp32(rows)
    return case_of(2 * x.nbytes + weight.nbytes + rstd.nbytes, lambda x, w: (normalised(x, w),), (x, weight), {
        "One Pass": ours("rmsnorm_forward", (y,), x, cols, weight, y, cols, rstd, rows, cols, EPS),
        "quack": lambda: quack.norm.rmsnorm_fwd(x, weight, eps=EPS, store_rstd=True)[:1],
        "Liger": lambda: liger.rms.rms_norm_forward(x, weight, EPS, 0.0, LLAMA, None)[:1],
        "Liger CuTe": lambda: cute.rms._rms_norm_cutedsl_forward(x, weight, EPS, 0.0, LLAMA)[:1],
        "PyTorch": lambda: aten._fused_rms_norm(x, [cols], weight, EPS)[:1]})


def rmsnorm_residual(t, rows, cols):
    x, residual, weight = t.random("x", rows, cols), t.random("residual", rows, cols), t.random("weight", cols)
    total, y, rstd = t.empty("sum", rows, cols), t.empty("y", rows, cols), fp32(rows)

    def fused_rms_norm():
        both = x + residual
        return aten._fused_rms_norm(both, [cols], weight, EPS)[0], both

    return case_of(
        4 * x.nbytes + weight.nbytes + rstd.nbytes, lambda x, r, w: (normalised(x + r, w), x + r),
        (x, residual, weight), {
            "One Pass": ours("rmsnorm_residual", (y, total), x, cols, residual, cols, weight, total, cols, y,
                             cols, rstd, rows, cols, EPS),
            "quack": lambda: quack.norm.rmsnorm_fwd(x, weight, residual=residual, eps=EPS, store_rstd=True)[:2],
            "Liger": lambda: liger.add.fused_add_rms_norm_forward(x, residual, weight, EPS, 0.0, LLAMA)[:2],
            "Liger CuTe": lambda: cute.add._fused_add_rms_norm_cutedsl_forward(x, residual, weight, EPS, 0.0,
                                                                               LLAMA)[:2],
            "PyTorch": fused_rms_norm})


def rmsnorm_gradients(dy, x, weight, rstd):
    normal, scaled = x * rstd[:, None], dy * weight
    return (rstd[:, None] * (scaled - normal * (scaled * normal).mean(-1, keepdim=True)), (dy * normal).sum(0))


def rmsnorm_backward(t, rows, cols):
    dy, x, weight = t.random("dy", rows, cols), t.random("x", rows, cols), t.random("weight", cols)
    dx, dweight = t.empty("dx", rows, cols), t.empty("dweight", cols)
    scratch = fp32(library.size("rmsnorm", rows, cols))
    column = aten._fused_rms_norm(x, [cols], weight, EPS)[1]
    rstd = column.reshape(-1).contiguous()

    def liger_cute():
        dx, dweight = cute.rms._rms_norm_cutedsl_backward(dy, x, weight, rstd, False, LLAMA)
        return dx, dweight.to(weight.dtype)

    return case_of(
        3 * x.nbytes + 2 * weight.nbytes + rstd.nbytes, rmsnorm_gradients, (dy, x, weight, rstd), {
            "One Pass": ours("rmsnorm_backward", (dx, dweight), dy, cols, x, cols, weight, rstd, dx, cols,
                             dweight, scratch, 0, rows, cols),
            "quack": lambda: quack.norm.rmsnorm_bwd(x, weight, dy, rstd)[:2],
            "Liger": lambda: liger.rms.rms_norm_backward(dy, x, weight, rstd, 0.0, LLAMA,
                                                         *liger.utils.calculate_settings(cols), False, None),
            "Liger CuTe": liger_cute,
            "PyTorch": lambda: aten._fused_rms_norm_backward(dy, x, [cols], column, weight, [True, True])})


# ---- 2. LayerNorm ----

def layernorm_tensors(t, rows, cols):
    return (t.random("x", rows, cols, mean=-2.3, deviation=0.5), t.random("weight", cols), t.random("bias", cols))


def layernorm_forward(t, rows, cols):
    x, weight, bias = layernorm_tensors(t, rows, cols)
    y, mean, rstd = t.empty("y", rows, cols), fp32(rows), fp32(rows)
    wide = weight.float(), bias.float()  # quack takes no others
    return case_of(
        2 * x.nbytes + 2 * weight.nbytes + 2 * rstd.nbytes,
        lambda x, weight, bias: (F.layer_norm(x, (cols,), weight, bias, EPS),), (x, weight, bias), {
            "One Pass": ours("layernorm_forward", (y,), x, cols, weight, bias, y, cols, mean, rstd, rows, cols, EPS),
            "quack": lambda: quack.norm.layernorm_fwd(x, *wide, EPS, True, True)[:1],
            "Liger": lambda: liger.layer.layer_norm_forward(x, weight, bias, EPS)[:1],
            "Liger CuTe": lambda: cute.layer._layer_norm_cutedsl_forward(x, weight, bias, EPS)[:1],
            "PyTorch": lambda: aten.native_layer_norm(x, [cols], weight, bias, EPS)[:1]})


def layernorm_gradients(dy, x, weight, mean, rstd):
    normal, scaled = (x - mean[:, None]) * rstd[:, None], dy * weight
    along = normal * (scaled * normal).mean(-1, keepdim=True)
    return (rstd[:, None] * (scaled - scaled.mean(-1, keepdim=True) - along), (dy * normal).sum(0), dy.sum(0))


def layernorm_backward(t, rows, cols):
    (x, weight, bias), dy = layernorm_tensors(t, rows, cols), t.random("dy", rows, cols, deviation=0.1)
    dx, dweight, dbias = t.empty("dx", rows, cols), t.empty("dweight", cols), t.empty("dbias", cols)
    scratch = fp32(library.size("layernorm", rows, cols))
    columns = aten.native_layer_norm(x, [cols], weight, bias, EPS)[1:]
    mean, rstd = (one.reshape(-1).contiguous() for one in columns)

    def liger_cute():
        dx, dweight, dbias = cute.layer._layer_norm_cutedsl_backward(dy, x, weight, bias, mean, rstd)
        return dx, dweight.to(weight.dtype), dbias.to(bias.dtype)

    return case_of(
        3 * x.nbytes + 3 * weight.nbytes + 2 * rstd.nbytes, layernorm_gradients, (dy, x, weight, mean, rstd), {
            "One Pass": ours("layernorm_backward", (dx, dweight, dbias), dy, cols, x, cols, weight, mean, rstd,
                             dx, cols, dweight, dbias, scratch, rows, cols),
            "quack": lambda: quack.norm.layernorm_bwd(x, weight, dy, rstd, mean),
            "Liger": lambda: liger.layer.layer_norm_backward(dy, x, weight, bias, mean, rstd),
            "Liger CuTe": liger_cute,
            "PyTorch": lambda: aten.native_layer_norm_backward(dy, x, [cols], *columns, weight, bias, [True] * 3)})


# ---- 3. RoPE ----

def turned(x, cos, sin, interleaved=False):
    rotary_dim = 2 * cos.shape[-1]
    part, rest, cos, sin = x[..., :rotary_dim], x[..., rotary_dim:], cos[:, None], sin[:, None]
    a, b = (part[..., ::2], part[..., 1::2]) if interleaved else part.chunk(2, -1)
    pairs = a * cos - b * sin, a * sin + b * cos
    return torch.cat((torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, -1), rest), -1)


def rope(t, interleaved, norm, tokens, heads, head_dim, rotary_dim):
    """In place. k has a quarter of the heads of q. With norm the others have it in parts: RMSNorm of q and of
    k, and RoPE."""
    k_heads = max(1, heads // 4)
    q, k = t.random("q", 1, tokens, heads, head_dim), t.random("k", 1, tokens, k_heads, head_dim)
    weights = (t.random("q_weight", head_dim), t.random("k_weight", head_dim)) if norm else ()
    angles = torch.randn(tokens, rotary_dim // 2, device="cuda")
    tables = angles.cos().to(t.dtype), angles.sin().to(t.dtype)
    positions, first = torch.arange(tokens, device="cuda"), (q.clone(), k.clone())
    doubled = [torch.cat((one, one), -1)[None] for one in tables]  # as Liger wants them

    def heads_of(normalise):
        return [normalise(*one).view(one[0].shape) for one in zip((q, k), weights)] if norm else (q, k)

    def by_quack():
        both = heads_of(lambda x, weight: quack.norm.rmsnorm_fwd(x.view(-1, head_dim), weight, eps=EPS)[0])
        return tuple(quack.rotary.apply_rotary(one, *tables, interleaved=interleaved, inplace=True) for one in both)

    def by_liger(module, normalise):
        both = (one.transpose(1, 2) for one in heads_of(normalise))
        return tuple(one.transpose(1, 2) for one in module.rope_forward(*both, *doubled)[:2])

    def formula(q, k, *rest):
        both = [normalised(*one) for one in zip((q, k), rest)] if norm else (q, k)
        return tuple(turned(one, *rest[-2:], interleaved) for one in both)

    calls = {
        "One Pass": ours("rope_qk_norm" if norm else "rope", (q, k), library.DTYPES[t.dtype], 64, q,
                         heads * head_dim, k, k_heads * head_dim, *weights, positions, *tables, tokens, heads,
                         k_heads, head_dim, rotary_dim, EPS if norm else int(not interleaved)),
        "quack": by_quack}
    if not interleaved:
        calls["Liger"] = lambda: by_liger(
            liger.rope, lambda x, weight: liger.rms.rms_norm_forward(x, weight, EPS, 0.0, LLAMA, None)[0])
        calls["Liger CuTe"] = lambda: by_liger(
            cute.rope, lambda x, weight: cute.rms._rms_norm_cutedsl_forward(x, weight, EPS, 0.0, LLAMA)[0])
    changed = 2 * (q.nbytes + k.nbytes) * (head_dim if norm else rotary_dim) // head_dim
    rest = 2 * tables[0].nbytes + positions.nbytes + sum(one.nbytes for one in weights)
    return case_of(changed + rest, formula, (q, k, *weights, *tables), calls,
                   lambda: (q.copy_(first[0]), k.copy_(first[1])))


def rope_half_split(t, *sizes):
    return rope(t, False, False, *sizes)


def rope_interleaved(t, *sizes):
    return rope(t, True, False, *sizes)


def rope_qk_norm(t, *sizes):
    return rope(t, False, True, *sizes)


# ---- 4. BatchNorm ----

def batchnorm_forward(t, batch, channels, space):
    x, weight, bias = t.random("x", batch, channels, space), t.random("weight", channels), t.random("bias", channels)
    y, running, saved = t.empty("y", batch, channels, space), (fp32(channels).zero_(), fp32(channels).fill_(1)), \
        (fp32(channels), fp32(channels))
    scratch, wide = fp32(library.size("batchnorm", batch, channels, space)), (weight.float(), bias.float())

    def formula(x, weight, bias):
        variance, mean = torch.var_mean(x, (0, 2), correction=0, keepdim=True)
        return ((x - mean) * torch.rsqrt(variance + EPS) * weight[:, None] + bias[:, None],)

    return case_of(2 * x.nbytes + 2 * weight.nbytes + 6 * saved[0].nbytes, formula, (x, weight, bias), {
        "One Pass": ours("batchnorm_forward", (y,), x, weight, bias, y, *running, *saved, scratch, batch, channels,
                         space, EPS, 0.1),
        "PyTorch": lambda: (F.batch_norm(x, *running, *wide, True, 0.1, EPS),)})


CASES = {one.__name__: one for one in (
    rmsnorm_forward, rmsnorm_residual, rmsnorm_backward, layernorm_forward, layernorm_backward,
    rope_half_split, rope_interleaved, rope_qk_norm, batchnorm_forward)}
# How many numbers a shape of each has.
NUMBERS = {name: 4 if name.startswith("rope") else 3 if name.startswith("batchnorm") else 2 for name in CASES}
