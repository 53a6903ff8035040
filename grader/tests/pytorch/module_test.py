"""Is module.py a drop-in? A toy model before and after the swap: outputs and all gradients.

    python3 module_test.py

The original's 16-bit arithmetic rounds at every step, so both are also held to the same model in
fp64: the swapped one may be at most twice as far from it as the original is, and two roundings.
Exits with 1 if anything is wrong.
"""

import copy
import sys

import torch

import module

DEVICE = "cuda"
TYPES = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}  # roundings


class LlamaNorm(torch.nn.Module):
    """As the LLaMA models have it."""

    def __init__(self, cols, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(0.5 + torch.rand(cols))
        self.variance_epsilon = eps

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        x_hat = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * x_hat.to(x.dtype)


class Toy(torch.nn.Module):
    """Two layers with a residual connection around each, and a norm at the end."""

    def __init__(self, cols):
        super().__init__()
        self.norms = torch.nn.ModuleList(LlamaNorm(cols, 1e-5) for _ in range(2))
        self.layers = torch.nn.ModuleList(torch.nn.Linear(cols, cols, bias=False) for _ in range(2))
        self.last = LlamaNorm(cols, 1e-6)

    def forward(self, x):
        for norm, layer in zip(self.norms, self.layers):
            x = x + torch.nn.functional.silu(layer(norm(x)))
        return self.last(x)


def inputs(cols):
    """Shapes that a model may pass; the last two are not contiguous."""
    yield "2-D", torch.randn(5, cols)
    yield "one row", torch.randn(1, cols)
    yield "3-D", torch.randn(2, 7, cols)
    yield "4-D", torch.randn(2, 3, 5, cols)
    yield "rows apart", torch.randn(6, 2, cols)[:, 0]
    yield "dimensions swapped", torch.randn(3, 4, cols).transpose(0, 1)
    yield "columns apart", torch.randn(4, cols, 2)[..., 1]


def results(model, x, dy):
    """The output and every gradient, by name."""
    model = copy.deepcopy(model)
    x = x.detach().requires_grad_()  # keeps its strides, unlike a clone
    y = model(x)
    y.backward(dy)
    found = {"y": y.detach(), "dx": x.grad}
    found.update({"d " + name: weight.grad for name, weight in model.named_parameters()})
    return {name: value.double() for name, value in found.items()}


def distance(a, b):
    """Relative, over the whole tensor."""
    return ((a - b).norm() / b.norm()).item()


def compare(swapped, original, exact, rounding):
    """Names of the tensors in which the swapped model is off."""
    assert swapped.keys() == original.keys() == exact.keys() and swapped
    return [f"{name}: {distance(swapped[name], exact[name]):.2g} from fp64, "
            f"the original {distance(original[name], exact[name]):.2g}, "
            f"each other {distance(swapped[name], original[name]):.2g}"
            for name in exact
            if not distance(swapped[name], exact[name])
            <= 2 * distance(original[name], exact[name]) + 2 * rounding]


def on_device(tensor, dtype):
    """With the strides that it has."""
    memory = torch.empty_strided(tensor.shape, tensor.stride(), dtype=dtype, device=DEVICE)
    return memory.copy_(tensor)


def check_model(dtype, cols):
    torch.manual_seed(cols)
    original = Toy(cols).to(DEVICE, dtype)
    swapped = copy.deepcopy(original)
    weights = [norm.weight for norm in swapped.norms]
    assert module.swap(swapped, LlamaNorm) == 3
    assert all(norm.weight is weight for norm, weight in zip(swapped.norms, weights))
    # The comparison must see a norm that is almost right, or it proves nothing.
    spoiled = copy.deepcopy(swapped)
    spoiled.last.weight.data[cols // 2] *= 3
    failures = []
    for name, x in inputs(cols):
        x = on_device(x, dtype)
        dy = on_device(torch.randn(x.shape), dtype)
        exact = results(copy.deepcopy(original).double(), x.double(), dy.double())
        before = results(original, x, dy)
        where = f"{str(dtype)[6:]}, {cols} columns, {name}"
        failures += [f"{where}: {off}"
                     for off in compare(results(swapped, x, dy), before, exact, TYPES[dtype])]
        if not compare(results(spoiled, x, dy), before, exact, TYPES[dtype]):
            failures.append(f"{where}: a spoiled weight was not noticed")
        print(f"{where}: compared {len(exact)} tensors")
    return failures


def check_bits(dtype):
    """LLaMA's order is kept: but where the fp32 numbers differ in their last digits, all 16-bit
    results are the same."""
    torch.manual_seed(1)
    norm = LlamaNorm(4096, 1e-5).to(DEVICE, dtype)
    x = on_device(torch.randn(64, 4096), dtype)
    same = (module.RmsNorm.from_module(norm)(x) == norm(x)).double().mean().item()
    other = (module.RmsNorm.from_module(norm, "weight_in_fp32")(x) == norm(x)).double().mean().item()
    print(f"{str(dtype)[6:]}: {100 * same:.2f} % of y are the original's bits; "
          f"with the weight in fp32 {100 * other:.2f} %")
    return [] if same > 0.99 and other < 0.99 else [f"{dtype}: LLaMA's cast order is not kept"]


def check_no_rows():
    norm = LlamaNorm(64, 1e-5).to(DEVICE)
    x = torch.empty(0, 3, 64, device=DEVICE, requires_grad=True)
    module.swap(model := torch.nn.Sequential(norm), LlamaNorm)
    model(x).sum().backward()
    ok = x.grad.shape == x.shape and not norm.weight.grad.any()
    return [] if ok else ["no rows: the gradients are not empty and zero"]


def main():
    if DEVICE == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here: module_test.py needs one.")
    failures = check_no_rows()
    for dtype in TYPES:
        for cols in (64, 97, 1000):
            failures += check_model(dtype, cols)
    for dtype in (torch.float16, torch.bfloat16):
        failures += check_bits(dtype)
    for failure in failures:
        print(failure, file=sys.stderr)
    print("module.py is a drop-in." if not failures else f"{len(failures)} differences.")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
