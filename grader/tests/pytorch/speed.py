"""Times operators, a layer and a model: eager PyTorch, torch.compile, Liger-Kernel, and the library.

Medians of events around each call, in bf16. Liger's kernels are put where the library's are, no more:
what it has besides (SwiGLU, cross entropy) would be another comparison.
"""

import functools
import statistics
import types

import torch

from operators import onepass

BATCH, LENGTH = 4, 2048  # 8192 tokens
LAYER = dict(vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
             num_key_value_heads=8, max_position_embeddings=LENGTH, rms_norm_eps=1e-5)
LAYERS = 4
DTYPE = torch.bfloat16
FLUSH_BYTES = 256 * 2**20  # more than any L2 cache


def median_ms(call, samples, flush=None):
    times = []
    for sample in range(samples + 3):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if flush is not None:
            for _ in range(8):  # while it runs, the call is queued
                flush.sum()
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        if sample >= 3:
            times.append(start.elapsed_time(stop))
    return statistics.median(times)


def liger():
    """Its module of operators, or why there is none."""
    try:
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        from liger_kernel.ops.layer_norm import LigerLayerNormFunction
        from liger_kernel.transformers.rope import liger_rotary_pos_emb
        return types.SimpleNamespace(
            rmsnorm=lambda x, w, eps: LigerRMSNormFunction.apply(x, w, eps, 0.0, "llama", False),
            layernorm=lambda x, w, b, eps: LigerLayerNormFunction.apply(x, w, b, eps),
            rotary=liger_rotary_pos_emb), ""
    except Exception as error:  # of whatever kind: it is another's package
        return None, f"{type(error).__name__}: {error}"


# ---- Operators ----


def llama_rmsnorm(x, w):
    wide = x.float()
    return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def residual_then_rmsnorm(x, r, w):
    total = x + r
    return total, llama_rmsnorm(total, w)


def rotate(q, k, cos, sin):
    """As transformers does it."""
    def one(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin
    return one(q), one(k)


def operators(device):
    """Name, tensors that get gradients, and the ways. An RMSNorm by itself, or behind a residual, is
    in LLaMA's cast order, but in PyTorch's function and where it is said."""
    def tensor(*shape):
        return torch.randn(*shape, device=device, dtype=DTYPE)

    tokens, hidden = BATCH * LENGTH, LAYER["hidden_size"]
    x, r, w, b = tensor(tokens, hidden), tensor(tokens, hidden), tensor(hidden), tensor(hidden)
    lib, _ = liger()
    yield "RMSNorm", (x, w), {
        "eager": llama_rmsnorm, "compile": torch.compile(llama_rmsnorm),
        "torch.nn.functional.rms_norm": lambda x, w: torch.nn.functional.rms_norm(
            x, w.shape, w, 1e-5),
        "liger": lib and (lambda x, w: lib.rmsnorm(x, w, 1e-5)),
        "onepass": lambda x, w: onepass.rmsnorm(x, w, 1e-5, "llama"),
        "onepass, weight in fp32": lambda x, w: onepass.rmsnorm(x, w, 1e-5)}
    yield "residual + RMSNorm", (x, r, w), {
        "eager": residual_then_rmsnorm, "compile": torch.compile(residual_then_rmsnorm),
        "liger": lib and (lambda x, r, w: (x + r, lib.rmsnorm(x + r, w, 1e-5))),
        "onepass": lambda x, r, w: onepass.residual_rmsnorm(x, r, w, 1e-5, "llama"),
        "onepass, weight in fp32": lambda x, r, w: onepass.residual_rmsnorm(x, r, w, 1e-5)}
    layernorm = functools.partial(torch.nn.functional.layer_norm, normalized_shape=(hidden,))
    yield "LayerNorm", (x, w, b), {
        "eager": lambda x, w, b: layernorm(x, weight=w, bias=b),
        "compile": torch.compile(lambda x, w, b: layernorm(x, weight=w, bias=b)),
        "liger": lib and (lambda x, w, b: lib.layernorm(x, w, b, 1e-5)),
        "onepass": lambda x, w, b: onepass.layernorm(x, w, b)}

    q_heads, k_heads = LAYER["num_attention_heads"], LAYER["num_key_value_heads"]
    dim = hidden // q_heads
    q, k = tensor(BATCH, LENGTH, q_heads, dim), tensor(BATCH, LENGTH, k_heads, dim)
    v, u = tensor(dim), tensor(dim)
    angle = torch.rand(LENGTH, dim // 2, device=device)
    cos, sin = angle.cos().to(DTYPE), angle.sin().to(DTYPE)
    wide = [table.repeat(1, 2)[None, :, None] for table in (cos, sin)]

    def norm_and_rotate(q, k, v, u):
        return rotate(llama_rmsnorm(q, v), llama_rmsnorm(k, u), *wide)

    def by_liger(q, k):
        q, k = lib.rotary(q.transpose(1, 2), k.transpose(1, 2), wide[0][:, :, 0], wide[1][:, :, 0])
        return q.transpose(1, 2), k.transpose(1, 2)

    yield "RoPE", (q, k), {
        "eager": lambda q, k: rotate(q, k, *wide),
        "compile": torch.compile(lambda q, k: rotate(q, k, *wide)),
        "liger": lib and by_liger, "onepass": lambda q, k: onepass.rope(q, k, cos, sin)}
    yield "QK-norm + RoPE", (q, k, v, u), {
        "eager": norm_and_rotate, "compile": torch.compile(norm_and_rotate),
        "liger": lib and (lambda q, k, v, u: by_liger(lib.rmsnorm(q, v, 1e-5),
                                                      lib.rmsnorm(k, u, 1e-5))),
        "onepass": lambda q, k, v, u: onepass.qk_norm_rope(q, k, v, u, cos, sin, None, 1e-5)}


def time_operators(device):
    flush = torch.zeros(FLUSH_BYTES // 4, device=device)
    rows = []
    for name, tensors, ways in operators(device):
        row = {"operator": name, "tokens": BATCH * LENGTH}
        torch._dynamo.reset()
        for way, call in ways.items():
            if call is None:
                continue
            leaves = [tensor.clone().requires_grad_() for tensor in tensors]

            def both():
                results = call(*leaves)
                results = results if isinstance(results, tuple) else (results,)
                for leaf in leaves:
                    leaf.grad = None
                torch.autograd.backward(results, [result.detach() for result in results])

            try:
                both()  # compiles
                with torch.no_grad():
                    forward_ms = median_ms(lambda: call(*leaves), 20, flush)
                row[way] = {"forward_ms": forward_ms, "both_ms": median_ms(both, 20, flush)}
            except Exception as error:  # of whatever kind: the others are timed all the same
                row[way] = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
        rows.append(row)
    return rows


# ---- A layer, and a model ----


def with_liger(model):
    """Its kernels where swap() puts the library's."""
    lib, why = liger()
    if lib is None:
        raise RuntimeError(why)
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = types.MethodType(
                lambda self, x: lib.rmsnorm(x, self.weight, self.variance_epsilon), module)
        elif type(module).__name__ == "LlamaAttention":
            forward = type(module).forward
            forward = getattr(forward, "__wrapped__", forward)
            names = dict(forward.__globals__, apply_rotary_pos_emb=lib.rotary)
            changed = types.FunctionType(forward.__code__, names, forward.__name__,
                                         forward.__defaults__, forward.__closure__)
            changed.__kwdefaults__ = forward.__kwdefaults__
            module.forward = types.MethodType(changed, module)
    return model


def swapped(model, cast_order=None):
    onepass.swap(model, cast_order)
    return model


WAYS = {
    "eager": lambda model: model,
    "compile": torch.compile,
    "liger": with_liger,
    "onepass": swapped,
    "onepass, weight in fp32": lambda model: swapped(model, "weight_in_fp32"),
    "onepass, compile": lambda model: torch.compile(swapped(model)),
}


def time_steps(prepare, ways):
    """Of each way, forward and backward: milliseconds, tokens a second and peak memory. `prepare`
    gives a model, and the call that makes a loss of it."""
    rows = {}
    for name, way in ways.items():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch._dynamo.reset()
        try:
            model, loss_of = prepare()
            model = way(model)

            def step():
                loss_of(model).backward()
                for parameter in model.parameters():
                    parameter.grad = None

            step()  # compiles
            torch.cuda.reset_peak_memory_stats()
            ms = median_ms(step, 10)
            rows[name] = {"ms": ms, "tokens_per_s": 1000 * BATCH * LENGTH / ms,
                          "peak_gib": torch.cuda.max_memory_allocated() / 2**30}
        except Exception as error:
            rows[name] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
        model = loss_of = step = None
    return rows


def build(layers):
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    config = LlamaConfig(num_hidden_layers=layers, attn_implementation="sdpa", **LAYER)
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPE)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    torch.set_default_dtype(before)
    return model


def one_layer():
    whole = build(1).model
    layer = whole.layers[0].train()
    x = torch.randn(BATCH, LENGTH, LAYER["hidden_size"], device="cuda", dtype=DTYPE,
                    requires_grad=True)
    tables = whole.rotary_emb(x, torch.arange(LENGTH, device="cuda")[None])
    gradient = torch.randn_like(x)

    def loss_of(layer):
        y = layer(x, position_embeddings=tables, attention_mask=None)
        return ((y[0] if isinstance(y, tuple) else y) * gradient).sum()

    return layer, loss_of


def whole_model():
    model = build(LAYERS).train()
    tokens = torch.randint(0, LAYER["vocab_size"], (BATCH, LENGTH), device="cuda")

    def loss_of(model):
        logits = model(tokens, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    return model, loss_of


def time_all(device):
    _, why = liger()
    return {"batch": BATCH, "length": LENGTH, "layer_config": LAYER, "layers": LAYERS,
            "dtype": "bf16", "liger": why or "there", "operators": time_operators(device),
            "layer": time_steps(one_layer, WAYS), "model": time_steps(whole_model, WAYS)}
