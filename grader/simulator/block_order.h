// A header of its own: the protocol between the processes of the grader needs no more.
#pragma once

namespace simulator {

/// In which order the blocks of a launch run: their numbers rising, x fastest; falling; or shuffled
/// by a seed. CUDA promises none.
enum class BlockOrder { rising, falling, shuffled };

}  // namespace simulator
