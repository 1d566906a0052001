#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/build-device-runtime.sh [OPTION...]
#
# Builds LLVM's OpenMP runtime for GPUs (DeviceRTL) from the distribution's source package, with what patches/ change of
# it, with the distribution's clang. Programs that are compiled with it have kernels of which several GPUs can run slices
# (OMPDARTS_SLICE); clang's options for that, in build/llvm-19-device or build/llvm-22-device:
#
#   19, NVIDIA    --libomptarget-nvptx-bc-path=libomptarget-nvptx-ARCH.bc
#   19, AMD       -L. (libomptarget.devicertl.a, for all that have been built)
#   22, NVIDIA    --libomptarget-nvptx-bc-path=nvptx64-nvidia-cuda -Xoffload-linker -Lnvptx64-nvidia-cuda
#   22, AMD       -Xoffload-linker -Lamdgcn-amd-amdhsa
#
# Nothing is installed; what is as it would be built is left alone.
#
#   --version N   LLVM's version, 19 or 22 (19)
#   --arch ARCH   the GPU, as for --offload-arch: sm_90, gfx90a; may be repeated (sm_90)
#   --help
#
# $BUILD is another folder for build/. Exit code 0: the files are there; 1: no; 2: wrong options; 77: the sources, or a
# clang for these GPUs, cannot be had.
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

lack()
{
    echo "build-device-runtime: $*" >&2
    exit 77
}

while (($#)); do
    case $1 in
        -h | --help) sed -n '4,25s/^# \{0,1\}//p' "$0"; exit 0 ;;
        --version | --arch)
            (($# > 1)) || usage "$1 needs a value"
            case $1 in --version) version=$2 ;; --arch) archs+=("$2") ;; esac
            shift ;;
        *) usage "unknown option $1" ;;
    esac
    shift
done
[[ $version == 19 || $version == 22 ]] || usage "unknown version $version (known: 19, 22)"
((${#archs[@]})) || archs=(sm_90)
for arch in "${archs[@]}"; do
    [[ $arch =~ ^(sm_[0-9]+[af]?|gfx[0-9]+[0-9a-f]?)$ ]] || usage "no GPU of NVIDIA's or AMD's: $arch"
done

tools=/usr/lib/llvm-$version/bin
[[ -x $tools/clang ]] || tools=$build/llvm-$version/usr/lib/llvm-$version/bin # of scripts/fetch-llvm.sh
[[ -x $tools/clang ]] || lack "no clang $version here (scripts/fetch-llvm.sh $version build/llvm-$version)"
for command in llvm-link opt llvm-ar clang-offload-packager; do
    [[ -x $tools/$command ]] || lack "no $tools/$command here"
done
series=()
for patch in "$root/patches/llvm-$version"/*.patch; do
    ! grep -qE '^diff .* b/(offload/DeviceRTL|openmp/device)/' "$patch" || series+=("$patch")
done
result=$build/llvm-$version-device
work=$build/llvm-$version-runtimes/device
wanted=$(cat "$0" "${series[@]}" <("$tools/clang" --version) | sha256sum | cut -c1-40)
if [[ $(cat "$result/complete" 2>/dev/null) != "$wanted" ]]; then
    rm -rf "$result"
fi

# Sets triple, kind and flags to what LLVM calls such GPUs, and needs for them.
describe() # ARCH
{
    case $1 in
        sm_*) triple=nvptx64-nvidia-cuda kind=nvptx flags=(--cuda-feature=+ptx63) ;;
        gfx*) triple=amdgcn-amd-amdhsa kind=amdgpu flags=(-Xclang -mcode-object-version=none) ;;
    esac
    [[ $("$tools/clang" --print-targets) =~ [[:space:]]${triple%%-*}[[:space:]] ]] ||
        lack "$tools/clang makes no code for ${triple%%-*}"
}

unpack()
{
    local archive patch members=('*/offload/DeviceRTL' '*/offload/include' '*/llvm/include/llvm/Frontend/OpenMP')
    [[ $version == 19 ]] || members=('*/openmp/device' '*/offload/include' '*/libc/shared')
    archive=$(fetch_llvm_source "$version" "$build/llvm-source" 2> >(sed 's/^/build-device-runtime: /' >&2)) || exit 77
    echo "build-device-runtime: unpacking the device runtime"
    rm -rf "$work"
    mkdir -p "$work/source.part"
    tar -xJf "$archive" -C "$work/source.part" --strip-components=1 --wildcards "${members[@]}"
    for patch in "${series[@]}"; do
        patch -s -d "$work/source.part" -p1 <"$patch" || fail "${patch#"$root/"} does not apply"
    done
    mv "$work/source.part" "$work/source"
}

# All of its sources, to $objects/linked.bc.
compile() # RUNTIME FLAG...
{
    local runtime=$1 name file
    shift
    mkdir -p "$objects"
    rm -f "$objects"/*.bc
    for file in "$runtime"/src/*.cpp; do
        name=$(basename "$file" .cpp)
        [[ $name == Stub ]] ||
            "$tools/clang" -c -O3 -std=c++17 -fvisibility=hidden -nogpulib -mllvm -vectorize-slp=false \
                -DSHARED_SCRATCHPAD_SIZE=512 -Wno-unknown-cuda-version "-I$runtime/include" \
                "-I$work/source/offload/include" "$@" "${flags[@]}" "$file" -o "$objects/$name.bc" || return
    done
    "$tools/llvm-link" -o "$objects/linked.bc" "$objects"/*.bc
}

# As offload/DeviceRTL/CMakeLists.txt does, which needs all of LLVM to be built.
build19() # ARCH
{
    local runtime=$work/source/offload/DeviceRTL
    compile "$runtime" -foffload-lto -mllvm -openmp-opt-disable --offload-device-only -nocudalib -nostdinc -fopenmp \
        -fopenmp-cuda-mode -DOMPTARGET_DEVICE_RUNTIME "-I$work/source/llvm/include" --offload-arch="$1" &&
        "$tools/opt" -passes=internalize -internalize-public-api-file="$runtime/src/exports" "$objects/linked.bc" \
            -o "$objects/own.bc" &&
        "$tools/opt" -O3 -openmp-opt-disable -attributor-enable=module -vectorize-slp=false "$objects/own.bc" \
            -o "$objects/result.bc" &&
        "$tools/clang-offload-packager" -o "$objects/packed" \
            --image="file=$objects/result.bc,triple=$triple,arch=$1,kind=openmp" &&
        "$tools/clang" -c -Xclang -fembed-offload-object="$objects/packed" -o "$objects/devicertl-$kind-$1.o" \
            "$runtime/src/Stub.cpp" &&
        mkdir -p "$result" && "$tools/llvm-ar" rcs "$result/libomptarget.devicertl.a" "$objects/devicertl-$kind-$1.o" &&
        mv "$objects/result.bc" "$result/libomptarget-$kind-$1.bc"
}

# As openmp/device/CMakeLists.txt does.
build22()
{
    compile "$work/source/openmp/device" --target="$triple" -flto -nostdlibinc -fno-rtti -fno-exceptions \
        -fconvergent-functions "-I$work/source/libc" &&
        "$tools/opt" -O3 -vectorize-slp=false "$objects/linked.bc" -o "$objects/libomptarget-$kind.bc" &&
        "$tools/llvm-ar" rcs "$objects/libompdevice.a" "$objects/libomptarget-$kind.bc" &&
        mkdir -p "$result/$triple" && mv "$objects/libompdevice.a" "$objects/libomptarget-$kind.bc" "$result/$triple/"
}

stamp=$(cat "$0" "${series[@]}" | sha256sum)
for arch in "${archs[@]}"; do
    describe "$arch"
    file=$result/libomptarget-$kind-$arch.bc objects=$work/$arch
    [[ $version == 19 ]] || file=$result/$triple/libomptarget-$kind.bc objects=$work/$triple
    if [[ ! -e $file ]]; then
        [[ -d $work/source && $(cat "$work/stamp" 2>/dev/null) == "$stamp" ]] || { unpack; echo "$stamp" >"$work/stamp"; }
        "build$version" "$arch" || fail "the device runtime for $arch cannot be built"
        echo "$wanted" >"$result/complete"
    fi
    echo "build-device-runtime: $file"
done
