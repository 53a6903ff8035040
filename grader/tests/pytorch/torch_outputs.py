"""Computes with PyTorch what the exercises' outputs must be.

    python3 torch_outputs.py DIR [--device cuda]

DIR holds cases.json and inputs.bin, as `agreement write` leaves them; outputs.json and outputs.bin
are added (exchange.h says what is in them). Each output is computed at least once in fp64 from the
numbers as they are in the tensors, to compare formulas and conventions, and once in the tensors'
own type, to tell what PyTorch's kernels make of it.
"""

import argparse
import datetime
import json
import pathlib

import torch
import torch.nn.functional as F

DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "int32": torch.int32,
    "int64": torch.int64,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Case:
    """The scalars and tensors of one call; case["x"] is a tensor, case.eps a number."""

    def __init__(self, description, data, device):
        self.dtype = DTYPES[description["dtype"]]
        self.exercise = description["exercise"]
        self.__dict__.update(description["scalars"])
        self._tensors = {t["name"]: self._load(t, data, device) for t in description["tensors"]}

    @staticmethod
    def _load(tensor, data, device):
        """A [rows, cols] view of memory in which the rows lie as the case says."""
        dtype = DTYPES[tensor["dtype"]]
        rows, cols, stride = tensor["rows"], tensor["cols"], tensor["stride"]
        size = rows * cols * dtype.itemsize
        values = torch.frombuffer(data[tensor["at"] : tensor["at"] + size], dtype=dtype)
        memory = torch.zeros(tensor["offset"] + rows * stride, dtype=dtype, device=device)
        view = memory.as_strided((rows, cols), (stride, 1), tensor["offset"])
        return view.copy_(values.view(rows, cols))

    def __getitem__(self, name):
        return self._tensors[name]

    def vector(self, name):
        """A weight or bias, [cols]; None if the layer has none."""
        return self._tensors[name].flatten() if name in self._tensors else None


def fp64(tensor):
    return None if tensor is None else tensor.double()


def with_gradient(tensor):
    return None if tensor is None else tensor.detach().clone().requires_grad_()


def row(tensor):
    return tensor.reshape(1, -1)


def column(tensor):
    return tensor.reshape(-1, 1)


# Each function below yields (output, operator, type that it was computed in, [rows, cols] tensor).


def in_both(case, compute):
    """compute(convert) once with its tensors in fp64 and once as they are."""
    for name, convert in (("fp64", fp64), (NAMES[case.dtype], lambda tensor: tensor)):
        for output, by, tensor in compute(convert):
            yield output, by, name, tensor


# ---- Chapter 1 ----


def block_sum(case):
    def compute(to):
        x = to(case["x"])
        accumulate = torch.float64 if x.dtype == torch.float64 else torch.float32
        yield "sums", "sum", x.sum(-1, keepdim=True, dtype=accumulate)

    return in_both(case, compute)


def rmsnorm_of(case, x, to):
    cols = [x.shape[-1]]
    y, rstd = torch.ops.aten._fused_rms_norm(to(x), cols, to(case.vector("weight")), case.eps)
    yield "y", "_fused_rms_norm", y
    yield "rstd", "_fused_rms_norm", column(rstd)


def rmsnorm_forward(case):
    yield from in_both(case, lambda to: rmsnorm_of(case, case["x"], to))
    x, weight = fp64(case["x"]), fp64(case.vector("weight"))
    yield "y", "rms_norm", "fp64", F.rms_norm(x, [x.shape[-1]], weight, case.eps)


def rmsnorm_residual(case):
    # The rounded sum is normalised. Both numbers are of the type, and so is their sum in fp64.
    total = (fp64(case["x"]) + fp64(case["residual"])).to(case.dtype)
    yield "sum", "add", "fp64", fp64(total)
    yield "sum", "add", NAMES[case.dtype], case["x"] + case["residual"]
    yield from in_both(case, lambda to: rmsnorm_of(case, total, to))


def llama_rms_norm(x, weight, eps):
    """As the LLaMA models have it: normalised in fp32, rounded to the type, then the weight."""
    x32 = x.to(torch.float32)
    x32 = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)
    return weight * x32.to(x.dtype)


def rmsnorm_with_saved_rstd(case, x, weight):
    """In fp64, differentiable, and with the rstd that the case gives, which is rounded to fp32: the
    eps of each row is chosen so that rstd comes out as that."""
    saved = fp64(case["rstd"])
    squares = x.pow(2).mean(-1, keepdim=True)
    x_hat = x * torch.rsqrt(squares + (saved.pow(-2) - squares.detach()))
    if case.order == 1:  # LLaMA's; rounding counts as the identity where it is differentiated
        rounded = (case["x"].float() * case["rstd"]).to(case.dtype)
        x_hat = x_hat + (fp64(rounded) - x_hat).detach()
    return x_hat * weight


def rmsnorm_backward(case):
    cols = [case["x"].shape[-1]]

    x, weight = with_gradient(fp64(case["x"])), with_gradient(fp64(case.vector("weight")))
    rmsnorm_with_saved_rstd(case, x, weight).backward(fp64(case["dy"]))
    yield "dx", "autograd, with the saved rstd", "fp64", x.grad
    yield "dweight", "autograd, with the saved rstd", "fp64", row(weight.grad)

    x = with_gradient(fp64(case["x"]))
    F.rms_norm(x, cols, fp64(case.vector("weight")), case.eps).backward(fp64(case["dy"]))
    yield "dx", "autograd of rms_norm", "fp64", x.grad

    if case.order == 0 and case["x"].is_cuda:  # the kernel, which is there for CUDA only
        dx, dweight = torch.ops.aten._fused_rms_norm_backward(
            case["dy"], case["x"], cols, case["rstd"], case.vector("weight"), [True, True])
        yield "dx", "_fused_rms_norm_backward", NAMES[case.dtype], dx
        yield "dweight", "_fused_rms_norm_backward", NAMES[case.dtype], row(dweight)

    x, weight = with_gradient(case["x"]), with_gradient(case.vector("weight"))
    if case.order == 1:
        by, y = "autograd of LLaMA's module", llama_rms_norm(x, weight, case.eps)
    else:
        by, y = "autograd of rms_norm", F.rms_norm(x, cols, weight, case.eps)
    y.backward(case["dy"])
    yield "dx", by, NAMES[case.dtype], x.grad
    yield "dweight", by, NAMES[case.dtype], row(weight.grad)


# ---- Chapter 2 ----


def layernorm_forward(case):
    def compute(to):
        x = to(case["x"])
        weight, bias = to(case.vector("weight")), to(case.vector("bias"))
        cols = [x.shape[-1]]
        yield "y", "layer_norm", F.layer_norm(x, cols, weight, bias, case.eps)
        _, mean, rstd = torch.native_layer_norm(x, cols, weight, bias, case.eps)
        yield "mean", "native_layer_norm", column(mean)
        yield "rstd", "native_layer_norm", column(rstd)

    return in_both(case, compute)


def layernorm_backward(case):
    outputs = {
        "layernorm/backward_dx": ("dx",),
        "layernorm/backward_dweight_dbias": ("dweight", "dbias"),
        "layernorm/backward_fused": ("dx", "dweight", "dbias"),
    }[case.exercise]
    x, dy = case["x"], case["dy"]
    cols = [x.shape[-1]]
    given = case.vector("weight")
    weight = torch.ones_like(x[0]) if given is None else given
    bias = torch.zeros_like(weight)  # its gradient does not depend on it

    def gradients(dx, dweight, dbias):
        found = {"dx": dx, "dweight": row(dweight), "dbias": row(dbias)}
        return [(output, found[output]) for output in outputs]

    def compute(to):
        if to is fp64 or x.is_cuda:  # the CPU's kernel takes no fp32 statistics beside 16-bit x
            statistics = (fp64(case[name]) if to is fp64 else case[name] for name in ("mean", "rstd"))
            saved = torch.ops.aten.native_layer_norm_backward(
                to(dy), to(x), cols, *statistics, to(weight), to(bias), [True, True, True])
            for output, tensor in gradients(*saved):
                yield output, "native_layer_norm_backward", tensor
        leaves = [with_gradient(to(tensor)) for tensor in (x, weight, bias)]
        F.layer_norm(leaves[0], cols, leaves[1], leaves[2], case.eps).backward(to(dy))
        for output, tensor in gradients(*(leaf.grad for leaf in leaves)):
            yield output, "autograd of layer_norm", tensor

    yield from in_both(case, compute)


# ---- Chapter 3 ----


def turned_interleaved(x, cos, sin):
    """x: [tokens, heads, head_dim]; cos, sin: [tokens, 1, head_dim / 2]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return pairs.flatten(-2).to(x.dtype)


def interleaved_arguments(case, name, to):
    heads = case[name].view(case.tokens, case.heads, case.head_dim)
    return to(heads), to(case["cos"])[:, None], to(case["sin"])[:, None]


def rope_interleaved(case):
    def compute(to):
        yield "x", "slices", turned_interleaved(*interleaved_arguments(case, "x", to)).flatten(1)

    return in_both(case, compute)


def rope_backward(case):
    def compute(to):
        dy, cos, sin = interleaved_arguments(case, "dy", to)
        x = torch.zeros_like(dy, requires_grad=True)  # turning is linear: any x will do
        turned_interleaved(x, cos, sin).backward(dy)
        yield "dx", "autograd of slices", x.grad.flatten(1)

    return in_both(case, compute)


def heads_of(case, name, to):
    return to(case[name]).reshape(case.tokens, -1, case.head_dim)


def turned_halves(case, heads, to):
    """heads: [tokens, heads, head_dim], each turned by its token's position."""
    positions = case["positions"].flatten().long()
    cos = to(case["cos"])[positions].repeat(1, 2)[:, None]  # [tokens, 1, rotary_dim]
    sin = to(case["sin"])[positions].repeat(1, 2)[:, None]
    turning, passing = heads[..., : case.rotary_dim], heads[..., case.rotary_dim :]
    first, second = turning.chunk(2, dim=-1)
    turning = turning * cos + torch.cat((-second, first), dim=-1) * sin
    return torch.cat((turning.to(heads.dtype), passing), dim=-1).flatten(1)


def rope_half_split(case):
    def compute(to):
        for name in ("q", "k"):
            yield name, "slices", turned_halves(case, heads_of(case, name, to), to)

    return in_both(case, compute)


def rope_qk_norm(case):
    def compute(to):
        for name in ("q", "k"):
            heads = heads_of(case, name, to)
            rstd = (heads.square().mean(dim=-1, keepdim=True) + case.eps).rsqrt()
            normalised = heads * rstd * to(case.vector(name + "_weight"))
            yield name, "mean, rsqrt, slices", turned_halves(case, normalised, to)

    return in_both(case, compute)


# ---- Chapter 4 ----


def with_space(case, x):
    """[batch, channels], [batch, channels, length] or [batch, channels, height, width]."""
    if case.space == 1:
        return x.reshape(case.batch, case.channels)
    height = next((h for h in range(2, case.space) if case.space % h == 0), None)
    space = (case.space,) if height is None else (height, case.space // height)
    return x.reshape(case.batch, case.channels, *space)


def batchnorm_arguments(case, to):
    """x, weight and bias; the running statistics are copies. In the tensors' own type weight and
    bias are fp32, for PyTorch takes running statistics in fp32 only together with such."""
    parameters = ["weight", "bias", "running_mean", "running_var"]
    wide = torch.float64 if to is fp64 else torch.float32
    return with_space(case, to(case["x"])), *(case.vector(p).to(wide, copy=True) for p in parameters)


def batchnorm_forward(case):
    def compute(to):
        x, weight, bias, mean, var = batchnorm_arguments(case, to)
        y = F.batch_norm(x, mean, var, weight, bias, True, case.momentum, case.eps)
        yield "y", "batch_norm", y.reshape(-1, case.space)
        yield "running_mean", "batch_norm", column(mean)
        yield "running_var", "batch_norm", column(var)
        x, weight, bias, mean, var = batchnorm_arguments(case, to)
        y, save_mean, save_rstd = torch.native_batch_norm(
            x, weight, bias, mean, var, True, case.momentum, case.eps)  # never cuDNN's
        yield "y", "native_batch_norm", y.reshape(-1, case.space)
        yield "running_mean", "native_batch_norm", column(mean)
        yield "running_var", "native_batch_norm", column(var)
        yield "save_mean", "native_batch_norm", column(save_mean)
        yield "save_rstd", "native_batch_norm", column(save_rstd)

    return in_both(case, compute)


def batchnorm_evaluate(case):
    def compute(to):
        x, weight, bias, mean, var = batchnorm_arguments(case, to)
        y = F.batch_norm(x, mean, var, weight, bias, False, 0.0, case.eps)
        yield "y", "batch_norm", y.reshape(-1, case.space)

    return in_both(case, compute)


OUTPUTS_OF = {
    "rmsnorm/block_sum": block_sum,
    "rmsnorm/forward": rmsnorm_forward,
    "rmsnorm/backward": rmsnorm_backward,
    "rmsnorm/backward, llama": rmsnorm_backward,
    "rmsnorm/forward_fast": rmsnorm_forward,
    "rmsnorm/residual": rmsnorm_residual,
    "layernorm/forward": layernorm_forward,
    "layernorm/backward_dx": layernorm_backward,
    "layernorm/backward_dweight_dbias": layernorm_backward,
    "layernorm/backward_fused": layernorm_backward,
    "rope/interleaved": rope_interleaved,
    "rope/backward": rope_backward,
    "rope/half_split": rope_half_split,
    "rope/qk_norm": rope_qk_norm,
    "batchnorm/forward": batchnorm_forward,
    "batchnorm/evaluate": batchnorm_evaluate,
}

# Saved for each row or channel: always fp32, unless computed in fp64.
STATISTICS = {"sums", "rstd", "mean", "save_mean", "save_rstd", "running_mean", "running_var"}


def write_outputs(folder, device):
    plan = json.loads((folder / "cases.json").read_text())
    data = bytearray((folder / "inputs.bin").read_bytes())
    records = []
    with open(folder / "outputs.bin", "wb") as file:
        for number, description in enumerate(plan["cases"]):
            case = Case(description, data, device)
            for output, by, computed_in, tensor in OUTPUTS_OF[case.exercise](case):
                if computed_in != "fp64":
                    tensor = tensor.to(torch.float32 if output in STATISTICS else case.dtype)
                records.append({
                    "case": number, "output": output, "by": by, "computed_in": computed_in,
                    "dtype": NAMES[tensor.dtype], "rows": tensor.shape[0],
                    "cols": tensor.shape[1], "at": file.tell()})
                elements = tensor.detach().cpu().contiguous().view(torch.uint8)
                file.write(elements.numpy().tobytes())
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    (folder / "outputs.json").write_text(json.dumps({
        "torch": torch.__version__, "cuda": torch.version.cuda or "none", "device": name,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "outputs": records}))
    print(f"{folder}: {len(records)} outputs of {len(plan['cases'])} cases")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU here; --device cpu does without.")
    if not (arguments.folder / "cases.json").exists():
        parser.error(f"{arguments.folder} has no cases.json: run `agreement write` first.")
    write_outputs(arguments.folder, arguments.device)


if __name__ == "__main__":
    main()
