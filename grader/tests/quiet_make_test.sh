#!/bin/sh
# What make prints, in a project of two targets: `tool`, to be built, and `grade`, which reports.
set -eu
cmake_modules="$(cd "$(dirname "$0")/../cmake" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the tests

cat >CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.22)
project(quiet LANGUAGES NONE)
include("$cmake_modules/quiet_make.cmake")
add_custom_command(OUTPUT tool.out COMMAND sh \${CMAKE_SOURCE_DIR}/build_tool.sh
                   DEPENDS build_tool.sh COMMENT "Building tool" VERBATIM)
add_custom_target(tool DEPENDS tool.out)
add_custom_target(grade COMMAND sh \${CMAKE_SOURCE_DIR}/grade.sh USES_TERMINAL VERBATIM)
add_dependencies(grade tool)
EOF
echo 'touch tool.out' >build_tool.sh
echo 'echo report' >grade.sh

# expect OUTPUT COMMAND: stdout and stderr together are OUTPUT.
expect() {
  output="$(sh -c "$2" 2>&1)" || true
  if [ "$output" != "$1" ]; then
    printf '%s: expected\n%s\ngot\n%s\n' "$2" "$1" "$output"
    exit 1
  fi
}

cmake -B build -G "Unix Makefiles" >/dev/null
expect "[100%] Building tool
report" "make -C build grade"
for call in "make -C build grade" "make -C build -j2 grade" "make -C build -j grade" \
  "make -k -C build grade" "cd build && make grade" "cmake --build build -t grade" \
  "cmake --build build -j2 -t grade" "make -C build grade NAME=\"it's\""; do
  expect "report" "$call"
done

# As many jobs as are asked for, one if none are, and the other flags as they are.
echo 'echo "$MAKEFLAGS"' >grade.sh
for call in "make -C build grade" "make -C build -j2 grade" "make -C build -k -j5 grade"; do
  flags="$(sh -c "$call" | tr ' ' '\n' | grep '^k\|^-k\|^-j' | tr -d 'sw\n')" || true
  asked="$(echo "$call" | tr ' ' '\n' | grep '^-k\|^-j' | tr -d '\n')" || true
  if [ "$(echo "$flags" | tr -d -)" != "$(echo "$asked" | tr -d -)" ]; then
    echo "$call came as: $flags"
    exit 1
  fi
done

# A build that fails says why, and is a failure.
echo 'echo "tool.cpp:1: error" >&2; exit 1' >build_tool.sh
for call in "make -C build grade" "make -C build -j2 grade" "cd build && make grade"; do
  if output="$(sh -c "$call" 2>&1)"; then
    echo "$call succeeds though the build fails"
    exit 1
  fi
  case "$output" in
    *"tool.cpp:1: error"*) ;;
    *) printf '%s does not say why:\n%s\n' "$call" "$output" && exit 1 ;;
  esac
done

if command -v ninja >/dev/null 2>&1; then
  echo 'touch tool.out' >build_tool.sh
  echo 'echo report' >grade.sh
  cmake -B with_ninja -G Ninja >/dev/null
  ninja -C with_ninja grade | grep -q '^report$'
fi
