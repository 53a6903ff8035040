"""swap(model): the workbook's operators in the place of a model's own.

It knows the modules by their classes' names, and takes over their parameters themselves: optimizers
and checkpoints go on as before.
"""

import collections
import functools
import types

import torch

from . import functions, library
from .modules import LayerNorm, RMSNorm

_RMSNORMS = ("LlamaRMSNorm", "Qwen3RMSNorm", "MistralRMSNorm", "Qwen2RMSNorm")
_ATTENTIONS = ("LlamaAttention", "MistralAttention", "Qwen2Attention")
_NORMALISED_ATTENTIONS = ("Qwen3Attention",)
_DECODERS = ("LlamaDecoderLayer", "Qwen3DecoderLayer", "MistralDecoderLayer", "Qwen2DecoderLayer")


class Swapped:
    """What was replaced and what was not."""

    def __init__(self):
        self.replaced = collections.Counter()  # by what it was, and by what
        self.kept = collections.Counter()      # by what it is, and why

    def __str__(self):
        lines = [f"{count} x {was}: now {now}" for (was, now), count in self.replaced.items()]
        lines += [f"{count} x {what}: kept, {why}" for (what, why), count in self.kept.items()]
        return "\n".join(lines) or "Nothing of this model is known."


def _lacking(*choices):
    """Why a function is not there: of each choice of exercises all are needed, of the choices one.
    Empty if it is."""
    if any(all(library.has(one) for one in choice) for choice in choices):
        return ""
    return "; ".join(f"{one}: {library.says(one)}" for choice in choices for one in choice)


def _lacks_rmsnorm():
    return (_lacking(["rmsnorm/forward_fast"], ["rmsnorm/forward"]) or
            _lacking(["rmsnorm/backward_fast"], ["rmsnorm/backward"]))


def _lacks_layernorm():
    return (_lacking(["layernorm/forward_fast"], ["layernorm/forward"]) or
            _lacking(["layernorm/backward_fast"], ["layernorm/backward_fused"],
                     ["layernorm/backward_dx", "layernorm/backward_dweight_dbias"]))


def _lacks_rope():
    return _lacking(["rope/fast"], ["rope/half_split"])


def _tables(cos, sin):
    """transformers' cos and sin, [1 or batch, tokens, rotary_dim], have each column twice."""
    half = cos.shape[-1] // 2
    return (table[..., :half].reshape(-1, half) for table in (cos, sin))


def _turn(attention, q, k, cos, sin, unsqueeze_dim=1):
    """For q and k as transformers has them: [batch, heads, tokens, head_dim]."""
    q, k, tables = q.transpose(1, 2), k.transpose(1, 2), _tables(cos, sin)
    if isinstance(getattr(attention, "q_norm", None), _Later):
        norm = attention.q_norm
        q, k = functions.qk_norm_rope(q, k, norm.weight, attention.k_norm.weight, *tables,
                                      eps=norm.eps)
    else:
        q, k = functions.rope(q, k, *tables)
    return q.transpose(1, 2), k.transpose(1, 2)


class _Forward:
    """An attention's forward(), which calls _turn() where it called apply_rotary_pos_emb(): the same
    code with another name in its globals, so that the rest of it is what transformers has. A copy of
    the attention gets its own."""

    def __init__(self, attention):
        self.attention = attention
        forward = type(attention).forward
        forward = getattr(forward, "__wrapped__", forward)
        names = dict(forward.__globals__,
                     apply_rotary_pos_emb=functools.partial(_turn, attention))
        del names["__name__"]  # torch.compile would look names up in the module of that name
        self.function = types.FunctionType(forward.__code__, names, forward.__name__,
                                           forward.__defaults__, forward.__closure__)
        self.function.__kwdefaults__ = forward.__kwdefaults__

    def __call__(self, *arguments, **named):
        return self.function(self.attention, *arguments, **named)

    def __reduce__(self):
        return _Forward, (self.attention,)


class _Later(RMSNorm):
    """The norm of q or k, which is left to the operator that turns them, too."""

    def forward(self, x):
        return x


def _swap_attention(attention, normalised):
    if normalised:
        attention.q_norm = _Later.from_module(attention.q_norm)
        attention.k_norm = _Later.from_module(attention.k_norm)
    attention.forward = _Forward(attention)


def _decoder_forward(self, hidden_states, *arguments, **named):
    """Two norms and two residual connections, of which one is next to a norm of this layer."""
    attended, _ = self.self_attn(self.input_layernorm(hidden_states), *arguments, **named)
    norm = self.post_attention_layernorm
    hidden_states, normalised = functions.residual_rmsnorm(attended, hidden_states, norm.weight,
                                                           norm.eps, norm.cast_order)
    return hidden_states + self.mlp(normalised)


def swap(model, cast_order=None):
    """Replaces what it knows of a model, in place, by what the library has. Returns what it replaced
    and what not, with the reason. cast_order: of all RMSNorms. Without one each keeps its own:
    "llama" in transformers, "weight_in_fp32" in torch.nn.RMSNorm."""
    told = Swapped()
    on_gpu = any(parameter.is_cuda for parameter in model.parameters())

    def replace(module, now, lacking, change, why=""):
        what = type(module).__name__
        why = why or (lacking() if on_gpu else "")
        if why:
            told.kept[what, why] += 1
        else:
            change()
            told.replaced[what, now] += 1
        return not why

    # Attentions first: they take the norms of q and k with them.
    for module in list(model.modules()):
        kind = type(module).__name__
        if kind in _NORMALISED_ATTENTIONS:
            replace(module, "QK-norm and RoPE in one", lambda: (
                _lacking(["rope/qk_norm"]) or _lacks_rope() or _lacks_rmsnorm()),
                lambda m=module: _swap_attention(m, True))
        elif kind in _ATTENTIONS:
            replace(module, "with RoPE of q and k in one", _lacks_rope,
                    lambda m=module: _swap_attention(m, False))
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            kind = type(child).__name__
            if kind in _RMSNORMS or type(child) is torch.nn.RMSNorm:
                scalar = len(child.weight.shape) == 1 if child.weight is not None else False
                order = cast_order or ("llama" if kind in _RMSNORMS else "weight_in_fp32")
                replace(child, f"onepass.RMSNorm, {order}", _lacks_rmsnorm,
                        lambda p=parent, n=name, c=child, o=order:
                        setattr(p, n, RMSNorm.from_module(c, o)),
                        "" if scalar else "its weight has not one dimension")
            elif type(child) is torch.nn.LayerNorm:
                replace(child, "onepass.LayerNorm", _lacks_layernorm,
                        lambda p=parent, n=name, c=child: setattr(p, n, LayerNorm.from_module(c)),
                        "" if len(child.normalized_shape) == 1 else
                        "it normalises more than the last dimension")
            elif "Norm" in kind and not isinstance(child, (RMSNorm, LayerNorm)):
                told.kept[kind, "swap() does not know it"] += 1
    for module in list(model.modules()):
        if type(module).__name__ in _DECODERS:
            known = isinstance(getattr(module, "post_attention_layernorm", None), RMSNorm)
            replace(module, "with residual and RMSNorm in one",
                    lambda: _lacking(["rmsnorm/residual"]) or _lacks_rmsnorm(),
                    lambda m=module: setattr(m, "forward", types.MethodType(_decoder_forward, m)),
                    "" if known else "its norms were kept")
    return told
