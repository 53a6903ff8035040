#!/bin/sh
# A clone with a solved exercise is renamed, and another is copied: the program says so and names a
# command, the command works, and the exercise stays as it was. Compiling the grader at the new place
# takes minutes: that the exercise passes there is tried only where all is checked.
#
#   moved_test.sh <source folder> <build folder> <C++ compiler> <downloads of cmake>
set -eu
source="$1"
built="$2"
compiler="$3"
downloads="$4"
folder="$(cd "$(mktemp -d)" && pwd -P)"
trap 'rm -rf "$folder"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the tests

fail() {
  printf '%s\n' "$@"
  exit 1
}

# expect TEXT OUTPUT
expect() {
  case "$2" in
    *"$1"*) ;;
    *) fail "expected '$1' in:" "$2" ;;
  esac
}

old="$folder/old"
mkdir "$old"
for part in CMakeLists.txt exercises grader solutions; do
  cp -R "$source/$part" "$old"
done
exercise=exercises/01_rmsnorm/block_sum.cu
cp "$old/solutions/01_rmsnorm/block_sum.cu" "$old/$exercise"
# The driver is the one that is built; the rest is compiled at the new place.
cmake -S "$old" -B "$old/build" -DCMAKE_CXX_COMPILER="$compiler" -DONEPASS_CUDA=OFF \
  -DCMAKE_BUILD_TYPE=None -DFETCHCONTENT_BASE_DIR="$downloads" >"$folder/output" 2>&1 ||
  fail "$(cat "$folder/output")"
cp "$built/onepass" "$old/build/onepass"
echo '{"schema": 1, "exercises": {}}' >"$old/build/progress.json"
cd "$old"
expect "0 of 0 exercises passed" "$(build/onepass)" # it is in place, and no grader is built

# moved_to CLONE: what a student sees in it.
moved_to() {
  cd "$1"
  for call in build/onepass "build/onepass grade 1.1"; do
    code=0
    said="$(sh -c "$call" 2>&1)" || code=$?
    [ "$code" = 2 ] || fail "$call: exit $code" "$said"
    expect "This workbook was moved or copied from $old to $1. Type make -C build -j2 to set" "$said"
  done
  command="$(printf '%s\n' "$said" | sed 's/.* Type \(.*\) to set it up here.*/\1/')"
}

# is_as_it_was
is_as_it_was() {
  cmp "$source/solutions/01_rmsnorm/block_sum.cu" "$exercise"
  [ "$(cat build/progress.json)" = '{"schema": 1, "exercises": {}}' ]
  grep -q '^CMAKE_BUILD_TYPE:.*=None$' build/CMakeCache.txt
  ! grep -qF "$old/" build/onepass.json build/Makefile || fail "old paths"
}

# Copied: the old place is still there, and nothing is done in it.
cp -R "$old" "$folder/copy"
moved_to "$folder/copy"
touch "$folder/start"
said="$($command help 2>&1)" # configures, and compiles nothing
expect "This workbook was moved or copied from $old to $folder/copy. It is set up here" "$said"
is_as_it_was
[ -z "$(find "$old" -newer "$folder/start")" ] || fail "the old place was written to"
expect "0 of 0 exercises passed" "$(build/onepass)"
said="$($command help 2>&1)" # and from then on make is as ever
expect "solutions_rope" "$said"
case "$said" in *"was moved"*) fail "it says so twice:" "$said" ;; esac

# Renamed, with a blank in its name; and what cmake does first was interrupted.
mv "$old" "$folder/new place"
moved_to "$folder/new place"
rm build/Makefile
[ -z "${ONEPASS_CHECK_ALL:-}" ] && goal=help || goal=all
said="$($command $goal 2>&1)" || fail "$said"
expect "It is set up here" "$said"
is_as_it_was
if [ $goal = all ]; then
  expect "All passed." "$(build/onepass grade 1.1 --strict)"
  cmp "$source/solutions/01_rmsnorm/block_sum.cu" "$exercise"
fi

# The build folder alone.
cp -R build "$folder/alone"
if said="$(make -C "$folder/alone" grade 2>&1)"; then
  fail "make works in a build folder without a workbook" "$said"
fi
expect "and there is none in" "$(printf '%s' "$said" | tr -s ' \n' ' ')"
