#!/bin/sh
# Has compute-sanitizer look at what the simulator looks at, on an NVIDIA GPU: the simulator's cases,
# and the kernels of the corpus.
#
#   grader/tests/hardware/sanitize.sh cases RESULT
#   grader/tests/hardware/sanitize.sh corpus RESULT BUILD LIST
#
# RESULT becomes a file of one line for each program and each tool that looks for such a thing, tabs
# between: its name, what the simulator finds first ("-": nothing), the tool, the number of errors it
# tells (or "stopped", after 30 seconds) and the first of them, or else what the program said last.
# BUILD is a build folder made on this machine; LIST has a line "NAME EXERCISE FILE" for each kernel.
# The tools' logs are kept in the folder that the variable LOGS names, if it does.
set -eu
source=$(cd "$(dirname "$0")/../../.." && pwd)
what=$1
result=$(mkdir -p "$(dirname "$2")" && cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# look NAME KIND TOOL COMMAND...: one line of the result.
cat > "$work/look" <<'EOF'
name=$1 kind=$2 tool=$3
shift 3
log=$(mktemp)
timeout -k 1 30 compute-sanitizer --tool "$tool" --print-limit 3 --log-file "$log" "$@" \
  > "$log.out" 2>&1 || [ $? -lt 124 ] || echo "stopped" >> "$log"
errors=$(sed -n 's/.*RACECHECK SUMMARY: .*(\([0-9]*\) error.*/\1/p; s/.*ERROR SUMMARY: \([0-9]*\) .*/\1/p' \
  "$log" | tail -1)
grep -q '^stopped' "$log" && errors=stopped
first=$(sed -n 's/^========= \(Error: \)\{0,1\}\(.*\)/\2/p' "$log" |
  grep -m1 -v -e '^COMPUTE-SANITIZER' -e SUMMARY -e '^process didn' -e '^Target application' \
    -e '^ ' -e '^$' || tail -n 1 "$log.out")
printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$kind" "$tool" "${errors:--}" "$first"
[ -z "${LOGS:-}" ] || head -40 "$log" > "$LOGS/$(echo "$name.$tool" | tr ' /' '__')"
rm -f "$log" "$log.out"
EOF

# The tools that look for what the simulator finds; all, where it finds nothing.
tools_for() {
  case "${1#warning: }" in
    -) echo memcheck racecheck initcheck synccheck ;;
    *race | early-begin | copy-* | *fence | cluster-lifetime) echo racecheck ;;
    uninitialised-* | undefined-result) echo initcheck ;;
    deadlock | bad-warp-mask | early-return | inactive-* | *barrier*) echo synccheck ;;
    *) echo memcheck ;;
  esac
}
# look_at_all < lines "NAME<tab>KIND<tab>COMMAND": with its tools, as many at a time as processors.
look_at_all() {
  tab=$(printf '\t')
  while IFS="$tab" read -r name kind command; do
    for tool in $(tools_for "$kind"); do
      printf "sh '%s' '%s' '%s' %s %s\0" "$work/look" "$name" "$kind" "$tool" "$command"
    done
  done | xargs -0 -P "$(nproc)" -I '{}' sh -c '{}'
}

if [ "$what" = cases ]; then
  # Not those about counts of requests, the host's calls and the order of the blocks.
  find "$source/grader/tests/simulator" -name '*.cu' ! -name access_size_cases.cu \
    ! -name held_work_cases.cu ! -name host_call_cases.cu ! -name block_order_cases.cu \
    > "$work/sources"
  echo "$source/grader/tests/hardware/run_case.cu" >> "$work/sources"
  xargs -P "$(nproc)" -I '{}' sh -c 'nvcc -std=c++17 -arch=native -lineinfo -I "$1/grader" \
    -I "$1/grader/include" -c -o "$2/$(basename "$0" .cu).o" "$0"' '{}' "$source" "$work" \
    < "$work/sources"
  nvcc -arch=native -o "$work/run_case" "$work"/*.o
  # Each alone: an error of CUDA, or an assertion, ends the program.
  "$work/run_case" > "$work/names"
  awk -F '\t' -v program="$work/run_case" '{ print $0 "\t" program " " $1 }' "$work/names" |
    look_at_all > "$result"
else
  build=$(cd "$3" && pwd)
  while read -r name exercise file; do
    folder=$work/$(echo "$name" | tr '/' '_')
    mkdir "$folder"
    for device in cpu gpu; do
      echo "$file $folder/$device --exercise $exercise --device $device"
      for shape in "67 300 fp32" "33 1024 fp16"; do
        set -- $shape
        "$build/bin/grade-${exercise%/*}" --exercise "$exercise" --device $device --seed 1 \
          --request "$folder/$device.request" --rows "$1" --cols "$2" --dtype "$3" >&2
      done
    done
    echo "$name" > "$folder/name"
  done < "$4" > "$work/builds"
  xargs -P "$(nproc)" -L 1 "$build/onepass" build < "$work/builds" >&2 || true
  ls -d "$work"/*/ | xargs -P "$(nproc)" -I '{}' sh -c \
    'cd {} && timeout 60 ./cpu 3< cpu.request 4> cpu.reply > cpu.output 2>&1 || true'
  for folder in "$work"/*/; do
    kind=$("$build/bin/compare" findings "$folder/cpu.reply" || echo unknown)
    printf '%s\t%s\tsh -c "cd %s && exec ./gpu 3< gpu.request 4> gpu.reply"\n' \
      "$(cat "$folder/name")" "$kind" "$folder"
  done | look_at_all > "$result"
fi
