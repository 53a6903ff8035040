#!/usr/bin/env python3
"""The library's functions beside quack, Liger (Triton and CuTe), PyTorch and torch.compile, and a copy of
as many bytes: the same tensors, the same run, in turns. Needs a GPU; a library that is not installed is
left out.

    build/onepass library solutions
    export ONEPASS_LIBRARY=build/library/solutions/libonepass.so
    python3 grader/tests/pytorch/peers.py                  in per cent of a copy
    python3 grader/tests/pytorch/peers.py --off x,weight   each of these tensors one element off
    python3 grader/tests/pytorch/peers.py --small          few rows, in microseconds
    python3 grader/tests/pytorch/peers.py --steps          One Pass alone, along widths

Each result is compared with fp64 first, and who is wrong is not timed. Of each call: the L2 cache is
flushed by a read of 512 MB, events stand around it, and the median of 25 counts. The bytes are those
that must move: each tensor read or written once. One line of JSON per function and shape goes to
--output as it comes; docs/figures/peers.py makes the tables and the figures of docs/measured.md of it.
"""
import argparse
import datetime
import importlib.metadata
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import torch

import peer_cases
from peer_cases import CASES, PROVIDERS, Tensors

NORMS = ("16384x4096:bf16,8192x16384:bf16,4096x65536:bf16,16384x4097:bf16,4096x8192:fp32,65536x1024:bf16,"
         "32768x8192:bf16,4096x32768:bf16,16384x5120:fp16,32768x2048:bf16,2048x32768:fp32,8192x4097:fp32,"
         "12288x6144:bf16,262144x256:bf16")
WIDE = ",1024x131072:bf16,512x262144:bf16"  # RMSNorm's forward pass alone takes them
ROPES = ("32768x32x128x128:bf16,8192x32x128x128:bf16,8192x32x96x96:bf16,8192x32x80x80:bf16,"
         "8192x32x128x64:bf16,8192x32x128x128:fp32")  # tokens x heads x head_dim x rotary_dim
# By how many numbers a shape has: rows x cols, batch x channels x space, and as above.
SHAPES = {2: NORMS, 3: "32x256x3136:fp16,32x512x784:fp32", 4: ROPES}
OFF = {2: "16384x4096:bf16,16384x4097:bf16", 3: "", 4: "8192x32x128x128:bf16"}
SMALL = {2: "128x4096:bf16,512x1024:bf16,256x8192:bf16,1024x4096:bf16", 3: "", 4: "128x2x128x128:bf16"}
WIDTHS = (*range(512, 16384, 64), *range(16384, 65537, 512))
STEPS = {2: ",".join(f"{2**26 // cols}x{cols}:bf16" for cols in WIDTHS), 3: "", 4: ""}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
TOLERANCES = {torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def about():
    def version(package):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                            capture_output=True, text=True, check=False).stdout.split()
    return {"device": torch.cuda.get_device_name(), "driver": driver[0] if driver else None,
            "cuda": torch.version.cuda, "torch": torch.__version__, "quack": version("quack-kernels"),
            "liger": version("liger-kernel"), "date": datetime.date.today().isoformat()}


def is_right(results, exact):
    """Is each row near: by its norm, and each element by the largest of its row?"""
    for got, want in zip(results, exact, strict=True):
        tolerance = TOLERANCES[got.dtype]
        error = got.double().sub_(want).abs_()
        if not (torch.all(error.norm(dim=-1) <= tolerance * want.norm(dim=-1)) and
                torch.all(error.amax(-1) <= 8 * tolerance * want.abs().amax(-1))):
            return False
    return True


def right_ones(case, providers):
    """The calls whose results are right, and why the others are left out."""
    calls, left_out, exact = {}, {}, case.exact()
    for provider in providers:
        if provider not in case.calls:
            continue
        try:
            case.before()
            if is_right(case.calls[provider](), exact):
                calls[provider] = case.calls[provider]
            else:
                left_out[provider] = "wrong results"
        except Exception as error:  # pylint: disable=broad-except
            left_out[provider] = " ".join(repr(error).split())[:200]
    return calls, left_out


def times_of(calls, flush, count):
    """The median of each, in ms. Each round begins with another: the GPU has just been idle then."""
    events = {name: [] for name in calls}
    names = list(calls)
    for turn in range(-3, count):  # the first three warm up
        names.append(names.pop(0))
        for name in names:
            flush()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            calls[name]()
            end.record()
            if turn >= 0:
                events[name].append((begin, end))
        torch.cuda.synchronize()
    return {name: statistics.median(begin.elapsed_time(end) for begin, end in pairs)
            for name, pairs in events.items()}


def measured(job, arguments, flush):
    """A job's line of the output, None where the tensor that is to be off is not one of its."""
    name, shape, dtype, off = job
    torch._dynamo.reset()  # each shape is compiled by itself
    tensors = Tensors(DTYPES[dtype], off)
    case = CASES[name](tensors, *(int(size) for size in shape.split("x")))
    if off and off not in tensors.names:
        return None
    calls, left_out = right_ones(case, arguments.providers)
    source = torch.empty(case.bytes // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    calls["copy"] = lambda: target.copy_(source)
    times = times_of(calls, flush, arguments.calls) if arguments.calls else {}
    return {"table": arguments.table, "function": name, "shape": shape, "dtype": dtype, "off": off,
            "bytes": case.bytes, "ms": {one: round(ms, 5) for one, ms in times.items()},
            "left_out": left_out}


def show(line):
    what = f"{line['function']} {line['shape']} {line['dtype']}" + (f" {line['off']} off" if line["off"] else "")
    ms = line["ms"]
    if line["table"] == "small":
        told = [f"{one} {1000 * ms[one]:.1f} us" for one in ms]
    else:
        told = [f"{one} {100 * ms['copy'] / ms[one]:.0f}" for one in ms if one != "copy"]
        told += [f"copy {line['bytes'] / ms['copy'] * 1e-6:.0f} GB/s"] if ms else []
    print(f"{what}: {', '.join(told)}", *(f"\n    no {one}: {why}" for one, why in line["left_out"].items()),
          flush=True)


def jobs_of(arguments):
    """Function, shape, type and the tensor that is off, each function's first shape first."""
    given = [one.strip() for one in arguments.shapes.split(",")] if arguments.shapes else None
    defaults = {"off": OFF, "small": SMALL, "steps": STEPS}.get(arguments.table, SHAPES)
    ranked = []
    for name in arguments.functions:
        numbers = peer_cases.NUMBERS[name]
        wide = WIDE if name == "rmsnorm_forward" and defaults is SHAPES else ""
        shapes = given or [one for one in (defaults[numbers] + wide).split(",") if one]
        shapes = [one for one in shapes if one.count("x") == numbers - 1]
        ranked += [(rank, name, *shape.split(":"), off) for rank, shape in enumerate(shapes)
                   for off in arguments.off]
    return [job[1:] for job in sorted(ranked, key=lambda one: one[0])]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--functions", default=",".join(CASES), help="of these: %(default)s")
    parser.add_argument("--providers", help="of these: " + ", ".join(PROVIDERS))
    parser.add_argument("--shapes", help="such as 16384x4096:bf16, and of RoPE tokens x heads x head_dim x "
                        "rotary_dim, of BatchNorm batch x channels x space; several with commas")
    parser.add_argument("--off", default="", help="tensors of which one at a time is one element off")
    parser.add_argument("--small", action="store_true", help="few rows, in microseconds")
    parser.add_argument("--steps", action="store_true", help="along widths, One Pass alone if not said")
    parser.add_argument("--calls", type=int, default=25, help="0: check the results, and compile, only")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after these")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("build/peers.jsonl"),
                        help="is appended to; %(default)s")
    arguments = parser.parse_args()
    arguments.table = ("off" if arguments.off else "small" if arguments.small else
                       "steps" if arguments.steps else "large")
    arguments.off = arguments.off.split(",") if arguments.off else [None]
    arguments.functions = arguments.functions.split(",")
    arguments.providers = (arguments.providers.split(",") if arguments.providers else
                           ["One Pass"] if arguments.steps else list(PROVIDERS))
    for given, known in ((arguments.functions, CASES), (arguments.providers, PROVIDERS)):
        for one in given:
            if one not in known:
                parser.error(f"there is no {one}, but {', '.join(known)}")
    return arguments


def main():
    arguments, begin = options(), time.monotonic()
    jobs = jobs_of(arguments)
    arguments.providers = [one for one in arguments.providers if peer_cases.is_there(one)]
    torch.manual_seed(0)
    memory = torch.zeros(2**27, device="cuda")  # 512 MB
    flushes = 3 if arguments.small else 1       # while they run, the call is queued

    def flush():
        for _ in range(flushes):
            memory.sum()

    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("a", encoding="utf-8") as output:
        print(json.dumps({"about": about()}), file=output, flush=True)
        for done, job in enumerate(jobs):
            if time.monotonic() - begin > arguments.seconds:
                print(f"{len(jobs) - done} of {len(jobs)} are left: {arguments.seconds} s are over")
                return 1
            line = measured(job, arguments, flush)
            torch.cuda.empty_cache()
            if line:
                show(line)
                print(json.dumps(line), file=output, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
