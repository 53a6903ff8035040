#!/bin/sh
# Installs what the workbook is built with and this machine lacks, from the distribution (Debian,
# Ubuntu). Does nothing when all is there. Where it cannot install, it says in one sentence what is
# to be installed, and goes on if that is nothing but libraries: cmake fetches those that it cannot
# do without.
set -u

programs=""
libraries=""

# fail WORD...: a sentence, and the end.
fail() {
  echo "$*" >&2
  exit 1
}

# need_program PROGRAM PACKAGE
need_program() {
  command -v "$1" >/dev/null 2>&1 || programs="$programs $2"
}

# need_library PACKAGE
need_library() {
  dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ||
    libraries="$libraries $1"
}

# require_gcc COMPILER: the version alone does not tell, clang++ answers with a number too.
require_gcc() {
  LC_ALL=C $1 --version 2>/dev/null | grep -q 'Free Software Foundation' ||
    fail "$1 is not g++: install g++ 11 or newer, and name it in CXX, for instance with" \
      "export CXX=g++-12."
  version="$($1 -dumpversion)"
  [ "${version%%.*}" -ge 11 ] ||
    fail "$1 $version is too old: install g++ 11 or newer, and name it in CXX, for instance with" \
      "export CXX=g++-12."
}

compiler="${CXX:-g++}" # cmake looks there too; words, such as ccache g++
if command -v ${compiler%% *} >/dev/null 2>&1; then
  require_gcc "$compiler"
elif [ -n "${CXX:-}" ]; then
  fail "There is no $CXX, which CXX names: install g++ 11 or newer, and name that or unset CXX."
else
  programs=" g++"
fi
need_program cmake cmake
need_program make make
need_program addr2line binutils
for package in libboost-context-dev doctest-dev nlohmann-json3-dev libcli11-dev libfmt-dev \
  libseccomp-dev; do
  need_library "$package"
done
# A build folder that was moved or copied with the workbook: cmake -B build would refuse it.
moved="${0%/*}/../build/moved.cmake"
if [ -e "$moved" ] && command -v cmake >/dev/null 2>&1; then
  cmake -P "$moved" || exit 1
fi
if [ -z "$programs$libraries" ]; then
  exit 0
fi

# Without these it goes.
go_on_without_libraries() {
  case "$libraries" in
    *libseccomp*)
      echo "libseccomp is not fetched: without it submissions are confined less, and the grader" \
        "says so."
      ;;
  esac
  exit 0
}

# Lists of words.
install="apt-get install -y --no-install-recommends$programs$libraries"
if ! command -v apt-get >/dev/null 2>&1; then
  [ -z "$programs" ] ||
    fail "setup.sh knows Debian and Ubuntu only: install$programs yourself (g++ 11 and cmake 3.22" \
      "or newer); cmake fetches the libraries."
  echo "setup.sh knows Debian and Ubuntu only, but no more than libraries are missing: cmake" \
    "fetches them."
  go_on_without_libraries
fi
if [ "$(id -u)" = 0 ]; then
  sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo true; then
  sudo="sudo"
else
  [ -z "$programs" ] ||
    fail "This needs root: have an administrator run apt-get update && $install"
  echo "Not installed, which needs root, and so to be fetched by cmake:$libraries"
  go_on_without_libraries
fi
echo "Missing, and to be installed from the distribution:$programs$libraries"
export DEBIAN_FRONTEND=noninteractive
if ! { $sudo apt-get -q update && $sudo $install; }; then
  fail "The installation failed: when its cause is mended (is there a network?), run $install"
fi
