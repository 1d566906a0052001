#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/llvm-tests.sh [OPTION...] [PATTERN...]
#
# Runs LLVM's own tests of its OpenMP runtimes (offload/test, openmp/runtime/test), of the version that is installed,
# without the library and with it under several settings, and lists what differs. They come from the distribution's
# source package, which is downloaded once into $BUILD/llvm-tests (default: build/; 165 MB) and never becomes part of the
# project; nothing is installed. PATTERNs choose tests whose path contains one of them. Differences that are expected, each
# with its reason, are in tests/llvm/expected.txt. A progress line comes every 30 s.
#
#   --minutes N   start no further setting after so long (default 60)
#   --settings A,B...   only these (--list-settings says which there are)
#   --again       the results without the library are those of the last time
#   --jobs N      tests at once (default 2)
#   --library F   another libompdarts.so
#   --help
#
# Exit code 0: nothing unexpected differs; 1: something does; 77: the tests cannot be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
version=${LLVM_VERSION:-19}
work=$build/llvm-tests

case ${1-} in -h | --help) sed -n '4,21s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

skip()
{
    echo "llvm-tests: $*: skipped" >&2
    exit 77
}

# The sources lie beside the packages, but few machines list them: a private list, with its own state.
private_apt()
{
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache"
    local suite keys=/usr/share/keyrings/debian-archive-keyring.gpg
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    apt-get indextargets --format "deb-src [signed-by=$keys] \$(REPO_URI) $suite main" \
        "Created-By: Packages" "Component: main" "Origin: Debian" "Codename: $suite" | sort -u >"$work/apt/sources.list"
    [[ -s $work/apt/sources.list ]] || skip "no archive of Debian's is among the sources of packages"
    cat >"$work/apt/apt.conf" <<END
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
APT::Sandbox::User "root";
END
    export APT_CONFIG=$work/apt/apt.conf
}

fetch()
{
    for command in apt-get dpkg-deb dpkg-query python3; do
        command -v $command >/dev/null || skip "no $command here"
    done
    local package
    package=$(dpkg-query -W -f '${Version}' "libomp-$version-dev") || skip "libomp-$version-dev is not installed"
    rm -rf "$work/source" "$work/source.part"
    mkdir -p "$work/source.part/tools"
    (cd "$work/source.part" && apt-get -q download "llvm-$version-tools") >"$work/fetch.log" 2>&1 ||
        skip "llvm-$version-tools (FileCheck, lit) cannot be had"
    echo "llvm-tests: downloading the sources of llvm-toolchain-$version $package"
    (private_apt && cd "$work/source.part" && apt-get -q update &&
        apt-get -q source --download-only "llvm-toolchain-$version=$package") >>"$work/fetch.log" 2>&1 ||
        skip "the sources of llvm-toolchain-$version cannot be had ($work/fetch.log)"
    echo "llvm-tests: unpacking"
    dpkg-deb --extract "$work/source.part/llvm-$version-tools"*.deb "$work/source.part/tools"
    tar -xJf "$work/source.part/llvm-toolchain-$version"*.orig.tar.xz -C "$work/source.part" --strip-components=1 \
        --wildcards '*/offload/test' '*/openmp/runtime/test' '*/openmp/runtime/src/*.h'
    rm "$work/source.part/"*.tar.xz "$work/source.part/"*.d{eb,sc}
    mv "$work/source.part" "$work/source"
}

[[ -d $work/source/offload/test && -d $work/source/openmp/runtime/test ]] || { mkdir -p "$work"; fetch; }
exec python3 "$root/tests/llvm/suite.py" --build "$build" --work "$work" --llvm "/usr/lib/llvm-$version" "$@"
