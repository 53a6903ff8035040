// What holds for every function of an exercise, unless the function says otherwise. Each chapter's
// header adds its formulas and shapes.
//
// Launchers. A function runs on the host: it gets raw device pointers, launches kernels on `stream`
// and returns.
//   stream     All work goes on `stream`: kernels, copies, fills and allocations
//   (cudaMemsetAsync(),
//              not cudaMemset()). No second stream, no graphs, no cudaLaunchHostFunc().
//   launches   As many as you like, of any kind: <<<...>>>, cooperative, clusters, programmatic
//              (early) launches. If the first launch begins early, it waits
//              (cudaGridDependencySynchronize()) before it uses a tensor.
//   waiting    A launcher does not wait for the GPU: no synchronising, no cudaFree().
//   errors     The caller checks cudaGetLastError() afterwards. A launcher does not print, throw or
//              take the error away; cudaPeekAtLastError() leaves it.
//   device     A launcher may query the device, a kernel's attributes and occupancy, and set kernel
//              attributes. If it asks for clusters, it also works on a GPU without them.
//   memory     A call gets what it needs. For more, use cudaMallocAsync() and cudaFreeAsync().
//   state      Nothing is kept for another call: calls may run at the same time on two streams.
//              Only facts about the device may be kept in a static const.
//   results    Kernels compute them; a fill with zeros is the only other way.
//
// Tensors.
//   T          float, __half or __nv_bfloat16
//   pointers   Aligned to their element type only. Not null, unless the function says so. Buffers
//              do not overlap. Inputs are not written.
//   shapes     [rows, cols]: element [r][c] is number r * cols + c. Tensors are dense, but for
//   those
//              with a stride.
//   strides    The distance between two rows (in RoPE two tokens), in elements, at least a row's
//              length. Each tensor has its own.
//   around     Memory before, behind and between the rows belongs to somebody else, perhaps to
//              another tensor of the call, as q and k in one matrix. It is neither read nor
//              written.
//   sizes      Each is an int. Rows, tokens, samples, channels and positions in space: 0 to 2^24;
//              heads: 1 to 1,024. Products of sizes, and row * stride, may be larger than 2^31:
//              compute them in 64 bits, unless a header says that they fit an int.
//   empty      If a size is 0, there is nothing to do: no element is read or written.
//
// Numbers.
//   precision  Convert 16-bit inputs to fp32, compute in fp32, and round each result to its type
//              once, at the end. docs/grading.md, "Bounds", says how far off a result may be.
//   order      Sums may be added in any order, also a different one in each call. Factors may be
//              multiplied in any order and fused with sums. A mean may be subtracted late, as in
//              x * rstd - mean * rstd; not so in a variance, for which each function says what it
//              keeps.
//   range      With finite inputs every step of a formula stays within fp32's range, in whatever
//              order you compute it. A division by 0, as of a row of zeros with eps = 0, may give
//              anything.
//   infinity   and NaN: if the formula makes a result infinite or NaN, yours is one of the two.
//   What
//              does not depend on such an input stays as it is without it. Everything else that
//              depends on it, and saved statistics, may be anything.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
