#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/build-device-runtime.sh [OPTION...]
#
# Builds LLVM's OpenMP runtime for NVIDIA's GPUs (DeviceRTL) from the distribution's source package, with what
# patches/llvm-19 changes of it, with the distribution's clang: build/llvm-19-device/libomptarget-nvptx-ARCH.bc. A program
# that is compiled with --libomptarget-nvptx-bc-path=FILE has kernels of which several GPUs can run slices
# (OMPDARTS_SLICE). Nothing is installed; a file that is what would be built is left alone.
#
#   --arch ARCH   the GPU, as for --offload-arch; may be repeated (sm_90)
#   --help
#
# $BUILD is another folder for build/. Exit code 0: the files are there; 1: no; 2: wrong options; 77: the sources cannot
# be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
version=19 archs=()
. "$root/scripts/llvm-source.sh"

fail()
{
    echo "build-device-runtime: $*" >&2
    exit 1
}

usage()
{
    echo "build-device-runtime: $* (--help)" >&2
    exit 2
}

while (($#)); do
    case $1 in
        -h | --help) sed -n '4,17s/^# \{0,1\}//p' "$0"; exit 0 ;;
        --arch)
            (($# > 1)) || usage "$1 needs a value"
            [[ $2 =~ ^sm_[0-9]+a?$ ]] || usage "no GPU of NVIDIA's: $2"
            archs+=("$2")
            shift ;;
        *) usage "unknown option $1" ;;
    esac
    shift
done
((${#archs[@]})) || archs=(sm_90)
tools=/usr/lib/llvm-$version/bin
series=()
for patch in "$root/patches/llvm-$version"/*.patch; do
    ! grep -q '^diff .*/DeviceRTL/' "$patch" || series+=("$patch")
done
result=$build/llvm-$version-device
work=$build/llvm-$version-runtimes/device
wanted=$(cat "$0" "${series[@]}" <("$tools/clang" --version 2>/dev/null) | sha256sum | cut -c1-40)
if [[ $(cat "$result/complete" 2>/dev/null) != "$wanted" ]]; then
    rm -rf "$result"
fi
for command in clang llvm-link opt; do
    [[ -x $tools/$command ]] || fail "no $tools/$command here"
done

unpack()
{
    local archive patch
    archive=$(fetch_llvm_source "$version" "$build/llvm-source" 2> >(sed 's/^/build-device-runtime: /' >&2)) || exit 77
    echo "build-device-runtime: unpacking the device runtime"
    rm -rf "$work"
    mkdir -p "$work/source.part"
    tar -xJf "$archive" -C "$work/source.part" --strip-components=1 --wildcards '*/offload/DeviceRTL' \
        '*/offload/include' '*/llvm/include/llvm/Frontend/OpenMP'
    for patch in "${series[@]}"; do
        patch -s -d "$work/source.part" -p1 <"$patch" || fail "${patch#"$root/"} does not apply"
    done
    mv "$work/source.part" "$work/source"
}

# As offload/DeviceRTL/CMakeLists.txt does, which needs all of LLVM to be built.
compile() # ARCH
{
    local runtime=$work/source/offload/DeviceRTL objects=$work/$1 name file
    local bitcode=libomptarget-nvptx-$1.bc
    mkdir -p "$objects"
    rm -f "$objects"/*.bc
    for file in "$runtime"/src/*.cpp; do
        name=$(basename "$file" .cpp)
        [[ $name != Stub ]] || continue
        "$tools/clang" -c -foffload-lto -std=c++17 -fvisibility=hidden -O3 -mllvm -openmp-opt-disable \
            -DSHARED_SCRATCHPAD_SIZE=512 -mllvm -vectorize-slp=false --offload-device-only -nocudalib -nogpulib -nostdinc \
            -fopenmp -fopenmp-cuda-mode -Wno-unknown-cuda-version -DOMPTARGET_DEVICE_RUNTIME "-I$runtime/include" \
            "-I$work/source/offload/include" "-I$work/source/llvm/include" --offload-arch="$1" --cuda-feature=+ptx63 \
            "$file" -o "$objects/$name.bc"
    done
    "$tools/llvm-link" -o "$work/linked.bc" "$objects"/*.bc
    "$tools/opt" -passes=internalize -internalize-public-api-file="$runtime/src/exports" "$work/linked.bc" -o "$work/own.bc"
    "$tools/opt" -O3 -openmp-opt-disable -attributor-enable=module -vectorize-slp=false "$work/own.bc" -o "$work/$bitcode"
    mkdir -p "$result"
    mv "$work/$bitcode" "$result/$bitcode"
}

stamp=$(cat "${series[@]}" | sha256sum)
for arch in "${archs[@]}"; do
    if [[ ! -e $result/libomptarget-nvptx-$arch.bc ]]; then
        [[ -d $work/source && $(cat "$work/stamp" 2>/dev/null) == "$stamp" ]] || { unpack; echo "$stamp" >"$work/stamp"; }
        compile "$arch" || fail "the device runtime for $arch cannot be built"
        echo "$wanted" >"$result/complete"
    fi
    echo "build-device-runtime: $result/libomptarget-nvptx-$arch.bc"
done
