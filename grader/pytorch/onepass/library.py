"""libonepass.so through ctypes: its functions' arguments are read from onepass/library.h."""

import ctypes
import functools
import os
import pathlib
import re

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = ROOT / "grader/include/onepass/library.h"
DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
NOT_PASSED = -1

# Which exercises have the function, the fast one first.
EXERCISES = {
    "onepass_rmsnorm_forward": ("rmsnorm/forward_fast", "rmsnorm/wide_rows", "rmsnorm/forward"),
    "onepass_rmsnorm_forward_llama": ("rmsnorm/forward_fast", "rmsnorm/forward"),
    "onepass_rmsnorm_backward": ("rmsnorm/backward_fast", "rmsnorm/backward"),
    "onepass_rmsnorm_residual": ("rmsnorm/residual",),
    "onepass_rmsnorm_residual_llama": ("rmsnorm/residual",),
    "onepass_layernorm_forward": ("layernorm/forward_fast", "layernorm/forward"),
    "onepass_layernorm_backward": (
        "layernorm/backward_fast", "layernorm/backward_fused", "layernorm/backward_dx",
        "layernorm/backward_dweight_dbias"),
    "onepass_rope": ("rope/fast", "rope/half_split"),
    "onepass_rope_qk_norm": ("rope/qk_norm",),
}


class NotPassed(RuntimeError):
    """The library was made before the exercise passed."""


def path():
    return pathlib.Path(os.environ.get("ONEPASS_LIBRARY",
                                       ROOT / "build/library/exercises/libonepass.so"))


def _type(declared):
    """Of an argument, "const float* rstd", or of a result, "int64_t"."""
    if "char*" in declared:
        return ctypes.c_char_p
    if "*" in declared or "OnepassStream" in declared:
        return ctypes.c_void_p
    return {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "float": ctypes.c_float}[
        declared.split()[0]]


@functools.cache
def _load():
    if not path().exists():
        raise RuntimeError(f"There is no {path()}. Make it: build/onepass library, or "
                           "build/onepass library solutions; ONEPASS_LIBRARY names another file.")
    library = ctypes.CDLL(str(path()))
    text = HEADER.read_text(encoding="utf-8")
    version = int(re.search(r"ONEPASS_LIBRARY_VERSION (\d+)", text)[1])
    if library.onepass_library_version() != version:
        raise RuntimeError(f"{path()} is of another version: make it anew.")
    for result, name, arguments in re.findall(
            r"ONEPASS_PUBLIC ([\w ]+\*?)\s*(onepass_\w+)\(([^)]*)\);", text):
        function = getattr(library, name)
        function.restype = _type(result)
        function.argtypes = [_type(one.strip()) for one in arguments.split(",") if one != "void"]
    return library


def has(exercise):
    return path().exists() and _load().onepass_has(exercise.encode()) == 1


def says(exercise):
    """"passed", or why the library does not have it."""
    return _load().onepass_says(exercise.encode()).decode() if path().exists() else "no library"


def size(name, *sizes):
    """Of scratch, in fp32 numbers."""
    return getattr(_load(), f"onepass_{name}_scratch_size")(*sizes)


def call(name, tensor, *arguments):
    """Calls a function on the device and the current stream of `tensor`. Tensors are passed by their
    address, None is null."""
    addresses = [one.data_ptr() if isinstance(one, torch.Tensor) else one for one in arguments]
    with torch.cuda.device(tensor.device):
        error = getattr(_load(), name)(
            DTYPES[tensor.dtype], *addresses, torch.cuda.current_stream().cuda_stream)
    if error == NOT_PASSED:
        told = "; ".join(f"{exercise}: {says(exercise)}" for exercise in EXERCISES.get(name, ()))
        raise NotPassed(f"{name}() is not in {path()}, for want of an exercise. {told}")
    if error != 0:
        raise RuntimeError(f"{name}(): {_load().onepass_error_text(error).decode()}")
