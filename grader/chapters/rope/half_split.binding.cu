// Calls rope_half_split of an implementation (exercise 3.3) with what a request names. The types of
// the tables and of the positions are part of the function's name; of the four combinations three
// say all there is to say, and each costs compile time.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T, typename Table, typename Position>
void call_with(const worker::Arguments& arguments) {
  rope_half_split(arguments.buffer<T>("q"), arguments.integer("q_stride"), arguments.buffer<T>("k"),
                  arguments.integer("k_stride"), arguments.buffer<const Position>("positions"),
                  arguments.buffer<const Table>("cos"), arguments.buffer<const Table>("sin"),
                  static_cast<int>(arguments.integer("tokens")),
                  static_cast<int>(arguments.integer("q_heads")),
                  static_cast<int>(arguments.integer("k_heads")),
                  static_cast<int>(arguments.integer("head_dim")),
                  static_cast<int>(arguments.integer("rotary_dim")), arguments.stream());
}

template <typename T>
void call_fp32_tables_int32(const worker::Arguments& arguments) {
  call_with<T, float, int32_t>(arguments);
}

template <typename T>
void call_fp32_tables_int64(const worker::Arguments& arguments) {
  call_with<T, float, int64_t>(arguments);
}

template <typename T>
void call_own_tables_int64(const worker::Arguments& arguments) {
  call_with<T, T, int64_t>(arguments);
}

}  // namespace onepass

ONEPASS_FUNCTIONS(
    ONEPASS_EACH_DTYPE("rope_half_split, fp32 tables, int32", onepass::call_fp32_tables_int32),
    ONEPASS_EACH_DTYPE("rope_half_split, fp32 tables, int64", onepass::call_fp32_tables_int64),
    ONEPASS_EACH_DTYPE("rope_half_split, own tables, int64", onepass::call_own_tables_int64))
