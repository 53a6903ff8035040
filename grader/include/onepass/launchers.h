// What holds for every function that an exercise defines, unless the function says otherwise. What
// is a chapter's own, and each function's formula and shapes, stand in the chapter's header.
//
// Launchers. Each function is one: a function of the host that gets raw device pointers, starts
// kernels and returns.
//   stream     All that it gives the GPU to do goes on `stream`: kernels, copies, fills and
//              allocations (cudaMemsetAsync(), not cudaMemset()). A second stream is not used, not
//              even between events that fork and join it; nor are graphs, and functions that the
//              host is called by (cudaLaunchHostFunc()).
//   launches   As many as you like, of any kind: <<<...>>>, cooperative, of clusters, and kernels
//              that begin before the one in front of them has ended (programmatic launches). In
//              front of the first is what the caller has put on the stream, which may use each
//              tensor: if that launch begins early, it waits before it uses one.
//   waiting    It does not wait for the GPU: no synchronising, and no cudaFree(), which waits.
//   errors     The caller asks for the last error afterwards, of a launch or of another call of
//              CUDA's. So a launcher need not, and neither prints nor throws. (cudaGetLastError()
//              would take the error away from the caller; cudaPeekAtLastError() leaves it.)
//   asking     It may ask about the device, a kernel's attributes and its occupancy, and set
//              attributes: cudaDeviceGetAttribute(), cudaFuncSetAttribute() and their kin. Who asks
//              what this GPU has, clusters or so much shared memory, is right on those with less as
//              well, from compute capability 7.5 on. Who does not ask has written for his own.
//   memory     What a call needs comes with its arguments. Who wants more takes it with
//              cudaMallocAsync() and gives it back with cudaFreeAsync(). (cudaMalloc() is of little
//              use: what gives its memory back waits.) If there is none to be had, return: the
//              caller finds the error, and that call has failed.
//   state      Nothing is kept for another call, neither by address nor in static or __device__
//              variables: calls on two streams may run at the same time. An exception: all calls
//              are on one device, so what it answers (how many multiprocessors it has, say), or
//              that a kernel's attribute is set, may stay in a static const.
//   results    Kernels compute them. No result is a copy from the host, nor a fill, unless it is a
//              fill with zeros.
//
// Tensors.
//   T          float, __half or __nv_bfloat16
//   pointers   Aligned to their element type, to nothing more. None is null (that of a tensor
//              without elements neither), unless the function says that it may be. No two buffers
//              overlap, two inputs neither. Inputs are not written to.
//   shapes     [rows, cols]: element [r][c] is number r * cols + c. All tensors are dense like
//              that, but for those with a stride.
//   strides    How far the starts of two rows (in RoPE of two tokens) are apart, in elements: at
//              least as many as a row has. Each tensor has a stride of its own.
//   around     What lies before a tensor's first element, behind its last, and between the end of
//              one row and the start of the next belongs to somebody else. It is neither read nor
//              written, not even to fill an access of 16 bytes. It may belong to another tensor of
//              the same call: those with strides may be columns of one matrix, as q and k of a
//              fused one, each with a stride of its own even there.
//   sizes      Each is an int, up to 2^31 - 1 where no other limit is given. (A grid has that many
//              blocks in x, and 65,535 in y and z.) What is made of sizes (r * stride, rows * cols,
//              rows rounded up, the number of a row plus that of blocks) needs 64 bits, unless it
//              is said to fit an int.
//   none       Where a size may be 0, that is a call with nothing to do: no element is read or
//              written.
//
// Numbers.
//   precision  A result has the digits that fp32 gives: 16-bit inputs are converted first, and a
//              result is rounded to its type once, at the very end. No step before it is rounded
//              to T, but where a formula says T(...). docs/grading.md, "Bounds", says how far off
//              results may be.
//   order      Terms may be added up in any order, and in another one at each call, as by atomics:
//              then the last digits differ. Factors may be multiplied first (rstd * weight),
//              products and sums fused, and anything may be more precise than fp32. A mean may
//              be taken off late, as in x * rstd - mean * rstd, or mean * (sum of wdy) off the sum
//              of wdy * x: where it is large, that leaves as many digits as x has beside it. Not so
//              in a variance, for which each function says what it keeps.
//   range      Finite inputs keep all steps of a formula within fp32's range, however they are put
//              together: squares, a sum before it is divided, weight * dy * x before or after it is
//              multiplied by rstd, rstd^3. Where the formula divides by 0, as in a row of zeros
//              with an eps of 0, the result is left open.
//   infinity   and NaN in an input: what the formula makes infinite or NaN in IEEE arithmetic is
//              one of them, either. What does not depend on such an element, as in other rows, is
//              what it is without. What else depends on it is left open, and so are the statistics
//              that are saved (mean, rstd, running ones), if they depend on it.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
