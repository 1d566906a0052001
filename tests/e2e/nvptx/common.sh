# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the drivers of this room share: programs built for NVIDIA's GPUs, run by LLVM's own CUDA plug-in on the driver's
# double.
# More from the environment:
#   E2E_NVPTX_CLANG  of the LLVM in question   E2E_NVPTX_LIBDIR  its libomptarget's folder
#   E2E_LIBOMP_DIR  that of libomp
#   E2E_CUDA_TOOLKIT  what stands for CUDA's (tests/cuda_toolkit)
#   E2E_DEVICE_RUNTIME  that of scripts/build-device-runtime.sh, which may not be there   E2E_AMD_RUNTIME  for AMD's GPUs
. "$(dirname "$0")/../common.sh"
export CUDA_DOUBLE_STATS=$work/driver CUDA_DOUBLE_DEVICES=2
flags=(-O2 -fopenmp -w)
folders=("-L$E2E_NVPTX_LIBDIR" "-L$E2E_LIBOMP_DIR" "-Wl,-rpath,$E2E_NVPTX_LIBDIR" "-Wl,-rpath,$E2E_LIBOMP_DIR")

# with_leagues [RUNTIME]: programs that are built from now on have the device runtime of patches/, and leagues as GPUs have
# them, with the numbers that RUNTIME gives
league=() runtime=(-nogpulib)
with_leagues() {
    local numbers=${1-$E2E_DEVICE_RUNTIME} needed
    for needed in "$E2E_DEVICE_RUNTIME" "$numbers"; do
        [ -e "$needed" ] || { echo "skipped: no $needed (scripts/build-device-runtime.sh)"; exit 77; }
    done
    "$sources/../cuda_toolkit/league.sh" "$E2E_NVPTX_CLANG" "$numbers" "$work" || exit 1
    league=("$work/league.o")
    runtime=("--libomptarget-nvptx-bc-path=$E2E_DEVICE_RUNTIME" -Xoffload-linker "-L${E2E_DEVICE_RUNTIME%/*}")
}

# build NAME SOURCE… [FLAG…]: $work/NAME, and the code of its kernels beside it
build() {
    local name=$1 source object objects=() more=()
    shift
    for source; do
        case $source in
        -*) more+=("$source") ;;
        esac
    done
    for source; do
        case $source in
        -*) continue ;;
        esac
        object=$work/$name-${source##*/}.o
        objects+=("$object")
        "$E2E_NVPTX_CLANG" "${flags[@]}" "${more[@]}" -fPIC -fopenmp-targets="$E2E_TRIPLE" --offload-device-only \
            -c "$source" -o "$object" || exit 1
    done
    "$E2E_NVPTX_CLANG" -shared "${objects[@]}" "${league[@]}" -o "$work/$name.kernels" "-L$E2E_CUDA_TOOLKIT/lib" \
        "-Wl,-rpath,$E2E_CUDA_TOOLKIT/lib" -lkmp -lm || exit 1
    "$E2E_NVPTX_CLANG" "${flags[@]}" --offload-arch=sm_90 --cuda-path="$E2E_CUDA_TOOLKIT" "${runtime[@]}" "$@" \
        -o "$work/$name" "${folders[@]}" -lm -lpthread || exit 1
}

# right [VAR=VALUE…] PROGRAM ARGUMENTS… : under the library as without it, and CUDA is used as its manual says
right() {
    under 0 "$@"
    same_output
    driver "misuses == 0" "not set(without_context) - {'cuModuleUnload'}" # LLVM 22 unloads from whatever thread ends
}
