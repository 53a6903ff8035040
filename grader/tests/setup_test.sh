#!/bin/sh
# setup.sh on a machine that is all pretence: apt-get, dpkg-query, id and sudo are stand-ins.
set -eu
setup="$(dirname "$0")/../setup.sh"
bin="$(mktemp -d)"
trap 'rm -rf "$bin"' EXIT

# stand_in NAME COMMANDS
stand_in() {
  printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

# expect CODE TEXT: setup.sh exits with CODE and says TEXT (or nothing at all, if TEXT is empty).
expect() {
  code=0
  output="$(PATH="$bin:$PATH" sh "$setup" 2>&1)" || code=$?
  if [ "$code" != "$1" ]; then
    echo "expected exit $1, got $code: $output"
    exit 1
  fi
  case "$output" in
    *"$2"*) [ -n "$2" ] || [ -z "$output" ] || { echo "expected silence, got: $output"; exit 1; } ;;
    *) echo "expected '$2' in: $output"; exit 1 ;;
  esac
}

stand_in dpkg-query 'echo "install ok installed"'
stand_in apt-get 'echo "apt-get $*"'
expect 0 ""

stand_in dpkg-query '[ "$4" = doctest-dev ] || echo "install ok installed"'
stand_in id 'echo 0'
expect 0 "apt-get install -y --no-install-recommends doctest-dev"

stand_in id 'echo 1000'
stand_in sudo 'exec "$@"'
expect 0 "apt-get install -y --no-install-recommends doctest-dev"

stand_in sudo 'exit 1'
expect 1 "apt-get update && apt-get install -y --no-install-recommends doctest-dev"

stand_in id 'echo 0'
stand_in apt-get '[ "$1" != install ]'
expect 1 "The installation failed."

stand_in dpkg-query 'echo "install ok installed"'
stand_in g++ 'echo 10.2.1'
expect 1 "g++ 10.2.1 is too old: install g++ 11 or newer"
stand_in g++-new 'echo 14'
export CXX=g++-new
expect 0 ""
