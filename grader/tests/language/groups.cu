// cooperative_groups within a block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void groups(float* x, int* i) {
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  cg::grid_group grid = cg::this_grid();
  i[2] = static_cast<int>(grid.thread_rank() + grid.size() + grid.is_valid());
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  float sum = cg::reduce(warp, x[block.thread_rank()], cg::plus<float>());
  sum += tile.shfl_down(sum, 2) + warp.shfl_xor(sum, 1) + warp.shfl(sum, 0);
  i[0] = cg::reduce(tile, i[1], cg::greater<int>());
  i[1] += warp.any(1) + warp.all(0) + static_cast<int>(warp.ballot(1));
  if (warp.thread_rank() == 0) x[warp.meta_group_rank()] = sum + warp.size() + tile.num_threads();
  if (threadIdx.x % 2 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(i, static_cast<int>(active.size()));
    sum = active.shfl(sum, 0);
  }
  warp.sync();
  cg::sync(block);
  block.sync();
  x[block.size()] = sum + block.group_index().x + block.thread_index().x;
}

int main() { groups<<<1, 64>>>(nullptr, nullptr); }
