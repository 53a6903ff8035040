"""Times PyTorch's own operators beside a report of the grader's, and prints a Markdown table.

    build/onepass grade --submission solutions --device gpu
    python3 timing.py build/report/solutions.json > timing.md

As docs/measuring.md says: events around one call, after a buffer of 256 MB was read, and the median
of 20. GB/s is the least number of bytes that the function can move over that time, the same number
that the grader credits a solution with. What fits in the L2 cache is left out.
"""

import json
import pathlib
import statistics
import sys

import torch
import torch.nn.functional as F

from torch_outputs import DTYPES, turned_interleaved

SAMPLES = 20
WARM_UP = 5
FLUSH_BYTES = 256 * 2**20
EPS = 1e-5
HEAD_DIM = 128  # of RoPE's rows of heads
BATCH = 32      # of batch norm's rows, each a channel of BATCH * space elements

aten = torch.ops.aten


def tensor(dtype, *shape):
    return torch.randn(shape, device="cuda").to(dtype)


# Each function returns what PyTorch calls it, and the call.


def block_sum(rows, cols, dtype):
    x = tensor(dtype, rows, cols)
    return "sum", lambda: x.sum(-1, dtype=torch.float32)


def rmsnorm_forward(rows, cols, dtype):
    x, weight = tensor(dtype, rows, cols), tensor(dtype, cols)
    return "_fused_rms_norm", lambda: aten._fused_rms_norm(x, [cols], weight, EPS)


def rmsnorm_residual(rows, cols, dtype):
    x, residual, weight = tensor(dtype, rows, cols), tensor(dtype, rows, cols), tensor(dtype, cols)
    return ("add, then _fused_rms_norm",
            lambda: aten._fused_rms_norm(x + residual, [cols], weight, EPS))


def rmsnorm_backward(rows, cols, dtype):
    x, dy, weight = tensor(dtype, rows, cols), tensor(dtype, rows, cols), tensor(dtype, cols)
    _, rstd = aten._fused_rms_norm(x, [cols], weight, EPS)
    return ("_fused_rms_norm_backward",
            lambda: aten._fused_rms_norm_backward(dy, x, [cols], rstd, weight, [True, True]))


def layernorm_forward(rows, cols, dtype):
    x, weight, bias = tensor(dtype, rows, cols), tensor(dtype, cols), tensor(dtype, cols)
    return "native_layer_norm", lambda: torch.native_layer_norm(x, [cols], weight, bias, EPS)


def layernorm_backward(dx, sums):
    """The gradients of x, of weight and bias, or of all three."""
    def prepare(rows, cols, dtype):
        x, dy = tensor(dtype, rows, cols), tensor(dtype, rows, cols)
        weight, bias = tensor(dtype, cols), tensor(dtype, cols)
        _, mean, rstd = torch.native_layer_norm(x, [cols], weight, bias, EPS)
        return ("native_layer_norm_backward",
                lambda: aten.native_layer_norm_backward(
                    dy, x, [cols], mean, rstd, weight, bias, [dx, sums, sums]))
    return prepare


def angles(tokens):
    angle = torch.rand(tokens, 1, HEAD_DIM // 2, device="cuda")
    return angle.cos(), angle.sin()


def rope_interleaved(rows, cols, dtype):
    x = tensor(dtype, rows, cols // HEAD_DIM, HEAD_DIM)
    cos, sin = angles(rows)
    return "slices", lambda: turned_interleaved(x, cos, sin)


def rope_half_split(normalised):
    """Of q and of k, which has a quarter of the heads; normalised: each head first."""
    def prepare(rows, cols, dtype):
        heads = cols // HEAD_DIM
        both = [tensor(dtype, rows, count, HEAD_DIM) for count in (heads, heads // 4)]
        weights = [tensor(dtype, HEAD_DIM) for _ in both]
        tables = angles(rows)
        positions = torch.arange(rows, device="cuda", dtype=torch.int32)

        def turned(x, cos, sin):
            first, second = x.chunk(2, dim=-1)
            return (x * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)

        def call():
            cos, sin = (table[positions].repeat(1, 1, 2) for table in tables)
            if not normalised:
                return [turned(x, cos, sin) for x in both]
            return [turned(aten._fused_rms_norm(x, [HEAD_DIM], weight, EPS)[0], cos, sin)
                    for x, weight in zip(both, weights)]

        return "_fused_rms_norm, then slices" if normalised else "slices", call
    return prepare


def batchnorm(training):
    def prepare(rows, cols, dtype):
        x = tensor(dtype, BATCH, rows, cols // BATCH)
        # Of fp32, as cuDNN wants them.
        weight, bias, mean = (tensor(torch.float32, rows) for _ in range(3))
        var = torch.ones_like(mean)
        return "batch_norm", lambda: F.batch_norm(x, mean, var, weight, bias, training, 0.1, EPS)
    return prepare


PREPARE = {
    "rmsnorm/block_sum": block_sum,
    "rmsnorm/forward": rmsnorm_forward,
    "rmsnorm/backward": rmsnorm_backward,
    "rmsnorm/forward_fast": rmsnorm_forward,
    "rmsnorm/residual": rmsnorm_residual,
    "rmsnorm/backward_fast": rmsnorm_backward,
    "rmsnorm/wide_rows": rmsnorm_forward,
    "layernorm/forward": layernorm_forward,
    "layernorm/backward_dx": layernorm_backward(True, False),
    "layernorm/backward_dweight_dbias": layernorm_backward(False, True),
    "layernorm/backward_fused": layernorm_backward(True, True),
    "layernorm/forward_fast": layernorm_forward,
    "layernorm/backward_fast": layernorm_backward(True, True),
    "rope/interleaved": rope_interleaved,
    "rope/backward": rope_interleaved,  # the same with the sign of sin
    "rope/half_split": rope_half_split(False),
    "rope/fast": rope_half_split(False),
    "rope/qk_norm": rope_half_split(True),
    "batchnorm/forward": batchnorm(True),
    "batchnorm/evaluate": batchnorm(False),
    "batchnorm/forward_fast": batchnorm(True),
}


def median_ms(call, flush):
    times = []
    for sample in range(WARM_UP + SAMPLES):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.sum()  # while it runs, the call is queued
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        if sample >= WARM_UP:
            times.append(start.elapsed_time(stop))
    return statistics.median(times)


def table_row(exercise, entry, flush):
    rows, cols, dtype = entry["rows"], entry["cols"], entry["dtype"]
    by, call = PREPARE[exercise](rows, cols, DTYPES[dtype])
    pytorch = entry["bytes"] / median_ms(call, flush) / 1e6
    naive, solution, copy = (entry[who + "_gbs"] for who in ("naive", "student", "copy"))
    figures = (naive, pytorch, solution, copy)
    shown = " | ".join("-" if figure is None else f"{figure:.0f}" for figure in figures)
    percent = f"{100 * solution / copy:.0f} %" if solution and copy else "-"
    return f"| {exercise} | {rows} × {cols} {dtype} | {shown} | {percent} | {by} |"


def main():
    if len(sys.argv) != 2:
        sys.exit("Usage: timing.py REPORT, the JSON of a run of onepass grade on a GPU.")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here: timing.py needs one.")
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    measured = [(exercise["id"], entry) for exercise in report["exercises"]
                for entry in exercise["bandwidth"] if "L2" not in entry["note"]]
    if not measured:
        sys.exit(f"{sys.argv[1]} has no bandwidths: was it graded on a GPU?")
    torch.manual_seed(1)
    flush = torch.zeros(FLUSH_BYTES // 4, device="cuda")
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}.\n")
    print("| exercise | rows × cols, type | naive | PyTorch | solution | copy | of copy "
          "| PyTorch's operator |")
    print("|---|---|---|---|---|---|---|---|")
    with torch.no_grad():
        for exercise, entry in measured:
            print(table_row(exercise, entry, flush), flush=True)


if __name__ == "__main__":
    main()
