#!/bin/sh
# Installs what the workbook is built with and this machine lacks, from the distribution (Debian,
# Ubuntu). Does nothing when all is there. Without root it prints the one line to run.
set -u

missing=""

# need_program PROGRAM PACKAGE
need_program() {
  command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

# need_package PACKAGE: a library. What the distribution does not have is fetched by cmake.
need_package() {
  dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ||
    missing="$missing $1"
}

compiler="${CXX:-g++}"  # cmake looks there too
if command -v "$compiler" >/dev/null 2>&1; then
  version="$("$compiler" -dumpversion)"
  if [ "${version%%.*}" -lt 11 ]; then
    echo "$compiler $version is too old: install g++ 11 or newer, and name it in CXX, for instance" \
      "with export CXX=g++-11." >&2
    exit 1
  fi
fi

if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup.sh knows Debian and Ubuntu only: install g++, cmake 3.22 or newer, make and" \
    "Boost.Context with its headers yourself; cmake fetches the rest." >&2
  exit 1
fi

need_program "$compiler" g++
need_program cmake cmake
need_program make make
need_program addr2line binutils
for package in libboost-context-dev doctest-dev nlohmann-json3-dev libcli11-dev libfmt-dev; do
  need_package "$package"
done
if [ -z "$missing" ]; then
  exit 0
fi

# $missing is a list of words.
install="apt-get install -y --no-install-recommends$missing"
echo "Missing, and to be installed from the distribution:$missing"
if [ "$(id -u)" = 0 ]; then
  sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo true; then
  sudo="sudo"
else
  echo "This needs root. Have an administrator run:" >&2
  echo "  apt-get update && $install" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if ! { $sudo apt-get -q update && $sudo $install; }; then
  echo "The installation failed. When its cause is mended, run: $install" >&2
  exit 1
fi
