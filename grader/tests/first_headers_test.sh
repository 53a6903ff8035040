#!/bin/sh
# first_headers_test.sh <compiled first headers> <build folder>: who builds the driver builds them
# anew if they are older than a header, and only then. Nothing is built here: make says what it would
# do, and meanwhile they pretend to be old.
set -eu
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the tests
first="$1"
build="$2"

would_compile() {
  make -n -C "$build" onepass | grep -- '-o .*first\.h\.gch' >/dev/null
}

if would_compile; then
  echo "make onepass compiles the first headers, which are new"
  exit 1
fi
time="$(mktemp)"
touch -r "$first" "$time"
trap 'touch -r "$time" "$first"; rm "$time"' EXIT
touch -d 2000-01-01 "$first"
if ! would_compile; then
  echo "make onepass leaves the first headers as they are, older than the headers that they are of"
  exit 1
fi
