#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/llvm-tests.sh [OPTION...] [PATTERN...]
#
# Runs LLVM's own tests of its OpenMP runtimes (offload/test, openmp/runtime/test), of the version that is installed,
# without the library and with it under several settings, and lists what differs. They come from the distribution's
# source package, which is downloaded once into $BUILD/llvm-source (default: build/; 165 MB) and never becomes part of the
# project; nothing is installed. PATTERNs choose tests whose path contains one of them. Differences that are expected, each
# with its reason, are in tests/llvm/expected.txt. A progress line comes every 30 s.
#
#   --minutes N   start no further setting after so long (default 60)
#   --settings A,B...   only these (--list-settings says which there are)
#   --again       the results without the library are those of the last time
#   --jobs N      tests at once (default 2)
#   --library F   another libompdarts.so
#   --runtimes DIR   compare with the runtimes in DIR instead of with the library
#   --stock DIR   those in DIR stand for the distribution's
#   --source DIR  the tests of another tree of LLVM's sources
#   --help
#
# Exit code 0: nothing unexpected differs; 1: something does; 77: the tests cannot be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
version=${LLVM_VERSION:-19}
work=$build/llvm-tests
. "$root/scripts/llvm-source.sh"

case ${1-} in -h | --help) sed -n '4,24s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

skip()
{
    echo "llvm-tests: $*: skipped" >&2
    exit 77
}

fetch()
{
    for command in apt-get dpkg-deb python3; do
        command -v $command >/dev/null || skip "no $command here"
    done
    local archive
    rm -rf "$work/source" "$work/source.part"
    mkdir -p "$work/source.part/tools"
    (cd "$work/source.part" && apt-get -q download "llvm-$version-tools") >"$work/fetch.log" 2>&1 ||
        skip "llvm-$version-tools (FileCheck, lit) cannot be had"
    archive=$(fetch_llvm_source "$version" "$build/llvm-source") || skip "no tests without their sources"
    echo "llvm-tests: unpacking"
    dpkg-deb --extract "$work/source.part/llvm-$version-tools"*.deb "$work/source.part/tools"
    tar -xJf "$archive" -C "$work/source.part" --strip-components=1 \
        --wildcards '*/offload/test' '*/openmp/runtime/test' '*/openmp/runtime/src/*.h'
    rm "$work/source.part/"*.deb
    mv "$work/source.part" "$work/source"
}

[[ -d $work/source/offload/test && -d $work/source/openmp/runtime/test ]] || { mkdir -p "$work"; fetch; }
exec python3 "$root/tests/llvm/suite.py" --build "$build" --work "$work" --llvm "/usr/lib/llvm-$version" "$@"
