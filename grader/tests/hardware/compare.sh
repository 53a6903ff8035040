#!/bin/sh
# Counts the traffic of every solution, every naive version and the micro-kernels twice: in the
# simulator, and with the counters of an NVIDIA GPU (Nsight Compute's `ncu`, with the right to read
# them).
#
#   grader/tests/hardware/compare.sh BUILD RESULT
#
# BUILD is a build folder made on this machine; RESULT becomes a folder with the raw data, and with
# data.json, from which docs/simulator_tables.md takes its tables
# (`BUILD/bin/compare table data.json`). A run that was stopped goes on where it was.
# ONLY, a regular expression, leaves out the other subjects, whose names are such as
# "rmsnorm/forward, solution" and "micro-kernels".
set -eu
source=$(cd "$(dirname "$0")/../../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
result=$(cd "$2" && pwd)

global=l1tex__t
metrics=dram__bytes_read.sum,dram__bytes_write.sum
for operation in ld st atom red; do
  metrics=$metrics,${global}_requests_pipe_lsu_mem_global_op_$operation.sum
  metrics=$metrics,${global}_sectors_pipe_lsu_mem_global_op_$operation.sum
done
for operation in ld st; do
  metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$operation.sum
done
# Bulk copies, and shared memory of other blocks: from Hopper on.
metrics=$metrics,l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum
metrics=$metrics,l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum
metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_dshared.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_dshared.sum

# subject FOLDER NAME: begins one, if it is asked for; its workers and requests follow.
subject() {
  printf '%s\n' "$2" | grep -qE "${ONLY:-}" || return 1
  mkdir -p "$result/$1"
  printf '%s\n' "$2" > "$result/$1/name"
  rm -f "$result/$1/calls"
}

# exercise FOLDER ID FILE VERSION: requests, and later workers, of one implementation.
exercise() {
  folder=$1
  id=$2
  subject "$folder" "$id, $4" || return 0
  rm -f "$result/$folder"/*.request
  for device in cpu gpu; do
    echo "$3 $result/$folder/$device --exercise $id --device $device" >> "$result/builds"
  done
  for shape in "64 4096 fp32" "33 1024 fp16" "4096 4096 fp32"; do
    set -- $shape
    for device in cpu gpu; do
      "$build/bin/grade-${id%/*}" --exercise "$id" --device $device --seed 1 \
        --request "$result/$folder/$device.request" --rows "$1" --cols "$2" --dtype "$3"
    done
    echo "$1 x $2 $3" >> "$result/$folder/calls"
  done
}

: > "$result/builds"
for group in micro micro_fast; do
  subject "0_$group" "micro-kernels$(echo "$group" | sed -n 's/micro_fast/ of fast kernels/p')" ||
    continue
  for device in cpu gpu; do
    cp "$build/bin/${group}_worker_$device" "$result/0_$group/$device"
    "$build/bin/micro_requests" $device "$result/0_$group/$device.request" \
      $(echo "$group" | sed -n 's/micro_//p') > "$result/0_$group/calls"
  done
done
for folder in "$source"/solutions/*/; do
  chapter=$(basename "$folder" | sed 's/^[0-9]*_//')
  for file in "$folder"*.cu; do
    name=$(basename "$file" .cu)
    exercise "${chapter}_${name}_1" "$chapter/$name" "$file" solution
    naive=$source/grader/chapters/$chapter/naive.cu
    exercise "${chapter}_${name}_2" "$chapter/$name" "$naive" naive
  done
done
xargs -P "$(nproc)" -L 1 "$build/onepass" build < "$result/builds"

{
  date -u +%Y-%m-%d
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  nvcc --version | grep release
} > "$result/about"

cd "$result"
ls -d */ | xargs -P "$(nproc)" -I '{}' sh -c \
  'cd {} && { [ -e cpu.done ] || { ./cpu 3< cpu.request 4> cpu.reply && touch cpu.done; }; }'
for subject in */; do
  [ ! -e "$subject/gpu.done" ] || continue
  # The worker fills tensors by a kernel of its own.
  (cd "$subject" && ncu --clock-control none --kernel-name 'regex:^(?!hash_fill_kernel)' \
    --print-units base --page raw --csv --log-file gpu.csv --metrics "$metrics" \
    ./gpu 3< gpu.request 4> gpu.reply && touch gpu.done)
done
"$build/bin/compare" collect "$result" > "$result/data.json"
"$build/bin/compare" table "$result/data.json"
