// The micro-kernels of micro.cu and micro_fast.cu by name: each shows the two devices one pattern
// of accesses.
#pragma once

// clang-format off
#define ONEPASS_MICRO_KERNELS(X) \
  X(contiguous) X(reversed) X(permuted) X(misaligned) X(strided_2) X(strided_32) \
  X(broadcast) X(bytes_1) X(bytes_2) X(bytes_8) X(bytes_16) X(own_eight) X(tail) \
  X(odd_lanes) X(divergent_loop) X(divergent_unrolled) X(divergent_nested) X(long_loop) \
  X(one_lane) X(half_warps) X(ragged_rows) X(read_modify_write) X(strided_store) \
  X(kept_in_register) X(atomic_own) X(atomic_pairs) X(atomic_eight) X(atomic_same) \
  X(atomic_strided) X(atomic_answered) X(tile_padded) X(tile_unpadded) X(shared_stride_2) \
  X(shared_bytes_2) X(shared_bytes_8) X(shared_bytes_16) X(shared_broadcast_8) \
  X(shared_pairs_8) X(shared_halves_8) X(shared_broadcast_16) X(shared_fours_16) \
  X(shared_eights_16) X(shared_pairs_16) X(shared_few_16) X(shared_twos_8) \
  X(shared_twos_16) X(shared_store_few_8) X(shared_store_few_16) X(shared_few_8) \
  X(shared_stride_2_bytes_8) X(shared_tree) X(big_shared) X(big_shared_beside_loads) \
  X(big_copy)

#define ONEPASS_MICRO_FAST_KERNELS(X) \
  X(async_4) X(async_8) X(async_16) X(async_4_strided) X(async_4_misaligned) \
  X(async_4_to_strided) X(async_16_to_strided) X(async_16_odd_lanes) X(async_16_zeros) \
  X(async_16_all_zeros) X(bulk_in_16) X(bulk_in_1024) X(bulk_in_8192) X(bulk_in_1024_from_16) \
  X(bulk_in_1040) X(bulk_out_1024) X(bulk_out_1024_to_16) X(cluster_read) \
  X(cluster_read_strided) X(cluster_read_broadcast) X(cluster_read_16) \
  X(cluster_read_odd_lanes) X(cluster_read_own) X(cluster_write) X(cluster_write_16) \
  X(cluster_atomic) X(cub_block_sum) X(cub_block_scan) X(cub_transpose) X(object_add) X(hinted)
