"""Models of transformers before and after swap(): logits and every gradient, held to fp64."""

import copy
import types

import torch

from operators import ROUNDING, distance, onepass

CONFIG = dict(vocab_size=256, hidden_size=256, intermediate_size=512, num_hidden_layers=3,
              num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=256)


def models():
    import transformers
    yield transformers.LlamaForCausalLM(transformers.LlamaConfig(**CONFIG))
    yield transformers.Qwen3ForCausalLM(transformers.Qwen3Config(head_dim=64, **CONFIG))
    yield transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=256, n_positions=256, n_embd=256, n_layer=3, n_head=8, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, bos_token_id=0, eos_token_id=0))


def randomised(model):
    """Norms begin as ones and zeros: a kernel that forgets them would pass."""
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += torch.rand_like(parameter) - 0.5
    return model


def exact(model):
    """In fp64 throughout: transformers takes these norms in fp32."""
    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon)

    model = copy.deepcopy(model).double()
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            module.forward = types.MethodType(forward, module)
    return model


def outcome(model, tokens, gradient):
    logits = model(tokens).logits
    logits.backward(gradient.to(logits.dtype))
    return {"logits": logits.detach(),
            **{f"gradient of {name}": p.grad for name, p in model.named_parameters()}}


def compare(model, device, dtype):
    """The distances from fp64 of each tensor, before and after, and what is too far, in either cast
    order. The swapped model may be twice as far off as the original is, and two roundings: the
    original rounds at every step, and chance has its part."""
    name = f"{type(model).__name__}, {str(dtype).removeprefix('torch.')}"
    model = model.to(device).to(dtype)
    tokens = torch.randint(0, 256, (2, 96), device=device)
    gradient = torch.randn(2, 96, 256, device=device, dtype=torch.float64).to(dtype) / 16
    right = outcome(exact(model), tokens, gradient)
    before = outcome(copy.deepcopy(model), tokens, gradient)
    tables, wrong = {}, []
    for order in (None, "weight_in_fp32"):
        swapped = copy.deepcopy(model)
        told = str(onepass.swap(swapped, order))
        after = outcome(swapped, tokens, gradient)
        rows = []
        for what, value in right.items():
            far = [distance(one[what], value) for one in (before, after)]
            rows.append({"what": what, "before": far[0], "after": far[1]})
            if not far[1] <= 2 * far[0] + 2 * ROUNDING[dtype]:
                wrong.append(f"{name}, {order or 'its own order'}: {what} is off by {far[1]:.1e}, and "
                             f"by {far[0]:.1e} before swap()")
        if "now" not in told or "kept" in told:
            wrong.append(f"{name}: swap() says: {told}")
        tables[order] = {"model": name, "swap": told, "tensors": rows}
    return tables[None], wrong


def compare_all(device):
    """A table's rows, and what is wrong."""
    torch.manual_seed(1)
    found, wrong = [], []
    for model in models():
        model = randomised(model)
        for dtype in ROUNDING:
            one, sentences = compare(copy.deepcopy(model), device, dtype)
            found.append(one)
            wrong += sentences
    return found, wrong
