"""How to call the operators: arguments checked, results as one expects them."""

import torch

from . import library, ops


def _require(fits, sentence):
    if not fits:
        raise TypeError(sentence)


def _check_norm(name, x, *weights):
    """Under autocast all become fp32, whatever they are."""
    _require(x.dtype in library.DTYPES, f"{name} takes fp32, fp16 and bf16, not {x.dtype}.")
    for weight in weights:
        if weight is not None:
            same = weight.dtype == x.dtype or torch.is_autocast_enabled(x.device.type)
            _require(same and weight.shape == x.shape[-1:],
                     f"{name}: x is {x.dtype} {tuple(x.shape)}, and a weight or bias {weight.dtype} "
                     f"{tuple(weight.shape)}; types and the last dimension should be the same.")


def _is_llama(cast_order):
    _require(cast_order in ("llama", "weight_in_fp32"),
             f"cast_order is llama or weight_in_fp32, not {cast_order}.")
    return cast_order == "llama"


def rmsnorm(x, weight=None, eps=1e-6, cast_order="weight_in_fp32"):
    """RMSNorm over the last dimension. cast_order: "weight_in_fp32", y = T(x̂ * weight), or "llama",
    y = T(T(x̂) * weight), as the models of transformers have it."""
    llama = _is_llama(cast_order)
    _check_norm("rmsnorm", x, weight)
    return ops.rmsnorm(x, weight, eps, llama)[0]


def residual_rmsnorm(x, residual, weight, eps=1e-6, cast_order="weight_in_fp32"):
    """x + residual, and its RMSNorm."""
    llama = _is_llama(cast_order)
    _check_norm("residual_rmsnorm", x, weight)
    same = residual.dtype == x.dtype or torch.is_autocast_enabled(x.device.type)
    _require(same and residual.shape == x.shape,
             f"residual_rmsnorm: x is {x.dtype} {tuple(x.shape)}, and residual {residual.dtype} "
             f"{tuple(residual.shape)}.")
    total, y, _ = ops.rmsnorm_residual(x, residual, weight, eps, llama)
    return total, y


def layernorm(x, weight=None, bias=None, eps=1e-5):
    """LayerNorm over the last dimension."""
    _check_norm("layernorm", x, weight, bias)
    return ops.layernorm(x, weight, bias, eps)[0]


def _tables(q, k, cos, sin, positions):
    """Tables in fp32 or in the type of q, [rows, pairs]."""
    _require(q.dtype in library.DTYPES and k.dtype == q.dtype,
             f"q and k are fp32, fp16 or bf16, both, and not {q.dtype} and {k.dtype}.")
    _require(q.dim() >= 3 and k.dim() == q.dim() and q.shape[:-2] == k.shape[:-2] and
             q.shape[-1] == k.shape[-1],
             f"q and k are [..., heads, head_dim], and not {tuple(q.shape)} and {tuple(k.shape)}.")
    _require(cos.dim() == 2 and cos.shape == sin.shape and 2 * cos.shape[-1] <= q.shape[-1],
             f"cos and sin are [rows, rotary_dim / 2], and not {tuple(cos.shape)} and "
             f"{tuple(sin.shape)}.")
    tokens = q.shape[:-2].numel()
    _require(positions.numel() == tokens if positions is not None
             else tokens == 0 or (cos.shape[0] > 0 and tokens % cos.shape[0] == 0),
             f"{tokens} tokens have as many positions, or, without any, tables of which they are a "
             "multiple.")
    return (table if table.dtype == q.dtype else table.float() for table in (cos, sin))


def rope(q, k, cos, sin, positions=None, pairing="split"):
    """RoPE of q and k, [..., heads, head_dim] each, with the same tokens and any numbers of heads.
    cos and sin: [rows, rotary_dim / 2]. positions: of each token its row; without them token t has
    row t, and where there are more tokens than rows, each further sequence begins at row 0."""
    _require(pairing in ("split", "interleaved"), f"pairing is split or interleaved, not {pairing}.")
    cos, sin = _tables(q, k, cos, sin, positions)
    return ops.rope(q, k, cos, sin, positions, pairing == "split")


def qk_norm_rope(q, k, q_weight, k_weight, cos, sin, positions=None, eps=1e-6):
    """RMSNorm of each head, then RoPE of split halves."""
    cos, sin = _tables(q, k, cos, sin, positions)
    return ops.qk_norm_rope(q, k, q_weight.to(q.dtype), k_weight.to(k.dtype), cos, sin, positions,
                            eps)
