"""Times PyTorch's own operators at the shapes of docs/measuring.md, and prints a Markdown table.

    python3 timing.py

As that page says: events around one call, after a buffer of 256 MB was read, and the median of 20.
GB/s is the least number of bytes that the function can move over that time, the same number that
the grader credits a solution with.
"""

import pathlib
import re
import statistics
import sys

import torch
import torch.nn.functional as F

from torch_outputs import DTYPES, turned_interleaved

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/measuring.md"
SAMPLES = 20
WARM_UP = 5
FLUSH_BYTES = 256 * 2**20
EPS = 1e-5
HEAD_DIM = 128  # of RoPE's rows of heads
BATCH = 32      # of batch norm's rows, each a channel of BATCH * space elements
STATISTIC = 4   # bytes of an fp32 number

aten = torch.ops.aten


def measured_shapes(page):
    """(exercise, rows, cols, dtype) of every line of the page's table, and of the one below it."""
    found = re.findall(r"^\| (?:(\w+/\w+) \| )?(\d+) × (\d+) (fp32|fp16|bf16) \|", page, re.M)
    layernorm = ("forward", "backward_dx", "backward_dweight_dbias", "backward_fused")
    for exercise, rows, cols, dtype in found:
        for name in [exercise] if exercise else [f"layernorm/{name}" for name in layernorm]:
            yield name, int(rows), int(cols), dtype


def tensor(dtype, *shape):
    return torch.randn(shape, device="cuda").to(dtype)


# Each function returns what PyTorch calls it, the call, and the least bytes that it moves.


def block_sum(rows, cols, dtype):
    x = tensor(dtype, rows, cols)
    return "sum", lambda: x.sum(-1, dtype=torch.float32), x.nbytes + rows * STATISTIC


def rmsnorm_forward(rows, cols, dtype):
    x, weight = tensor(dtype, rows, cols), tensor(dtype, cols)
    return ("_fused_rms_norm", lambda: aten._fused_rms_norm(x, [cols], weight, EPS),
            2 * x.nbytes + weight.nbytes + rows * STATISTIC)


def rmsnorm_residual(rows, cols, dtype):
    x, residual, weight = tensor(dtype, rows, cols), tensor(dtype, rows, cols), tensor(dtype, cols)
    return ("add, then _fused_rms_norm",
            lambda: aten._fused_rms_norm(x + residual, [cols], weight, EPS),
            4 * x.nbytes + weight.nbytes + rows * STATISTIC)


def rmsnorm_backward(rows, cols, dtype):
    x, dy, weight = tensor(dtype, rows, cols), tensor(dtype, rows, cols), tensor(dtype, cols)
    _, rstd = aten._fused_rms_norm(x, [cols], weight, EPS)
    return ("_fused_rms_norm_backward",
            lambda: aten._fused_rms_norm_backward(dy, x, [cols], rstd, weight, [True, True]),
            3 * x.nbytes + 2 * weight.nbytes + rows * STATISTIC)


def layernorm_forward(rows, cols, dtype):
    x, weight, bias = tensor(dtype, rows, cols), tensor(dtype, cols), tensor(dtype, cols)
    return ("native_layer_norm", lambda: torch.native_layer_norm(x, [cols], weight, bias, EPS),
            2 * x.nbytes + 2 * weight.nbytes + 2 * rows * STATISTIC)


def layernorm_backward(dx, sums):
    """The gradients of x, of weight and bias, or of all three."""
    def prepare(rows, cols, dtype):
        x, dy = tensor(dtype, rows, cols), tensor(dtype, rows, cols)
        weight, bias = tensor(dtype, cols), tensor(dtype, cols)
        _, mean, rstd = torch.native_layer_norm(x, [cols], weight, bias, EPS)
        least = (2 + dx) * x.nbytes + (dx + 2 * sums) * weight.nbytes + 2 * rows * STATISTIC
        return ("native_layer_norm_backward",
                lambda: aten.native_layer_norm_backward(
                    dy, x, [cols], mean, rstd, weight, bias, [dx, sums, sums]), least)
    return prepare


def angles(tokens):
    angle = torch.rand(tokens, 1, HEAD_DIM // 2, device="cuda")
    return angle.cos(), angle.sin()


def rope_interleaved(rows, cols, dtype):
    x = tensor(dtype, rows, cols // HEAD_DIM, HEAD_DIM)
    cos, sin = angles(rows)
    return ("slices", lambda: turned_interleaved(x, cos, sin),
            2 * x.nbytes + cos.nbytes + sin.nbytes)


def rope_half_split(rows, cols, dtype):
    heads = cols // HEAD_DIM
    q, k = tensor(dtype, rows, heads, HEAD_DIM), tensor(dtype, rows, heads // 4, HEAD_DIM)
    cos, sin = angles(rows)
    positions = torch.arange(rows, device="cuda", dtype=torch.int32)

    def turned(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return (x * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)

    def call():
        both = [table[positions].repeat(1, 1, 2) for table in (cos, sin)]
        return turned(q, *both), turned(k, *both)

    least = 2 * (q.nbytes + k.nbytes) + cos.nbytes + sin.nbytes + positions.nbytes
    return "slices", call, least


def batchnorm(training):
    def prepare(rows, cols, dtype):
        x = tensor(dtype, BATCH, rows, cols // BATCH)
        # Of fp32, as cuDNN wants them; the bytes are those of the contract.
        weight, bias, mean = (tensor(torch.float32, rows) for _ in range(3))
        var = torch.ones_like(mean)
        parameters = 2 * rows * x.element_size()
        statistics_bytes = (6 if training else 2) * rows * STATISTIC
        return ("batch_norm",
                lambda: F.batch_norm(x, mean, var, weight, bias, training, 0.1, EPS),
                2 * x.nbytes + parameters + statistics_bytes)
    return prepare


PREPARE = {
    "rmsnorm/block_sum": block_sum,
    "rmsnorm/forward": rmsnorm_forward,
    "rmsnorm/backward": rmsnorm_backward,
    "rmsnorm/forward_fast": rmsnorm_forward,
    "rmsnorm/residual": rmsnorm_residual,
    "rmsnorm/backward_fast": rmsnorm_backward,
    "layernorm/forward": layernorm_forward,
    "layernorm/backward_dx": layernorm_backward(True, False),
    "layernorm/backward_dweight_dbias": layernorm_backward(False, True),
    "layernorm/backward_fused": layernorm_backward(True, True),
    "layernorm/forward_fast": layernorm_forward,
    "layernorm/backward_fast": layernorm_backward(True, True),
    "rope/interleaved": rope_interleaved,
    "rope/backward": rope_interleaved,  # the same with the sign of sin
    "rope/half_split": rope_half_split,
    "rope/fast": rope_half_split,
    "batchnorm/forward": batchnorm(True),
    "batchnorm/evaluate": batchnorm(False),
    "batchnorm/forward_fast": batchnorm(True),
}


def milliseconds(call, flush):
    """Of SAMPLES calls, in ascending order."""
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
    return sorted(times)


def main():
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here: timing.py needs one.")
    shapes = list(measured_shapes(PAGE.read_text(encoding="utf-8")))
    unknown = {exercise for exercise, *_ in shapes} - PREPARE.keys()
    if not shapes or unknown:
        sys.exit(f"{PAGE} has no table of shapes that timing.py can read {sorted(unknown)}.")
    torch.manual_seed(1)
    flush = torch.zeros(FLUSH_BYTES // 4, device="cuda")
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}.\n")
    print("| exercise | rows × cols, type | PyTorch | GB/s | median µs | fastest µs | slowest µs |")
    print("|---|---|---|---|---|---|---|")
    with torch.no_grad():
        for exercise, rows, cols, dtype in shapes:
            by, call, least = PREPARE[exercise](rows, cols, DTYPES[dtype])
            times = milliseconds(call, flush)
            median = statistics.median(times)
            print(f"| {exercise} | {rows} × {cols} {dtype} | {by} | {least / median / 1e6:.0f} "
                  f"| {1e3 * median:.1f} | {1e3 * times[0]:.1f} | {1e3 * times[-1]:.1f} |",
                  flush=True)


if __name__ == "__main__":
    main()
