#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/build-llvm-runtimes.sh [OPTION...]
#
# Builds LLVM's OpenMP runtimes (libomp; libomptarget with its plug-ins for host devices and for CUDA, which opens the
# driver when it runs) from the distribution's source package, with its clang and its LLVM libraries, into
# build/llvm-19-stock or, with the series in patches/llvm-19 applied, into build/llvm-19-patched. Programs that are
# linked with the distribution's runtimes run with these if LD_LIBRARY_PATH names that folder's lib/. Nothing is
# installed. A run that was stopped goes on where it was. The folder appears under its name when all is in it, and is
# left alone if it is what would be built.
#
#   --version N   LLVM's version (19); of 22 only libomp, by the clang of 19
#   --patched     apply the series
#   --only PART   libomp, or all (all)
#   --jobs N      compilations at once (the number of processors)
#   --help
#
# $BUILD is another folder for build/. Exit code 0: the folder is there; 1: no; 2: wrong options; 77: the sources cannot
# be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
version=19 variant=stock part=all jobs=$(nproc)
. "$root/scripts/llvm-source.sh"

fail()
{
    echo "build-llvm-runtimes: $*" >&2
    exit 1
}

usage()
{
    echo "build-llvm-runtimes: $* (--help)" >&2
    exit 2
}

while (($#)); do
    case $1 in
        -h | --help) sed -n '4,23s/^# \{0,1\}//p' "$0"; exit 0 ;;
        --patched) variant=patched ;;
        --version | --only | --jobs)
            (($# > 1)) || usage "$1 needs a value"
            case $1 in --version) version=$2 ;; --only) part=$2 ;; --jobs) jobs=$2 ;; esac
            shift ;;
        *) usage "unknown option $1" ;;
    esac
    shift
done
tools=19 # the version of the compiler and of what else LLVM has
series=$root/patches/llvm-$version
[[ -d $series ]] ||
    usage "unknown version $version (known: $(cd "$root/patches" && echo llvm-[0-9]* | sed 's/llvm-//g'))"
[[ $part == libomp || $part == all ]] || usage "unknown part $part (known: libomp, all)"
[[ $version == "$tools" || $part == libomp ]] || usage "of LLVM $version only libomp can be built (--only libomp)"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || usage "no number of compilations: $jobs"

# What the result depends on; kept in it.
fingerprint() # PART
{
    {
        cat "$root/scripts/build-llvm-runtimes.sh"
        echo "$1" "$(dpkg-query -W -f '${Version}' "libomp-$version-dev" 2>/dev/null || true)"
        [[ $variant == stock ]] || cat "$series"/*.patch
    } | sha256sum | cut -c1-40
}

work=$build/llvm-$version-runtimes/$variant
result=$build/llvm-$version-$variant
llvm=$build/llvm-$version-runtimes/llvm # what is installed of LLVM, with its headers
libraries=$llvm/usr/lib/llvm-$version/lib # where its CMake files put libomptarget
wanted=$(fingerprint "$part")
for there in "$wanted" "$(fingerprint all)"; do # who needs libomp alone has it in all
    if [[ -e $result/complete && $(<"$result/complete") == "$there" ]]; then
        echo "build-llvm-runtimes: $part is in $result"
        exit 0
    fi
done
for command in cmake ninja git xz tar "clang-$tools" "clang++-$tools"; do
    command -v "$command" >/dev/null || fail "no $command here"
done

# A repository of what is needed of LLVM, with the series on top of it.
unpack()
{
    local archive release patch
    archive=$(fetch_llvm_source "$version" "$build/llvm-source" 2> >(sed 's/^/build-llvm-runtimes: /' >&2)) || exit 77
    release=$(sed 's/.*_\([0-9.]*\)\.orig\.tar\.xz$/\1/' <<<"$archive")
    echo "build-llvm-runtimes: unpacking LLVM $release"
    rm -rf "$work/source" "$work/source.part"
    mkdir -p "$work/source.part"
    tar -xJf "$archive" -C "$work/source.part" --strip-components=1 --wildcards '*/openmp' '*/offload' '*/cmake' \
        '*/runtimes' '*/llvm/utils/lit'
    git -C "$work/source.part" init -q
    in_source config user.name ompdarts
    in_source config user.email ompdarts@localhost
    in_source config core.autocrlf false
    in_source add -f cmake llvm/cmake openmp offload runtimes
    in_source commit -q -m "LLVM $release"
    in_source tag pristine
    [[ $variant == stock ]] || apply "$release"
    echo "$release" >"$work/source.part/release"
    mv "$work/source.part" "$work/source"
}

in_source()
{
    git -C "$work/source.part" "$@"
}

apply() # RELEASE
{
    local patch
    for patch in "$series"/*.patch; do
        in_source am -q "$patch" >"$work/am.log" 2>&1 ||
            fail "${patch#"$root/"} does not apply to LLVM $1: it was made for $(<"$series/release")"
    done
    echo "build-llvm-runtimes: applied $(in_source rev-list --count pristine..HEAD) patches"
}

# libomptarget needs headers and CMake files of LLVM, and what these expect to be beside them.
unpack_llvm()
{
    local name
    [[ ! -e $llvm/complete ]] || return 0
    echo "build-llvm-runtimes: unpacking the headers of LLVM"
    rm -rf "$llvm"
    mkdir -p "$llvm"
    (cd "$llvm" &&
        apt-get -q download "llvm-$version-dev" "llvm-$version-tools" "llvm-$version") >"$work/llvm.log" 2>&1 ||
        fail "llvm-$version-dev cannot be had ($work/llvm.log)"
    for name in "$llvm"/*.deb; do
        dpkg-deb --extract "$name" "$llvm"
    done
    rm "$llvm"/*.deb
    cp -rsn "/usr/lib/llvm-$version/." "$llvm/usr/lib/llvm-$version/"
    rm -rf "$llvm/usr/lib/llvm-$version/lib/cmake/clang" # what it names is not there
    for name in "$llvm/usr/lib/llvm-$version/lib"/libLLVM*.so*; do
        [[ -e $name ]] || ln -sf "$(echo /usr/lib/*/libLLVM.so."$version".*)" "$name"
    done
    # What the distribution has installed is no target of this build.
    cat >"$llvm/installed.cmake" <<'END'
add_custom_target(clang)
if(NOT TARGET zstd::libzstd_shared)
  add_library(zstd::libzstd_shared INTERFACE IMPORTED)
endif()
END
    touch "$llvm/complete"
}

configure()
{
    local source=$work/source options=()
    if [[ $part == libomp ]]; then
        options=(-S "$source/openmp" -DOPENMP_LLVM_TOOLS_DIR=/usr/lib/llvm-"$tools"/bin)
    else
        unpack_llvm
        options=(-S "$source/runtimes" -DLLVM_ENABLE_RUNTIMES="openmp;offload" -DLLVM_LINK_LLVM_DYLIB=ON
            -DLLVM_BINARY_DIR="$llvm/usr/lib/llvm-$version" -DCMAKE_PROJECT_Runtimes_INCLUDE="$llvm/installed.cmake"
            -DLIBOMPTARGET_PLUGINS_TO_BUILD="host;cuda" -DLIBOMPTARGET_BUILD_DEVICERTL_BCLIB=OFF
            -DLLVM_INCLUDE_TESTS=OFF -DPACKAGE_VERSION="$release"
            -DLLVM_EXTERNAL_LIT="$source/llvm/utils/lit/lit.py")
    fi
    cmake -G Ninja -B "$work/$part" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER="clang-$tools" \
        -DCMAKE_CXX_COMPILER="clang++-$tools" -DLIBOMP_ENABLE_ASSERTIONS=ON "${options[@]}" >"$work/$part.log" 2>&1 ||
        fail "the runtimes cannot be configured ($work/$part.log)"
}

compile()
{
    local targets=(omp) line shown=-60
    if [[ $part == all ]]; then
        targets+=(omptarget)
        rm -f "$libraries"/libomptarget.{so,rtl}* # may be the other variant's: they are linked again
    fi
    NINJA_STATUS="build-llvm-runtimes: [%f of %t] " nice -n 15 ninja -C "$work/$part" -j "$jobs" "${targets[@]}" |
        tee "$work/ninja.log" |
        while IFS= read -r line; do
            if [[ $line == *error:* ]]; then
                echo "$line" >&2
            elif [[ $line == build-llvm-runtimes:* ]] && ((SECONDS - shown >= 15)); then
                echo "$line"
                shown=$SECONDS
            fi
        done
}

# Under the distribution's names, which programs look for.
collect()
{
    local name
    rm -rf "$result.part"
    mkdir -p "$result.part/lib"
    cp "$(find "$work/$part" -name libomp.so -type f)" "$result.part/lib/libomp.so.5"
    ln -s libomp.so.5 "$result.part/lib/libomp.so"
    if [[ $part == all ]]; then
        cp "$libraries/libomptarget.so.$version".* "$result.part/lib/"
        ln -s "$(cd "$result.part/lib" && echo libomptarget.so."$version".*)" "$result.part/lib/libomptarget.so"
    fi
    for name in "/usr/lib/llvm-$version"/lib/libomptarget*.{a,bc}; do # device code, the distribution's
        [[ ! -e $name ]] || ln -s "$name" "$result.part/lib/"
    done
    echo "$wanted" >"$result.part/complete"
    rm -rf "$result"
    mv "$result.part" "$result"
}

# The sources are unpacked again where the series is another one.
mkdir -p "$work"
stamp=$([[ $variant == stock ]] || cat "$series"/*.patch | sha256sum)
[[ -d $work/source && $(cat "$work/stamp" 2>/dev/null) == "$stamp" ]] || { unpack; echo "$stamp" >"$work/stamp"; }
release=$(<"$work/source/release")
configure
compile || fail "the runtimes cannot be built ($work/ninja.log)"
collect
echo "build-llvm-runtimes: $part of LLVM $release, $variant, is in $result"
