#!/bin/sh
# cmake stops with one sentence for a compiler that cannot be used. The compilers are stand-ins: g++
# that says it is another one.
set -eu
source="$(dirname "$0")/../.."
compiler="$1"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# expect_stop SENTENCE MACROS...: that compiler is refused, with the sentence.
expect_stop() {
  sentence="$1"
  shift
  printf '#!/bin/sh\nexec %s %s "$@"\n' "$compiler" "$*" >"$folder/stand-in"
  chmod +x "$folder/stand-in"
  rm -rf "$folder/build"
  if cmake -S "$source" -B "$folder/build" -DCMAKE_CXX_COMPILER="$folder/stand-in" \
    >"$folder/output" 2>&1; then
    echo "cmake takes a compiler with $*"
    exit 1
  fi
  # cmake breaks the lines of a message.
  if ! tr -s ' \n' ' ' <"$folder/output" | grep -qF "$sentence"; then
    echo "expected '$sentence' in:"
    cat "$folder/output"
    exit 1
  fi
}

expect_stop "One Pass is built with g++ 11 or newer, and $folder/stand-in is GNU 10." \
  -U__GNUC__ -D__GNUC__=10
expect_stop "One Pass is built with g++ 11 or newer, and $folder/stand-in is Clang 14.0" \
  -D__clang__=1 -D__clang_major__=14 -D__clang_minor__=0 -D__clang_patchlevel__=6
