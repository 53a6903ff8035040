"""A drop-in for a LLaMA model's RMSNorm, forward and backward by the workbook's solutions.

    from module import RmsNorm, swap
    swap(model, LlamaRMSNorm)             # every one in the model, weights and eps taken over
    norm = RmsNorm.from_module(old_norm)  # or one by one

The kernels come from libonepass_torch_library.so: `make -C build onepass_torch_library`, then set
ONEPASS_TORCH_LIBRARY to its path if it is not build/lib of this repository.

LLaMA's cast order, y = T(T(x̂) * weight), is the default, since that is what the models were trained
with. Exercise 1.4 rounds once, y = T(x̂ * weight). So for 16-bit types the kernel gets a weight of
ones, which makes T(x̂), and PyTorch multiplies by the weight: LLaMA's order to the bit, for a pass
more over y. cast_order="weight_in_fp32" does without that pass. The backward kernel of exercise 1.6
knows both orders.
"""

import ctypes
import functools
import os
import pathlib

import torch

_DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
_POINTER, _LONG, _INT, _FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_float


@functools.cache
def _library():
    beside = pathlib.Path(__file__).resolve().parents[3] / "build/lib/libonepass_torch_library.so"
    library = ctypes.CDLL(os.environ.get("ONEPASS_TORCH_LIBRARY", str(beside)))
    library.onepass_rmsnorm_forward.argtypes = (
        _INT, _POINTER, _LONG, _POINTER, _POINTER, _LONG, _POINTER, _INT, _INT, _FLOAT, _POINTER)
    library.onepass_rmsnorm_backward.argtypes = (
        _INT, _POINTER, _LONG, _POINTER, _LONG, _POINTER, _POINTER, _POINTER, _LONG, _POINTER,
        _POINTER, _INT, _INT, _INT, _POINTER)
    library.onepass_rmsnorm_scratch_size.argtypes = (_INT, _INT)
    library.onepass_rmsnorm_scratch_size.restype = _LONG
    library.onepass_error_name.argtypes = (_INT,)
    library.onepass_error_name.restype = ctypes.c_char_p
    return library


def _check(error):
    if error != 0:
        raise RuntimeError(f"RMSNorm: {_library().onepass_error_name(error).decode()}")


def _stream(tensor):
    return torch.cuda.current_stream(tensor.device).cuda_stream


def _rows(tensor):
    """[..., cols] as [rows, cols], copied only if its rows do not lie as the kernels want them."""
    rows = tensor.reshape(-1, tensor.shape[-1])
    apart = rows.shape[0] <= 1 or rows.stride(0) >= rows.shape[1]
    dense = rows.shape[1] == 1 or rows.stride(1) == 1
    return rows if apart and dense else rows.contiguous()


def _stride(rows):
    return max(rows.stride(0), rows.shape[1])  # a single row has any stride


def _forward(x, weight, eps):
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    rstd = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    if x.shape[0] == 0:
        return y, rstd  # PyTorch has null for what has no elements, and the function takes no null
    _check(_library().onepass_rmsnorm_forward(
        _DTYPES[x.dtype], x.data_ptr(), _stride(x), weight.data_ptr(), y.data_ptr(), _stride(y),
        rstd.data_ptr(), x.shape[0], x.shape[1], eps, _stream(x)))
    return y, rstd


def _backward(dy, x, weight, rstd, llama_order):
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    dweight = torch.empty_like(weight)
    if x.shape[0] == 0:
        return dx, dweight.zero_()
    size = _library().onepass_rmsnorm_scratch_size(*x.shape)
    scratch = torch.empty(size, dtype=torch.float32, device=x.device)
    _check(_library().onepass_rmsnorm_backward(
        _DTYPES[x.dtype], dy.data_ptr(), _stride(dy), x.data_ptr(), _stride(x), weight.data_ptr(),
        rstd.data_ptr(), dx.data_ptr(), _stride(dx), dweight.data_ptr(), scratch.data_ptr(),
        llama_order, x.shape[0], x.shape[1], _stream(x)))
    return dx, dweight


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps, llama_order):
        weight = weight.contiguous()
        rows = _rows(x)
        with torch.cuda.device(x.device):
            if llama_order:
                y, rstd = _forward(rows, torch.ones_like(weight), eps)
                y *= weight
            else:
                y, rstd = _forward(rows, weight, eps)
        ctx.save_for_backward(rows, weight, rstd)
        ctx.llama_order = llama_order
        return y.view(x.shape)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        with torch.cuda.device(x.device):
            dx, dweight = _backward(_rows(dy), x, weight, rstd, ctx.llama_order)
        return dx.view(dy.shape), dweight, None, None


class RmsNorm(torch.nn.Module):
    """RMSNorm over the last dimension of a tensor with any leading ones, on an NVIDIA GPU."""

    def __init__(self, weight, eps, cast_order="llama"):
        super().__init__()
        if cast_order not in ("llama", "weight_in_fp32"):
            raise ValueError(f"cast_order is llama or weight_in_fp32, not {cast_order}.")
        self.weight = weight
        self.eps = eps
        self.cast_order = cast_order

    @classmethod
    def from_module(cls, module, cast_order="llama"):
        """Takes over the weight itself, so that an optimizer that has it keeps it, and eps."""
        eps = getattr(module, "variance_epsilon", None)  # Hugging Face's name
        if eps is None:
            eps = module.eps
        if eps is None:  # torch.nn.RMSNorm's default
            eps = torch.finfo(module.weight.dtype).eps
        return cls(module.weight, eps, cast_order)

    def forward(self, x):
        if not x.is_cuda or x.dtype not in _DTYPES:
            raise TypeError(f"RmsNorm takes fp32, fp16 and bf16 on a GPU, not {x.dtype} on {x.device}.")
        if self.weight.dtype != x.dtype or self.weight.shape != x.shape[-1:]:
            raise TypeError(
                f"RmsNorm: x is {x.dtype} {tuple(x.shape)} and the weight {self.weight.dtype} "
                f"{tuple(self.weight.shape)}; types and the last dimension should be the same.")
        # In fp32 both orders are the same, and the weight costs no pass of its own.
        llama_order = self.cast_order == "llama" and x.dtype != torch.float32
        return _Function.apply(x, self.weight, self.eps, llama_order)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.eps}, cast_order={self.cast_order}"


def swap(model, kind, cast_order="llama"):
    """Puts an RmsNorm in the place of each `kind` of a model. Returns how many there were."""
    found = [(parent, name) for parent in model.modules()
             for name, child in parent.named_children() if isinstance(child, kind)]
    for parent, name in found:
        setattr(parent, name, RmsNorm.from_module(getattr(parent, name), cast_order))
    return len(found)
