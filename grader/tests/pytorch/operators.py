"""Every operator of grader/pytorch by itself, on a GPU or a CPU: opcheck, and its results and gradients
beside the same formula in fp64. Each check is a generator of what is wrong, a sentence each."""

import sys
import pathlib

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pytorch"))
import onepass  # noqa: E402
from onepass import formulas, library, ops  # noqa: E402

ROUNDING = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def distance(a, b):
    """Relative, over the whole tensor."""
    size = b.double().norm()
    return ((a.double() - b.double()).norm() / (size if size > 0 else 1)).item()


def is_near(ours, exact, rounding):
    """The NaN that is no number is not near. fp32 sums leave a few roundings, 16 bits one or two."""
    return ours.shape == exact.shape and distance(ours, exact) <= 4 * max(rounding, 2.0**-23)


def shapes(cols, device):
    """What a model may pass; the last four are not dense, or have nothing in them."""
    yield "2-D", torch.randn(5, cols, device=device)
    yield "one row", torch.randn(1, cols, device=device)
    yield "1-D", torch.randn(cols, device=device)
    yield "3-D", torch.randn(2, 7, cols, device=device)
    yield "rows apart", torch.randn(6, 2, cols, device=device)[:, 0]
    yield "dimensions swapped", torch.randn(3, 4, cols, device=device).transpose(0, 1)
    yield "columns apart", torch.randn(4, cols, 2, device=device)[..., 1]
    yield "empty", torch.randn(2, 0, cols, device=device)


def weights(cols, device, count):
    return [0.5 + torch.rand(cols, device=device) for _ in range(count)]


def norm_cases(device):
    """Of each: name, call, the formula, and its arguments, of which tensors get gradients."""
    for cols in (64, 1000):
        for shape, x in shapes(cols, device):
            w, b = weights(cols, device, 2)
            what = f"{cols} columns, {shape}"
            for order in ("weight_in_fp32", "llama"):
                yield (f"rmsnorm, {order}, {what}", lambda x, w, o=order: onepass.rmsnorm(x, w, 1e-5, o),
                       lambda x, w: formulas.rmsnorm(x, w, 1e-5, False)[0], (x, w))
                yield (f"residual_rmsnorm, {order}, {what}",
                       lambda x, r, w, o=order: onepass.residual_rmsnorm(x, r, w, 1e-5, o),
                       lambda x, r, w: formulas.rmsnorm_residual(x, r, w, 1e-5, False)[:2],
                       (x, torch.randn_like(x), w))
            yield (f"rmsnorm without weight, {what}", lambda x: onepass.rmsnorm(x, None, 1e-5),
                   lambda x: formulas.rmsnorm(x, None, 1e-5, False)[0], (x,))
            yield (f"layernorm, {what}", lambda x, w, b: onepass.layernorm(x, w, b, 1e-5),
                   lambda x, w, b: formulas.layernorm(x, w, b, 1e-5)[0], (x + 1, w, b))
            yield (f"layernorm without weight, {what}", lambda x: onepass.layernorm(x, None, None, 1e-5),
                   lambda x: formulas.layernorm(x, None, None, 1e-5)[0], (x,))


def rope_cases(device):
    """Tables are given, not differentiated. q and k as a projection leaves them and as parts of one."""
    for head_dim, pairs, q_heads, k_heads in ((128, 64, 8, 2), (80, 16, 5, 5), (6, 3, 1, 1)):
        angle = 6.3 * torch.rand(7, pairs, device=device)
        q, k = (torch.randn(2, 7, heads, head_dim, device=device) for heads in (q_heads, k_heads))
        both = torch.randn(2, 7, q_heads + k_heads, head_dim, device=device)
        scattered = torch.randint(0, 7, (2, 7), device=device)
        for what, one, other, positions in (
                ("dense", q, k, None), ("parts of one tensor", *both.split((q_heads, k_heads), 2), None),
                ("positions", q, k, scattered), ("int32 positions", q, k, scattered.int()),
                ("empty", q[:0], k[:0], None)):
            what = f"{q_heads} and {k_heads} heads of {head_dim}, {2 * pairs} turned, {what}"
            tables = (angle.cos(), angle.sin())
            for pairing in ("split", "interleaved"):
                yield (f"rope, {pairing}, {what}",
                       lambda q, k, t=tables, p=positions, by=pairing: onepass.rope(q, k, *t, p, by),
                       lambda q, k, t=tables, p=positions, by=pairing: formulas.rope(
                           q, k, *(one.double() for one in t), p, by == "split"), (one, other))
            yield (f"qk_norm_rope, {what}",
                   lambda q, k, v, w, t=tables, p=positions: onepass.qk_norm_rope(
                       q, k, v, w, *t, p, 1e-5),
                   lambda q, k, v, w, t=tables, p=positions: formulas.qk_norm_rope(
                       q, k, v, w, *(one.double() for one in t), p, 1e-5),
                   (one, other, *weights(head_dim, device, 2)))


def with_gradients(call, tensors, gradients):
    """Results and gradients; strides of the inputs are kept."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    results = call(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    torch.autograd.backward(results, [g.to(r.dtype) for g, r in zip(gradients, results)])
    return [r.detach() for r in results] + [leaf.grad for leaf in leaves]


def check_results(device):
    for dtype, rounding in ROUNDING.items():
        for name, call, formula, tensors in (*norm_cases(device), *rope_cases(device)):
            rounded = [tensor.to(dtype) for tensor in tensors]
            for i, tensor in enumerate(tensors):  # .to() keeps no gap between columns
                if tensor.stride() != rounded[i].stride():
                    gap = torch.empty_strided(tensor.shape, tensor.stride(), dtype=dtype, device=device)
                    rounded[i] = gap.copy_(tensor)
            exact = formula(*(tensor.double() for tensor in rounded))
            exact = exact if isinstance(exact, tuple) else (exact,)
            gradients = [torch.randn_like(one).to(dtype) for one in exact]
            ours = with_gradients(call, rounded, gradients)
            theirs = with_gradients(formula, [t.double() for t in rounded], gradients)
            for i, (a, b) in enumerate(zip(ours, theirs)):
                what = f"result {i}" if i < len(exact) else f"gradient {i - len(exact)}"
                if a.dtype != dtype:
                    yield f"{name}, {dtype}: {what} is {a.dtype}"
                if not is_near(a, b, rounding):
                    yield f"{name}, {dtype}: {what} is off by {distance(a, b):.1e}"


def matrix(rows, cols, dtype, device, gap, lead):
    """Rows `gap` elements apart that begin `lead` elements behind an aligned address."""
    whole = torch.randn(rows * (cols + gap) + lead, device=device).to(dtype)
    return whole[lead:].as_strided((rows, cols), (cols + gap, 1))


def differing(a, b):
    return (a != b).sum().item()


def check_cast_order(device):
    """LLaMA's order to the bit, of rows that a warp holds, that a block holds, and that none does,
    aligned and not. rstd may be off in its last digit, which few of the 16-bit numbers show; the
    other order, rounded once less, differs in many."""
    for cols in (1, 7, 40, 513, 1024, 1032, 4096, 5120, 8193, 10000, 16384, 16392, 32768, 40001):
        for dtype, gap, lead in ((torch.bfloat16, 0, 0), (torch.bfloat16, 8, 8), (torch.float16, 8, 0),
                                 (torch.float16, 3, 0), (torch.bfloat16, 8, 1)):
            x, residual = (matrix(5, cols, dtype, device, gap, lead) for _ in range(2))
            w = (0.5 + torch.rand(cols, device=device)).to(dtype)
            total, y, rstd = formulas.rmsnorm_residual(x, residual, w, 1e-5, True)
            results = ops.rmsnorm_residual(x, residual, w, 1e-5, True)
            alone, statistic = ops.rmsnorm(total, w, 1e-5, True)
            what = f"LLaMA's order, {cols} columns, {dtype}, gaps of {gap}, {lead} behind"
            if not torch.equal(results[0], total):
                yield f"{what}: the sum"
            if not (is_near(results[2], rstd, 2.0**-22) and is_near(statistic, rstd, 2.0**-22)):
                yield f"{what}: rstd"
            for name, ours in (("rmsnorm", alone), ("residual_rmsnorm", results[1])):
                if differing(ours, y) > 1 + y.numel() // 100 or not is_near(ours, y, ROUNDING[dtype]):
                    yield f"{what}: {differing(ours, y)} of {y.numel()} differ in {name}"
            other = formulas.rmsnorm(total, w, 1e-5, False)[0]
            if cols >= 1024 and differing(other, y) < y.numel() // 20:
                yield f"{what}: both orders are the same"


def check_registration(device):
    """Schema, shapes without data, autograd, and tracing."""
    def leaf(*shape):
        return torch.randn(*shape, device=device, requires_grad=True)

    angle = torch.rand(6, 8, device=device)
    tables = (angle.cos(), angle.sin())
    positions = torch.arange(12, device=device).reshape(2, 6) % 6
    x, w, stat = leaf(3, 5, 64), leaf(64), torch.rand(3, 5, device=device)
    q, k = leaf(2, 6, 4, 16), leaf(2, 6, 2, 16)
    for op, arguments in (
            (ops.rmsnorm, (x, w, 1e-6, False)), (ops.rmsnorm, (x, w, 1e-6, True)),
            (ops.rmsnorm, (x.detach().transpose(0, 1), None, 1e-6, False)),
            (ops.rmsnorm_backward, (x.detach(), x.detach() + 1, w.detach(), stat, True)),
            (ops.rmsnorm_residual, (x, leaf(3, 5, 64), w, 1e-6, False)),
            (ops.rmsnorm_residual, (x, leaf(3, 5, 64), w, 1e-6, True)),
            (ops.layernorm, (x, w, leaf(64), 1e-5)), (ops.layernorm, (x, None, None, 1e-5)),
            (ops.layernorm_backward, (x.detach(), x.detach() + 1, w.detach(), stat, stat + 1)),
            (ops.rope, (q, k, *tables, None, True)), (ops.rope, (q, k, *tables, positions, False)),
            (ops.qk_norm_rope, (q, k, leaf(16), leaf(16), *tables, None, 1e-6))):
        try:
            torch.library.opcheck(op, arguments)
        except Exception as error:  # it raises of many kinds
            yield f"opcheck of {op._qualname}: {str(error).splitlines()[0]}"


def check_compiled(device):
    """One graph, and the same results: nothing is taken apart."""
    backend = "inductor" if device == "cuda" else "aot_eager"
    x, w, angle = torch.randn(2, 7, 64, device=device), *weights(64, device, 1), \
        torch.rand(7, 8, device=device)

    def several(x, w):
        y = onepass.rmsnorm(x, w)
        total, z = onepass.residual_rmsnorm(y, x, w)
        z = onepass.layernorm(z + total, w)
        q, k = onepass.rope(z.unflatten(-1, (4, 16)), y.unflatten(-1, (4, 16)), angle.cos(),
                            angle.sin())
        return q + k

    compiled = torch.compile(several, backend=backend, fullgraph=True)
    gradient = torch.randn(2, 7, 4, 16, device=device)
    for a, b in zip(with_gradients(compiled, (x, w), (gradient,)),
                    with_gradients(several, (x, w), (gradient,))):
        if not is_near(a, b, 2.0**-24):
            yield f"torch.compile: off by {distance(a, b):.1e}"


def check_autocast(device):
    """Norms are taken in fp32, as PyTorch's own; RoPE stays in the type that q has."""
    x, w = torch.randn(4, 64, device=device), *weights(64, device, 1)
    with torch.autocast(device, torch.bfloat16):
        for name, y in (("rmsnorm", onepass.rmsnorm(x.bfloat16(), w)),
                        ("residual_rmsnorm", onepass.residual_rmsnorm(x.bfloat16(), x, w)[1]),
                        ("layernorm", onepass.layernorm(x.bfloat16(), w, w))):
            if y.dtype != torch.float32:
                yield f"{name} is {y.dtype} under autocast"
        q = x.bfloat16().reshape(4, 4, 16)
        if onepass.rope(q, q, torch.ones(4, 8, device=device),
                        torch.zeros(4, 8, device=device))[0].dtype != q.dtype:
            yield "rope changes its type under autocast"


def check_refusals(device):
    """A sentence, not a wrong result."""
    x, w = torch.randn(4, 64, device=device), torch.ones(64, device=device)
    for what, call in (
            ("a weight of another type", lambda: onepass.rmsnorm(x.half(), w)),
            ("a weight of another width", lambda: onepass.rmsnorm(x, w[:63])),
            ("fp64", lambda: onepass.rmsnorm(x.double(), w.double())),
            ("another cast order", lambda: onepass.rmsnorm(x, w, cast_order="none")),
            ("another cast order behind a residual", lambda: onepass.residual_rmsnorm(
                x, x, w, cast_order="none")),
            ("a table for another count", lambda: onepass.rope(
                x.reshape(4, 4, 16), x.reshape(4, 4, 16), w.reshape(8, 8)[:3], w.reshape(8, 8)[:3]))):
        try:
            call()
            yield f"{what} is taken"
        except TypeError:
            pass


def check_entries(device):
    """Those functions of the library that no operator calls."""
    if device != "cuda":
        return
    x = torch.randn(6, 96, device=device)
    w, b = weights(96, device, 2)
    made = {name: torch.empty_like(x) for name in ("y", "dx", "turned")}
    row, col = torch.empty(6, device=device), [torch.empty(96, device=device) for _ in range(2)]
    library.call("onepass_block_sum", x, x, 96, row, 6, 96)
    if not is_near(row, x.double().sum(1), 2.0**-24):
        yield "block_sum"

    # LLaMA's order: in place, and in fp32.
    total, y, rstd = formulas.rmsnorm_residual(x, x + 1, w, 1e-5, True)
    ours, summed = x.clone(), x + 1
    library.call("onepass_rmsnorm_residual_llama", x, ours, 96, summed, 96, w, summed, 96, ours, 96,
                 row, 6, 96, 1e-5)
    for name, one, exact in (("sum", summed, total), ("y", ours, y), ("rstd", row, rstd)):
        if not is_near(one, exact, 2.0**-23):
            yield f"rmsnorm_residual_llama: {name}"
    library.call("onepass_rmsnorm_forward_llama", x, total, 96, w, made["y"], 96, row, 6, 96, 1e-5)
    if not is_near(made["y"], y, 2.0**-23):
        yield "rmsnorm_forward_llama"

    _, mean, rstd = formulas.layernorm(x, w, b, 1e-5)
    scratch = torch.empty(library.size("layernorm", 6, 96), device=device)
    exact = formulas.layernorm_backward(x + 1, x, w, mean, rstd)
    library.call("onepass_layernorm_backward_dx", x, x + 1, 96, x, 96, w, mean, rstd, made["dx"], 96,
                 6, 96)
    library.call("onepass_layernorm_backward_dweight_dbias", x, x + 1, 96, x, 96, mean, rstd, *col,
                 scratch, 6, 96)
    for name, ours, theirs in zip(("dx", "dweight", "dbias"), (made["dx"], *col), exact):
        if not is_near(ours, theirs, 2.0**-22):
            yield f"layernorm_backward in two: {name}"

    angle = torch.rand(6, 16, device=device)
    q = x.reshape(6, 3, 32)
    turned = formulas.rope(q, q, angle.cos(), angle.sin(), None, False)[0]
    ours = q.clone()
    library.call("onepass_rope_interleaved", ours, ours, angle.cos(), angle.sin(), 6, 3, 32)
    if not is_near(ours, turned, 2.0**-24):
        yield "rope_interleaved"
    back = torch.empty_like(q)
    library.call("onepass_rope_backward", ours, ours, angle.cos(), angle.sin(), back, 6, 3, 32)
    if not is_near(back, q, 2.0**-23):
        yield "rope_backward"

    x = torch.randn(8, 5, 48, device=device)
    w, b, mean = (torch.rand(5, device=device) for _ in range(3))
    var, kept = 1 + mean, [torch.empty(5, device=device) for _ in range(2)]
    means, variances = mean.clone(), var.clone()
    exact = torch.nn.functional.batch_norm(x, means, variances, w, b, True, 0.1, 1e-5)
    y = torch.empty_like(x)
    scratch = torch.empty(library.size("batchnorm", 8, 5, 48), device=device)
    library.call("onepass_batchnorm_forward", x, x, w, b, y, mean, var, *kept, scratch, 8, 5, 48,
                 1e-5, 0.1)
    for name, ours, theirs in (("y", y, exact), ("mean", mean, means), ("var", var, variances)):
        if not is_near(ours, theirs, 2.0**-22):
            yield f"batchnorm_forward: {name}"
    exact = torch.nn.functional.batch_norm(x, mean, var, w, b, False, 0.1, 1e-5)
    library.call("onepass_batchnorm_evaluate", x, x, w, b, mean, var, y, 8, 5, 48, 1e-5)
    if not is_near(y, exact, 2.0**-22):
        yield "batchnorm_evaluate"


CHECKS = (check_registration, check_results, check_cast_order, check_compiled, check_autocast,
          check_refusals, check_entries)


def failures(device):
    torch.manual_seed(1)
    return [sentence for check in CHECKS for sentence in check(device)]
