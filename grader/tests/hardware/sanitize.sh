#!/bin/sh
# Has compute-sanitizer look at what the simulator looks at, on an NVIDIA GPU: the simulator's cases,
# the micro-kernels, and the kernels of the corpus.
#
#   grader/tests/hardware/sanitize.sh cases RESULT
#   grader/tests/hardware/sanitize.sh micro RESULT BUILD
#   grader/tests/hardware/sanitize.sh corpus RESULT BUILD LIST
#
# RESULT becomes a file of one line for each program and each tool that looks for such a thing, tabs
# between: its name, what the simulator finds first ("-": nothing), the tool, the number of errors it
# tells (or "stopped", after 30 seconds) and the first of them, or else what the program said last.
# BUILD is a build folder made on this machine; LIST has a line "NAME EXERCISE FILE" for each kernel.
# Three variables: KINDS, a regular expression, leaves out the cases of other kinds; LOGS names a
# folder to keep the tools' logs in; JOBS says how many run at a time.
set -eu
source=$(cd "$(dirname "$0")/../../.." && pwd)
what=$1
result=$(mkdir -p "$(dirname "$2")" && cd "$(dirname "$2")" && pwd)/$(basename "$2")
jobs=${JOBS:-$(nproc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# look NAME KIND TOOL COMMAND...: one line of the result.
cat > "$work/look" <<'EOF'
name=$1 kind=$2 tool=$3
shift 3
log=$(mktemp)
timeout -k 1 "${SECONDS_EACH:-30}" compute-sanitizer --tool "$tool" --print-limit 3 \
  --log-file "$log" "$@" > "$log.out" 2>&1 || [ $? -lt 124 ] || echo "stopped" >> "$log"
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

# look_at_several TOOL PROGRAM NAME...: right cases, which share a process as long as nothing is told
# and none fails; else each is looked at alone.
cat > "$work/look_at_several" <<'EOF'
tool=$1 program=$2
shift 2
log=$(mktemp)
if timeout -k 1 60 compute-sanitizer --tool "$tool" --log-file "$log" "$program" "$@" \
  > /dev/null 2>&1 && grep -q 'SUMMARY: 0 ' "$log"; then
  printf "%s\t-\t$tool\t0\t\n" "$@"
else
  for name; do
    sh "$(dirname "$0")/look" "$name" - "$tool" "$program" "$name"
  done
fi
rm -f "$log"
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
# commands_to_look < lines "NAME<tab>KIND<tab>COMMAND": one for each tool, for at_once.
commands_to_look() {
  tab=$(printf '\t')
  while IFS="$tab" read -r name kind command; do
    for tool in $(tools_for "$kind"); do
      printf "sh '%s' '%s' '%s' %s %s\0" "$work/look" "$name" "$kind" "$tool" "$command"
    done
  done
}
at_once() {
  xargs -0 -P "$jobs" -I '{}' sh -c '{}'
}

case $what in
cases)
  # Not those about counts of requests, the host's calls and the order of the blocks.
  find "$source/grader/tests/simulator" -name '*.cu' ! -name access_size_cases.cu \
    ! -name held_work_cases.cu ! -name host_call_cases.cu ! -name first_launch_cases.cu \
    ! -name block_order_cases.cu \
    > "$work/sources"
  echo "$source/grader/tests/hardware/run_case.cu" >> "$work/sources"
  xargs -P "$(nproc)" -I '{}' sh -c 'nvcc -std=c++17 -arch=native -lineinfo -I "$1/grader" \
    -I "$1/grader/include" -c -o "$2/$(basename "$0" .cu).o" "$0"' '{}' "$source" "$work" \
    < "$work/sources"
  nvcc -arch=native -o "$work/run_case" "$work"/*.o
  "$work/run_case" | awk -F '\t' -v kinds="^(${KINDS:-.*})\$" '$2 ~ kinds' > "$work/names"
  # Of what the simulator finds each alone: an error of CUDA, or an assertion, ends the program.
  {
    awk -F '\t' '$2 == "-" { print $1 }' "$work/names" | xargs -n 10 | while read -r group; do
      for tool in $(tools_for -); do
        printf "sh '%s' %s '%s' %s\0" "$work/look_at_several" "$tool" "$work/run_case" "$group"
      done
    done
    awk -F '\t' -v program="$work/run_case" '$2 != "-" { print $0 "\t" program " " $1 }' \
      "$work/names" | commands_to_look
  } | at_once > "$result"
  ;;
micro)
  build=$(cd "$3" && pwd)
  for worker in micro micro_fast; do
    # The simulator finds nothing in them. Not the big ones, which take the tools too long.
    group=$(echo "$worker" | sed 's/^micro$/small/; s/micro_//')
    "$build/bin/micro_requests" gpu "$work/$worker.request" "$group" > /dev/null
    printf '%s\t-\tsh -c "exec %s 3< %s 4> %s"\n' "$worker" "$build/bin/${worker}_worker_gpu" \
      "$work/$worker.request" "$work/$worker.reply"
  done | commands_to_look | SECONDS_EACH=120 at_once > "$result"
  ;;
corpus)
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
  done | commands_to_look | at_once > "$result"
  ;;
esac
