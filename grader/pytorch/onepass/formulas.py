"""What each operator computes, by PyTorch's own: in fp32 at least, rounded once. For a CPU."""

import torch


def _wide(x):
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _statistic(x):
    return x.squeeze(-1).float()


def rmsnorm(x, weight, eps, llama):
    wide = _wide(x)
    rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    y = wide * rstd
    if weight is None:
        return y.to(x.dtype), _statistic(rstd)
    y = y.to(x.dtype) * weight if llama else (y * _wide(weight)).to(x.dtype)
    return y, _statistic(rstd)


def rmsnorm_backward(dy, x, weight, rstd, llama):
    x_hat = _wide(x) * rstd[..., None]
    wdy = _wide(dy) * _wide(weight)
    dx = rstd[..., None] * (wdy - x_hat * (wdy * x_hat).mean(-1, keepdim=True))
    seen = _wide(x_hat.to(x.dtype)) if llama else x_hat
    dweight = (_wide(dy) * seen).reshape(-1, x.shape[-1]).sum(0)
    return dx.to(x.dtype), dweight.to(weight.dtype)


def rmsnorm_residual(x, residual, weight, eps, llama):
    total = x + residual
    return total, *rmsnorm(total, weight, eps, llama)


def layernorm(x, weight, bias, eps):
    wide = _wide(x)
    mean = wide.mean(-1, keepdim=True)
    rstd = torch.rsqrt((wide - mean).square().mean(-1, keepdim=True) + eps)
    y = (wide - mean) * rstd
    y = y if weight is None else y * _wide(weight)
    y = y if bias is None else y + _wide(bias)
    return y.to(x.dtype), _statistic(mean), _statistic(rstd)


def layernorm_backward(dy, x, weight, mean, rstd):
    x_hat = (_wide(x) - mean[..., None]) * rstd[..., None]
    wdy = _wide(dy) * _wide(weight)
    dx = rstd[..., None] * (wdy - wdy.mean(-1, keepdim=True)
                            - x_hat * (wdy * x_hat).mean(-1, keepdim=True))
    rows = (-1, x.shape[-1])
    dweight = (_wide(dy) * x_hat).reshape(rows).sum(0)
    return dx.to(x.dtype), dweight.to(weight.dtype), _wide(dy).reshape(rows).sum(0).to(weight.dtype)


def _turned(x, cos, sin, positions, split):
    """x: [..., heads, head_dim], not rounded."""
    tokens = x.shape[:-2]
    if positions is None:
        count = tokens.numel()
        positions = torch.arange(count, device=x.device) % max(cos.shape[0], 1)
    cos, sin = (_wide(table[positions.reshape(-1)]).reshape(*tokens, 1, table.shape[-1])
                for table in (cos, sin))
    turned, rest = x[..., :2 * cos.shape[-1]], x[..., 2 * cos.shape[-1]:]
    a, b = turned.chunk(2, -1) if split else (turned[..., ::2], turned[..., 1::2])
    pair = (a * cos - b * sin, a * sin + b * cos)
    turned = torch.cat(pair, -1) if split else torch.stack(pair, -1).flatten(-2)
    return torch.cat((turned, rest), -1)


def rope(q, k, cos, sin, positions, split):
    return tuple(_turned(_wide(x), cos, sin, positions, split).to(x.dtype) for x in (q, k))


def qk_norm_rope(q, k, q_weight, k_weight, cos, sin, positions, eps):
    def one(x, weight):
        wide = _wide(x)
        normalised = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * _wide(weight)
        return _turned(normalised, cos, sin, positions, True).to(x.dtype)
    return one(q, q_weight), one(k, k_weight)
