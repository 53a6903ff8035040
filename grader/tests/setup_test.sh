#!/bin/sh
# setup.sh on a machine that is all pretence: what it may find on it are stand-ins.
set -eu
setup="$(dirname "$0")/../setup.sh"
bin="$(mktemp -d)"
trap 'rm -rf "$bin"' EXIT
unset CXX

# stand_in NAME COMMANDS
stand_in() {
  printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

# expect CODE TEXT: setup.sh exits with CODE and says TEXT (or nothing at all, if TEXT is empty).
expect() {
  code=0
  output="$(PATH="$bin" sh "$setup" 2>&1)" || code=$?
  if [ "$code" != "$1" ]; then
    echo "expected exit $1, got $code: $output"
    exit 1
  fi
  case "$output" in
    *"$2"*) [ -n "$2" ] || [ -z "$output" ] || { echo "expected silence, got: $output"; exit 1; } ;;
    *) echo "expected '$2' in: $output"; exit 1 ;;
  esac
}

for tool in sh grep; do
  ln -s "$(command -v $tool)" "$bin/$tool"
done
gcc='if [ "$1" = --version ]; then echo "Copyright (C) 2021 Free Software Foundation, Inc."; else echo '
for tool in cmake make addr2line true; do
  stand_in $tool ''
done
stand_in g++ "$gcc 12; fi"
stand_in dpkg-query 'echo "install ok installed"'
stand_in apt-get 'echo "apt-get $*"'
stand_in id 'echo 0'
expect 0 ""

# A build folder that may have been moved.
mkdir -p "$bin/workbook/grader" "$bin/workbook/build"
cp "$setup" "$bin/workbook/grader/setup.sh"
touch "$bin/workbook/build/moved.cmake"
stand_in cmake 'echo "cmake $*"'
ours="$setup"
setup="$bin/workbook/grader/setup.sh"
expect 0 "cmake -P $bin/workbook/grader/../build/moved.cmake"
setup="$ours"
stand_in cmake ''

# With root, and with sudo.
stand_in dpkg-query '[ "$4" = doctest-dev ] || echo "install ok installed"'
expect 0 "apt-get install -y --no-install-recommends doctest-dev"
stand_in id 'echo 1000'
stand_in sudo 'exec "$@"'
expect 0 "apt-get install -y --no-install-recommends doctest-dev"

# Without either: cmake fetches a library, but no program.
stand_in sudo 'exit 1'
expect 0 "Not installed, which needs root, and so to be fetched by cmake: doctest-dev"
rm "$bin/sudo"
expect 0 "Not installed, which needs root, and so to be fetched by cmake: doctest-dev"
rm "$bin/cmake" "$bin/g++"
expect 1 "This needs root: have an administrator run apt-get update && apt-get install -y \
--no-install-recommends g++ cmake doctest-dev"

# Another distribution.
rm "$bin/apt-get" "$bin/dpkg-query"
expect 1 "setup.sh knows Debian and Ubuntu only: install g++ cmake yourself"
stand_in cmake ''
stand_in g++ "$gcc 12; fi"
expect 0 "no more than libraries are missing: cmake fetches them."
expect 0 "libseccomp is not fetched: without it submissions are confined less"

# No network.
stand_in id 'echo 0'
stand_in apt-get '[ "$1" != install ]'
stand_in dpkg-query '[ "$4" = doctest-dev ] || echo "install ok installed"'
expect 1 "The installation failed: when its cause is mended (is there a network?), run apt-get \
install -y --no-install-recommends doctest-dev"

# The compiler.
stand_in dpkg-query 'echo "install ok installed"'
stand_in g++ "$gcc 10.2.1; fi"
expect 1 "g++ 10.2.1 is too old: install g++ 11 or newer"
stand_in g++-new "$gcc 14; fi"
export CXX=g++-new
expect 0 ""
stand_in ccache 'exec "$@"'
CXX="ccache g++-new"
expect 0 ""
stand_in clang++ 'if [ "$1" = --version ]; then echo "clang version 14.0.6"; else echo 14; fi'
CXX=clang++
expect 1 "clang++ is not g++: install g++ 11 or newer, and name it in CXX"
CXX=g++-99
expect 1 "There is no g++-99, which CXX names: install g++ 11 or newer, and name that or unset CXX."
