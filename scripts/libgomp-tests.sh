#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/libgomp-tests.sh [OPTION...] [PATTERN...]
#
# Runs the programs of another OpenMP runtime's tests, GCC's libgomp, with the library and without, and lists what
# differs: exit codes and output. They are compiled by clang for LLVM's host devices. Programs that clang does not
# compile, that fail without the library or that print something else each time are left out, and counted. They come from
# the distribution's package of GCC's sources, which is downloaded once into $BUILD/libgomp-tests (default: build/;
# 83 MB) and never becomes part of the project; nothing is installed. PATTERNS choose tests whose path contains one of
# them; without any, all that have target constructs. A progress line comes every 30 s.
#
#   --all         also those without target constructs
#   --settings A,B...   only these (scripts/llvm-tests.sh --list-settings)
#   --jobs N      programs at once (default 2)
#   --timeout S   seconds per run (default 300)
#   --library F   another libompdarts.so
#   --help
#
# Exit code 0: nothing differs; 1: something does; 2: wrong options; 77: the tests cannot be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
work=$build/libgomp-tests

case ${1-} in -h | --help) sed -n '4,22s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

skip()
{
    echo "libgomp-tests: $*: skipped" >&2
    exit 77
}

# The newest GCC of this distribution whose sources are packaged.
package()
{
    apt-cache --names-only search '^gcc-[0-9]+-source$' | grep -oE '^gcc-[0-9]+-source' | sort -V | tail -1
}

fetch()
{
    for command in apt-get apt-cache dpkg-deb tar; do
        command -v $command >/dev/null || skip "no $command here"
    done
    local name archive
    name=$(package) && [[ $name ]] || skip "no package of GCC's sources"
    rm -rf "$work/source" "$work/part"
    mkdir -p "$work/part"
    echo "libgomp-tests: downloading $name"
    (cd "$work/part" && apt-get -q download "$name") >"$work/fetch.log" 2>&1 || skip "$name cannot be had"
    dpkg-deb --extract "$work/part/$name"*.deb "$work/part/files"
    archive=$(find "$work/part/files" -name 'gcc-*.tar.*' | head -1)
    [[ $archive ]] || skip "no archive in $name"
    mkdir "$work/part/source"
    tar -xf "$archive" -C "$work/part/source" --strip-components=1 --wildcards '*/libgomp/testsuite/*'
    mv "$work/part/source" "$work/source"
    rm -rf "$work/part"
}

[[ -d $work/source/libgomp/testsuite ]] || { mkdir -p "$work"; fetch; }
exec python3 "$root/tests/libgomp/suite.py" --build "$build" --work "$work" "$@"
