#!/bin/sh
# Grades and times the versions of a ladder, from the plain kernel to the fastest:
#
#   sh docs/ladder/ladder.sh rmsnorm_backward [build folder]
#
# ROWS, COLS and DTYPE choose the shapes; DEVICE is cpu or gpu, by default the GPU if there is one.
set -eu
ladder=${1:?which ladder: a folder of docs/ladder}
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
build=${2:-$repository/build}
reports=$build/ladder/$ladder
plain=  # where the folder has no version 0 of its own
case $ladder in
  rmsnorm_forward) folder=01_rmsnorm plain=rmsnorm/forward fast=rmsnorm/forward_fast ;;
  rmsnorm_backward) folder=01_rmsnorm plain=rmsnorm/backward fast=rmsnorm/backward_fast ;;
  rmsnorm_residual) folder=01_rmsnorm fast=rmsnorm/residual ;;
  rmsnorm_wide)
    folder=01_rmsnorm fast=rmsnorm/wide_rows
    ROWS=${ROWS:-4096} COLS=${COLS:-65536} ;;
  layernorm_forward) folder=02_layernorm plain=layernorm/forward fast=layernorm/forward_fast ;;
  layernorm_backward) folder=02_layernorm plain=layernorm/backward_fused fast=layernorm/backward_fast ;;
  rope) folder=03_rope plain=rope/half_split fast=rope/fast ;;
  rope_qk_norm) folder=03_rope fast=rope/qk_norm ;;
  batchnorm_forward)
    folder=04_batchnorm plain=batchnorm/forward fast=batchnorm/forward_fast
    ROWS=${ROWS:-256} COLS=${COLS:-100352} DTYPE=${DTYPE:-fp16} ;;
  *) echo "There is no ladder $ladder." >&2; exit 2 ;;
esac
mkdir -p "$reports"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What fails of a version may be its speed: then the grader says that the result is right. On a GPU
# the simulator's word follows a sentence on the GPU's: it may be of a race, too.
stop_if_wrong() {
  awk '/^  [a-z ]+: .*\(TODO/ { check = $0; getline
         if (/^ *On this GPU the result came out right/) getline
         if (!/The result is right/) { print check; print; wrong = 1 } }
       END { exit wrong }' "$1"
}

# time_version NAME SUBMISSION EXERCISE
time_version() {
  echo "== $1"
  "$build/onepass" grade ${DEVICE:+--device "$DEVICE"} --no-nvcc --all --submission "$2" "$3" \
    >"$work/graded" || true
  grep ' of .*[a-z]  ' "$work/graded"
  stop_if_wrong "$work/graded"
  "$build/onepass" measure ${DEVICE:+--device "$DEVICE"} --submission "$2" --report "$reports/$1.json" \
    --rows "${ROWS:-16384}" --cols "${COLS:-4096}" --dtype "${DTYPE:-bf16}" "$3"
}

if [ -n "$plain" ]; then
  time_version 0_plain "$repository/solutions" "$plain"
fi
for version in "$here/$ladder"/*.cu; do
  name=$(basename "$version" .cu)
  mkdir -p "$work/$name/$folder"
  cp "$version" "$work/$name/$folder/$(basename "$fast").cu"
  time_version "$name" "$work/$name" "$fast"
done
time_version last "$repository/solutions" "$fast"
