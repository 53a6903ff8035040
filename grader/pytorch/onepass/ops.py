"""The operators, as torch.ops.onepass.*: what they compute, and on a GPU by which function.

Each is functional: its results are new tensors. functions.py is how to call them.
"""

import torch
from torch import Tensor

from . import formulas, library

OPS = []


def _operator(formula):
    """A custom operator: by the kernels on a GPU, by `formula` on a CPU. A gradient's has none of its
    own, and under autocast a norm is taken in fp32, as PyTorch's own are."""
    def decorate(kernel):
        name = f"onepass::{kernel.__name__}"
        op = torch.library.custom_op(name, kernel, mutates_args=(), device_types="cuda")
        op.register_kernel("cpu")(formula)
        OPS.append(op)
        return op
    return decorate


def _rows(tensor):
    """[..., cols] as [rows, cols], copied only if its rows do not lie as the kernels want them."""
    cols = tensor.shape[-1]
    rows = tensor.reshape(-1, cols) if tensor.numel() else tensor.new_empty(0, cols)
    apart = rows.shape[0] <= 1 or rows.stride(0) >= cols
    return rows if apart and (cols == 1 or rows.stride(1) == 1) else rows.contiguous()


def _stride(rows):
    return max(rows.stride(0), rows.shape[1])  # a single row has any stride


def _laid(rows):
    """A matrix as the functions take it: an address and a stride."""
    return rows, _stride(rows)


def _new(x, *shape, dtype=None):
    return torch.empty(shape or x.shape, dtype=dtype or x.dtype, device=x.device)


def _rstd(x):
    return _new(x, *x.shape[:-1], dtype=torch.float32) if x.dim() > 1 else \
        torch.empty((), dtype=torch.float32, device=x.device)


def _dense(tensor):
    return None if tensor is None else tensor.contiguous()


def _or_ones(weight, x):
    """A backward pass has a weight."""
    return torch.ones(x.shape[-1], dtype=x.dtype, device=x.device) if weight is None else weight


# ---- RMSNorm ----


def _in_order(name, x, llama):
    """LLaMA's cast order has functions of its own. For fp32 it is that of the exercises."""
    return f"{name}_llama" if llama and x.dtype != torch.float32 else name


@_operator(formulas.rmsnorm)
def rmsnorm(x: Tensor, weight: Tensor | None, eps: float, llama: bool) -> tuple[Tensor, Tensor]:
    rows, y, rstd = _rows(x), _new(x), _rstd(x)
    name = _in_order("onepass_rmsnorm_forward", x, llama and weight is not None)
    library.call(name, x, *_laid(rows), _dense(weight), y, x.shape[-1], rstd, *rows.shape, eps)
    return y, rstd


@rmsnorm.register_fake
def _(x, weight, eps, llama):
    return _new(x), _rstd(x)


@_operator(formulas.rmsnorm_backward)
def rmsnorm_backward(dy: Tensor, x: Tensor, weight: Tensor, rstd: Tensor,
                     llama: bool) -> tuple[Tensor, Tensor]:
    dy_rows, rows, dx, dweight = _rows(dy), _rows(x), _new(x), _new(weight)
    scratch = _new(x, library.size("rmsnorm", *rows.shape), dtype=torch.float32)
    library.call("onepass_rmsnorm_backward", x, *_laid(dy_rows), *_laid(rows), weight.contiguous(),
                 rstd, dx, x.shape[-1], dweight, scratch, int(llama), *rows.shape)
    return dx, dweight


@rmsnorm_backward.register_fake
def _(dy, x, weight, rstd, llama):
    return _new(x), _new(weight)


def _save_rmsnorm(ctx, inputs, output):
    x, weight, _, ctx.llama = inputs
    ctx.save_for_backward(x, weight, output[1])


def _rmsnorm_gradient(ctx, dy, _):
    x, weight, rstd = ctx.saved_tensors
    dx, dweight = rmsnorm_backward(dy, x, _or_ones(weight, x), rstd, ctx.llama)
    return dx, None if weight is None else dweight, None, None


rmsnorm.register_autograd(_rmsnorm_gradient, setup_context=_save_rmsnorm)


# ---- The residual connection, and the RMSNorm behind it ----


@_operator(formulas.rmsnorm_residual)
def rmsnorm_residual(x: Tensor, residual: Tensor, weight: Tensor, eps: float,
                     llama: bool) -> tuple[Tensor, Tensor, Tensor]:
    rows, residual_rows, cols = _rows(x), _rows(residual), x.shape[-1]
    total, y, rstd = _new(x), _new(x), _rstd(x)
    library.call(_in_order("onepass_rmsnorm_residual", x, llama), x, *_laid(rows),
                 *_laid(residual_rows), weight.contiguous(), total, cols, y, cols, rstd,
                 *rows.shape, eps)
    return total, y, rstd


@rmsnorm_residual.register_fake
def _(x, residual, weight, eps, llama):
    return _new(x), _new(x), _rstd(x)


def _save_residual(ctx, inputs, output):
    total, _, rstd = output
    ctx.llama = inputs[-1]
    ctx.save_for_backward(total, inputs[2], rstd)


def _residual_gradient(ctx, dtotal, dy, _):
    total, weight, rstd = ctx.saved_tensors
    dx, dweight = rmsnorm_backward(dy, total, weight, rstd, ctx.llama)
    dx = dx + dtotal  # a sum gives its gradient to both terms
    return dx, dx, dweight, None, None


rmsnorm_residual.register_autograd(_residual_gradient, setup_context=_save_residual)


# ---- LayerNorm ----


@_operator(formulas.layernorm)
def layernorm(x: Tensor, weight: Tensor | None, bias: Tensor | None,
              eps: float) -> tuple[Tensor, Tensor, Tensor]:
    rows, y, mean, rstd = _rows(x), _new(x), _rstd(x), _rstd(x)
    library.call("onepass_layernorm_forward", x, *_laid(rows), _dense(weight), _dense(bias), y,
                 x.shape[-1], mean, rstd, *rows.shape, eps)
    return y, mean, rstd


@layernorm.register_fake
def _(x, weight, bias, eps):
    return _new(x), _rstd(x), _rstd(x)


@_operator(formulas.layernorm_backward)
def layernorm_backward(dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor,
                       rstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    dy_rows, rows = _rows(dy), _rows(x)
    dx, dweight, dbias = _new(x), _new(weight), _new(weight)
    scratch = _new(x, library.size("layernorm", *rows.shape), dtype=torch.float32)
    library.call("onepass_layernorm_backward", x, *_laid(dy_rows), *_laid(rows),
                 weight.contiguous(), mean, rstd, dx, x.shape[-1], dweight, dbias, scratch,
                 *rows.shape)
    return dx, dweight, dbias


@layernorm_backward.register_fake
def _(dy, x, weight, mean, rstd):
    return _new(x), _new(weight), _new(weight)


def _save_layernorm(ctx, inputs, output):
    x, weight, bias, _ = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(x, weight, *output[1:])


def _layernorm_gradient(ctx, dy, _mean, _rstd):
    x, weight, mean, rstd = ctx.saved_tensors
    dx, dweight, dbias = layernorm_backward(dy, x, _or_ones(weight, x), mean, rstd)
    return dx, None if weight is None else dweight, dbias if ctx.has_bias else None, None


layernorm.register_autograd(_layernorm_gradient, setup_context=_save_layernorm)


# ---- RoPE ----


def _positions(positions, tokens, cos):
    if positions is None:  # token t has row t, and each further sequence begins at row 0
        rows = cos.shape[0]
        return torch.arange(rows, device=cos.device).repeat(tokens // max(rows, 1))
    positions = positions.reshape(-1).contiguous()
    return positions if cos.dtype == torch.float32 else positions.long()  # as it is graded


def _turn(name, q, k, cos, sin, positions, weights, last):
    """Both exercises turn in place: so copies of q and k, [..., heads, head_dim], are turned."""
    q, k = (x.clone(memory_format=torch.contiguous_format) for x in (q, k))
    tokens = q.numel() // max(q.shape[-2] * q.shape[-1], 1)
    positions = _positions(positions, tokens, cos)
    library.call(name, q, library.DTYPES[cos.dtype], 8 * positions.element_size(), q,
                 q.shape[-2] * q.shape[-1], k, k.shape[-2] * k.shape[-1], *weights, positions,
                 cos.contiguous(), sin.contiguous(), tokens, q.shape[-2], k.shape[-2], q.shape[-1],
                 2 * cos.shape[-1], last)
    return q, k


@_operator(formulas.rope)
def rope(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None,
         split: bool) -> tuple[Tensor, Tensor]:
    return _turn("onepass_rope", q, k, cos, sin, positions, (), int(split))


@rope.register_fake
def _(q, k, cos, sin, positions, split):
    return _new(q), _new(k)


def _save_rope(ctx, inputs, output):
    _, _, cos, sin, positions, ctx.split = inputs
    ctx.save_for_backward(cos, sin, positions)


def _rope_gradient(ctx, dq, dk):
    cos, sin, positions = ctx.saved_tensors
    dq, dk = rope(dq, dk, cos, -sin, positions, ctx.split)  # the angle's negative turns back
    return dq, dk, None, None, None, None


rope.register_autograd(_rope_gradient, setup_context=_save_rope)


@_operator(formulas.qk_norm_rope)
def qk_norm_rope(q: Tensor, k: Tensor, q_weight: Tensor, k_weight: Tensor, cos: Tensor, sin: Tensor,
                 positions: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    return _turn("onepass_rope_qk_norm", q, k, cos, sin, positions,
                 (q_weight.contiguous(), k_weight.contiguous()), eps)


@qk_norm_rope.register_fake
def _(q, k, q_weight, k_weight, cos, sin, positions, eps):
    return _new(q), _new(k)


def _save_qk_norm(ctx, inputs, output):
    *tensors, ctx.eps = inputs
    ctx.save_for_backward(*tensors)


def _qk_norm_gradient(ctx, dq, dk):
    """3.5 saves nothing: rstd is found again."""
    q, k, q_weight, k_weight, cos, sin, positions = ctx.saved_tensors
    dq, dk = rope(dq, dk, cos, -sin, positions, True)
    gradients = []
    for dy, x, weight in ((dq, q, q_weight), (dk, k, k_weight)):
        _, rstd = rmsnorm(x, weight, ctx.eps, False)
        gradients.append(rmsnorm_backward(dy, x, weight, rstd, False))
    (dq, dq_weight), (dk, dk_weight) = gradients
    return dq, dk, dq_weight, dk_weight, None, None, None, None


qk_norm_rope.register_autograd(_qk_norm_gradient, setup_context=_save_qk_norm)

for _norm in (rmsnorm, rmsnorm_residual, layernorm):
    for _device in ("cuda", "cpu"):
        _norm.register_autocast(_device, torch.float32)
