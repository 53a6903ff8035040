#!/bin/sh
# Formats the C++ and CUDA sources with clang-format 14; with --check says which lines are not
# formatted, and fails if there are any. Other versions format otherwise: where there is no such one
# the exit code is 77. Left alone are the tests whose point is unusual layout.
set -eu
cd "$(dirname "$0")/.."

for name in clang-format-14 clang-format; do
  if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
    how=-i
    [ "${1:-}" != --check ] || how="--dry-run --Werror"
    find exercises solutions grader \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.inc' \) \
      ! -path 'grader/tests/language*' ! -path 'grader/tests/corpus*' -exec "$name" $how {} +
    exit 0
  fi
done
echo "There is no clang-format 14: install it (Debian 12: apt-get install clang-format)." >&2
exit 77
