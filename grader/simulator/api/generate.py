#!/usr/bin/env python3
"""Writes cuda.txt: every name of CUDA's headers, and what the simulator makes of it.

    generate.py /usr/local/cuda            writes it anew
    generate.py /usr/local/cuda --check    ends with 1 if it were another one, with 77 if it was
                                           made of another version's headers

The names are those that nvcc knows of: each identifier of the headers below is tried in a
using-declaration, and as a member of the classes that the simulator has. *Simulated* is what the simulator's own headers declare; *accepted* stands in
ACCEPTED below; the rest is refused, for the reason of the first pattern in REASONS that fits.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = """
    cuda_runtime.h cuda_runtime_api.h cuda_device_runtime_api.h cuda_profiler_api.h driver_types.h
    surface_types.h texture_types.h channel_descriptor.h device_types.h vector_types.h
    vector_functions.h texture_indirect_functions.h surface_indirect_functions.h
    crt/device_functions.h crt/device_double_functions.h crt/math_functions.h
    crt/common_functions.h crt/sm_70_rt.h crt/sm_80_rt.h crt/sm_90_rt.h crt/sm_100_rt.h
    sm_20_intrinsics.h sm_30_intrinsics.h sm_32_intrinsics.h sm_35_intrinsics.h sm_61_intrinsics.h
    sm_20_atomic_functions.h sm_32_atomic_functions.h sm_60_atomic_functions.h
    device_atomic_functions.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp6.h cuda_fp4.h
    cuda_pipeline_primitives.h cuda_awbarrier_primitives.h""".split()
GROUPS = """
    cooperative_groups.h cooperative_groups/reduce.h cooperative_groups/scan.h
    cooperative_groups/memcpy_async.h cooperative_groups/details/reduce.h
    cooperative_groups/details/scan.h cooperative_groups/details/async.h
    cooperative_groups/details/partitioning.h cooperative_groups/details/coalesced_reduce.h
    cooperative_groups/details/coalesced_scan.h cooperative_groups/details/invoke.h
    cooperative_groups/details/info.h cooperative_groups/details/functional.h""".split()
INCLUDED = ["cuda_runtime.h", "cuda_profiler_api.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
            "cuda_fp6.h", "cuda_fp4.h", "cuda_pipeline_primitives.h", "cuda_awbarrier_primitives.h",
            "cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h",
            "cooperative_groups/memcpy_async.h", "cub/cub.cuh"]
C_HEADERS = ["cassert", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "cmath"]
SIMULATED = ["cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
             "cuda_pipeline_primitives.h", "cooperative_groups.h", "cooperative_groups/reduce.h",
             "cooperative_groups/memcpy_async.h", "cub/cub.cuh"]
# The classes of which the simulator may lack members, and the headers that name these.
CLASSES = [(["driver_types.h"], """
    cudaDeviceProp cudaFuncAttributes cudaLaunchAttribute cudaLaunchAttributeValue
    cudaLaunchConfig_t""".split()), (GROUPS, """
    cooperative_groups::thread_block cooperative_groups::thread_block_tile
    cooperative_groups::coalesced_group cooperative_groups::grid_group
    cooperative_groups::cluster_group""".split())]

# What a header keeps to itself.
INTERNAL = re.compile(r"_[A-Z]|__(nv_(?!bfloat|fp|cvt|half)|nvvm|builtin|cuda|CUDA|NV|cudart|is_|"
                      r"internal|device_builtin|__|surface|texture|[A-Z]{3})|NV_|EXCLUDE|.*_(ptsz|ptds|st)$|"
                      r".*_H__$|CU|.*Reserved\d+$|__pm\d|__cdecl|(__)?(all|any|ballot)$|"
                      r"(?i:.*(deprecated|_impl|_internal|private|detail|helper).*)|(defined|and|or|not|xor|bitand|bitor|compl)(_eq)?$")

# What a class keeps to itself, or to those derived from it.
INTERNAL_MEMBER = re.compile(r"_|id$|reserved|(gg|tg|group)_data|get_(mask|type)|build_mask|"
                             r"thread_group(_base)?$")

# Declared, so that programs compile, and without effect: it would change no result.
ACCEPTED = """
    cudaFuncSetCacheConfig cudaFuncCachePreferNone cudaFuncCachePreferShared cudaFuncCachePreferL1
    cudaFuncCachePreferEqual cudaFuncAttributePreferredSharedMemoryCarveout
    cudaSharedmemCarveoutDefault cudaSharedmemCarveoutMaxL1 cudaSharedmemCarveoutMaxShared
    cudaLaunchAttributePriority
    cudaLaunchAttributePreferredSharedMemoryCarveout cudaLaunchAttributeIgnore
    cudaLaunchAttributeClusterSchedulingPolicyPreference cudaClusterSchedulingPolicy
    cudaClusterSchedulingPolicyDefault cudaClusterSchedulingPolicySpread
    cudaClusterSchedulingPolicyLoadBalancing
    cudaTriggerProgrammaticLaunchCompletion
    cudaEventBlockingSync cudaEventDisableTiming __nanosleep
    __ldca __ldcg __ldcs __ldcv __ldlu __stwb __stcg __stcs __stwt""".split()

REASONS = [  # why it is refused: the pattern of its name
    ("CUDA graphs", r"cuda\w*Graph(?!ics)|cuda\w*Captur|cudaUserObject|cudaDeviceGraph"),
    ("graphics and other devices' memory", r"cudaGraphics|cuda\w*(External|Ipc|Egl|NvSci|Win32|D3D|Vk)"),
    ("textures and surfaces", r"cuda\w*([Tt]ex|[Ss]urf|Array|Mipmap|ChannelFormat|createChannel|Cubemap|"
     r"AddressMode|FilterMode|ReadMode|BoundaryMode|ReadNormalized|ResourceDesc|ResourceType|ResView|"
     r"ResourceView|FormatMode)|tex|surf|cudaCreateChannelDesc"),
    ("thread block clusters", r"(?i:.*cluster|.*dsmem|__cvta_cluster)"),
    ("cooperative launches", r"cuda\w*(Cooperative|MultiDevice)"),
    ("memory pools", r"cuda\w*(MemPool|FromPool|MemHandle|MemAllocation|MemLocation|MemAccess)"),
    ("several devices", r"cuda\w*(Peer|P2P|ChooseDevice|ValidDevices|PCIBusId|InitDevice|TexturePitch|"
     r"DeviceFlags|DeviceSchedule|DeviceBlockingSync|DeviceMapHost|DeviceLmem|DeviceMask|Gpu|GPU)"),
    ("functions that the host calls back", r"cuda\w*(HostFn|HostFunc|Callback|Notification)|cudaAsync"),
    ("kernels from a library", r"cuda\w*(Librar|GetKernel|Kernel_t|KernelSet|EntryPoint|DriverEntry|"
     r"ExportTable|FuncBySymbol|FuncGetName|FuncGetParam|FuncGetModule|Jit|ModuleLoad)"),
    ("managed memory's hints", r"cuda\w*(Advi|Prefetch|MemRange|Discard|Managed|Global|AttachHost|AttachSingle)"),
    ("memory with a pitch, and copies in planes", r"cuda\w*(2D|3D|Pitch|Extent|cudaPos|make_cuda)|cudaPos|make_cuda"),
    ("batches of copies", r"cuda\w*(Batch|MemcpySrc|MemcpyFlag|MemcpyAttributes|OperandType|Offset3D)"),
    ("page-locked memory that is mapped", r"cuda\w*(HostRegister|HostUnregister|HostGet|HostAlloc|HostNode)"),
    ("green contexts", r"cuda\w*(Execution|Ctx|DevResource|DevSm|DevWork|GreenC|SmResource|Workqueue)"),
    ("limits of the device", r"cuda\w*(Limit|SharedMemConfig|SharedMemBank|CacheConfig|FlushGPU)"),
    ("logs, profiling and coredumps", r"cuda\w*(Log|Profiler|Coredump|Checkpoint)"),
    ("CUDA's dynamic parallelism", r"cuda(CG|GetParameterBuffer|LaunchDevice|StreamFire|StreamTail)"),
    ("the list of what atomics a device has", r"cudaAtomic"),
    ("a hint for caches", r"cuda(Access|CtxReset)"),
    ("an error that no call of the simulator returns", r"cudaError"),
    ("a property that the simulator's device does not have", r"cuda(DevAttr|ComputeMode|Device[A-Z])"),
    ("an attribute of kernels or launches", r"cuda(Launch|Func|Kernel)"),
    ("a further function of streams", r"cuda(Stream|Sync|Synchroniz|CpuDevice|InvalidDevice)"),
    ("a further function of events", r"cudaEvent"),
    ("a further function of memory", r"cudaMem|cudaPointer|cudaHost|cudaGetSymbol"),
    ("a further function of the runtime library", r"cuda"),
    ("asynchronous barriers, mbarrier", r"__mbarrier|awbarrier|__pipeline_arrive_on"),
    ("floating point of 6 and 4 bits, and e8m0", r"__nv_|__NV|__half_?raw"),
    ("integers side by side in a word", r"__v[a-z]+[0-9us]*$|__vi"),
    ("dot products of bytes", r"__dp[24]a"),
    ("vectors of 32 bytes", r".*_(16|32)a$|.*4_(16|32)a"),
    ("atomics of 128 bits", r"__u128|__nv_atomic"),
    ("address spaces", r"__is|__cvta"),
    ("a part of the CUB library that the simulator does not have", r"cub::"),
    ("a group or an operation that the simulator does not have", r"cooperative_groups::"),
    ("rounding of doubles other than to the nearest", r"__d|__fma_|__u?ll2double"),
    ("mathematics that the simulator does not have", r"[a-z]"),
    ("an intrinsic that the simulator does not have", r""),
]

HEADER_REASONS = [  # of headers that the simulator does not have; folders end in *
    ("a part of the CUB library that the simulator does not have", r"cub/"),
    ("the Thrust library", r"thrust/"),
    ("a part of libcu++, CUDA's C++ library, that the simulator does not have", r"(cuda|nv)/"),
    ("a library of CUDA's", r"cu(blas|sparse|solver|fft|rand|dnn|dalibxt)|nccl|nvJit|nvblas|nvrtc|nvtx|nvvm"),
    ("the driver's own functions", r"cuda\.h$|cudaTypedefs"),
    ("graphics", r"cuda_?(EGL|GL|VDPAU|egl|gl|vdpau)"),
    ("asynchronous copies and barriers", r"cuda_(pipeline|awbarrier)|.*memcpy_async"),
    ("tensor cores", r"mma|crt/mma"),
    ("floating point of 6 and 4 bits, and e8m0", r"cuda_fp[64]"),
    ("profiling", r"cupti|nvperf|cudaProfiler|cuda_profiler"),
    ("a header that the simulator does not have", r""),
]

# Nobody has them any more: what to write in their place.
REPLACED = {
    "is gone from GPUs since 2017: write it with _sync at the end of its name, and the mask of the "
    "lanes that take part, 0xffffffff for all, as first argument":
        "__all __any __ballot __shfl __shfl_down __shfl_up __shfl_xor".split(),
    "is gone since CUDA 13: ask cudaDeviceGetAttribute(), which has an attribute for it":
        ["cudaDeviceProp::" + name for name in
         "clockRate computeMode deviceOverlap kernelExecTimeoutEnabled memoryClockRate "
         "singleToDoublePrecisionPerfRatio".split()],
}


def names_in(toolkit, headers):
    names = set()
    for header in headers:
        path = toolkit / "include" / header
        if path.exists():
            text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(errors="replace"), flags=re.S)
            names |= set(re.findall(r"\b[A-Za-z_]\w*", text))
    return {name for name in names if not INTERNAL.match(name)}


def use(name):
    """Three lines that are right where there is this name."""
    scope, own = name.rsplit("::", 1) if "::" in name else ("", name)
    trial = "use_" + re.sub(r"\W", "_", name)
    if scope == "cudaLaunchAttributeValue":  # a union
        return "\n\nusing %s = decltype(::%s);" % (trial, name)
    if any(scope in classes for headers, classes in CLASSES):
        scope = scope.replace("_tile", "_tile<32>")
        return "\n\nstruct %s : ::%s { using ::%s::%s; };" % (trial, scope, scope, own)
    return "#ifndef %s\nusing %s::%s;\n#endif" % (own, scope, own)


def collectives_in(toolkit):
    """The classes of CUB's headers, which CUDA 13 keeps in a folder of their own."""
    names = set()
    for folder in "include/cccl/cub", "include/cub":
        for header in (toolkit / folder).glob("*/*.cuh"):
            found = re.findall(r"^(?:class|struct) ((?:Block|Warp|Device)[A-Z]\w*)", header.read_text(),
                               flags=re.M)
            names |= {"cub::" + name for name in found}
    return names


def declared(names, includes, command, suffix):
    """Those of `names` that may be used after these #includes."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("names" + suffix)
        listed = sorted(names)
        lines = ["#include <%s>" % header for header in includes] + ["namespace trial {"]
        first = len(lines) + 1
        for name in listed:
            lines.append(use(name))
        text = "\n".join(lines) + "\n}\n"
        source.write_text(text)
        result = subprocess.run(command + [str(source)], capture_output=True, text=True, cwd=folder)
        failed = set()
        for match in re.finditer(r"names\w*\.\w+[:(](\d+)\D[^\n]*error", result.stdout + result.stderr):
            failed.add((int(match[1]) - first) // 3)
        return {name for i, name in enumerate(listed) if i not in failed}


def headers_of(toolkit):
    """What a program may include; a folder of many headers is one entry."""
    include = toolkit / "include"
    headers = {path.name for path in include.glob("*.h")
               if not re.match("generated_|cudnn|nccl", path.name)} | {"cudnn.h", "nccl.h"}
    headers |= {"cooperative_groups/" + path.name for path in include.glob("cooperative_groups/*.h")}
    return headers | {"cub/*", "thrust/*", "cuda/*", "nv/*"}


def headers_of_simulator(include):
    return {str(path.relative_to(include)) for path in include.rglob("*")
            if path.is_file() and "#error" not in path.read_text()}


def reason(name):
    return next(text for text, pattern in REASONS if re.match(pattern, name))


def main():
    toolkit = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).resolve().parent
    version = re.search(r"release (\S+),", subprocess.run(
        [toolkit / "bin/nvcc", "--version"], capture_output=True, text=True).stdout)[1]
    candidates = names_in(toolkit, HEADERS)
    candidates |= {"cooperative_groups::" + name for name in names_in(toolkit, GROUPS)
                   if not name.startswith("_")}
    for headers, classes in CLASSES:
        members = {name for name in names_in(toolkit, headers) if not INTERNAL_MEMBER.match(name)}
        candidates |= {"%s::%s" % (one, name) for one in classes for name in members
                       if not one.endswith(name)}
    candidates |= collectives_in(toolkit)
    nvcc = [str(toolkit / "bin/nvcc"), "-arch=sm_90", "-std=c++17", "-w", "-ptx", "-o", "names.ptx",
            "-Xcudafe", "--error_limit=100000"]
    candidates -= declared(candidates, C_HEADERS, ["g++", "-std=c++17", "-fsyntax-only", "-w"], ".cpp")
    names = declared(candidates, INCLUDED, nvcc, ".cu")
    simulated = declared(names, SIMULATED, ["g++", "-std=c++17", "-fsyntax-only", "-w", "-isystem",
                                            str(here.parent / "include")], ".cpp")
    sections = {"simulated": sorted(simulated - set(ACCEPTED)),
                "accepted without effect": sorted(simulated & set(ACCEPTED))}
    for name in sorted(names - simulated):
        sections.setdefault("refused: " + reason(name), []).append(name)
    for header in headers_of(toolkit) - headers_of_simulator(here.parent / "include"):
        text = next(text for text, pattern in HEADER_REASONS if re.match(pattern, header))
        sections.setdefault("refused: " + text, []).append(header)
    for text, listed in REPLACED.items():
        sections["replaced: " + text] = listed
    head = ("# What the simulator makes of each name in the headers of CUDA %s. Written by "
            "generate.py.\n" % version)
    table = head + "".join("\n== %s\n%s\n" % (title, "\n".join(sorted(listed)))
                           for title, listed in sorted(sections.items()))
    if "--check" in sys.argv:
        written = (here / "cuda.txt").read_text()
        sys.exit(0 if written == table else 1 if written.startswith(head) else 77)
    (here / "cuda.txt").write_text(table)


main()
