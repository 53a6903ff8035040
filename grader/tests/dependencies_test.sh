#!/bin/sh
# cmake where libraries are missing. They are hidden from it, and the network is a proxy that nobody
# answers at.
set -eu
source="$(dirname "$0")/../.."
compiler="$1"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
unset no_proxy NO_PROXY
export https_proxy=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9 all_proxy=http://127.0.0.1:9

# expect_stop DEBIAN_PACKAGES LIBRARIES: without these libraries cmake stops soon, with one error that
# ends with the packages to install.
expect_stop() {
  hidden=""
  for library in $2; do
    hidden="$hidden -DCMAKE_DISABLE_FIND_PACKAGE_$library=ON"
  done
  # $hidden is a list of words.
  if timeout 30 cmake -S "$source" -B "$folder/build" -DCMAKE_CXX_COMPILER="$compiler" $hidden \
    >"$folder/output" 2>&1; then
    echo "cmake does without $2"
    exit 1
  fi
  # cmake breaks the lines of a message.
  said="$(tr -s ' \n' ' ' <"$folder/output")"
  for part in "Libraries are not installed and could not be fetched from github.com:" \
    "run apt-get install -y --no-install-recommends $1 Call Stack"; do
    case "$said" in
      *"$part"*) ;;
      *) printf "expected '%s' in:\n%s\n" "$part" "$(cat "$folder/output")" && exit 1 ;;
    esac
  done
  if [ "$(grep -c 'CMake Error' "$folder/output")" != 1 ]; then
    printf 'expected one error in:\n%s\n' "$(cat "$folder/output")"
    exit 1
  fi
}

expect_stop "doctest-dev nlohmann-json3-dev libcli11-dev libfmt-dev libboost-context-dev" \
  "doctest nlohmann_json CLI11 fmt Boost"

# What is in place of an archive is not it, whatever it is.
mkdir -p "$folder/build/_deps/archives"
echo "<html>Log in</html>" >"$folder/build/_deps/archives/doctest-v2.4.11.tar.gz"
expect_stop "doctest-dev nlohmann-json3-dev libcli11-dev libfmt-dev libboost-context-dev" \
  "doctest nlohmann_json CLI11 fmt Boost"
