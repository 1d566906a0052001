#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The share of a run in which a GPU computes, on the double of NVIDIA's driver: an out-of-core product C = A B
(bench/gemm3d), built for GPUs and launched by LLVM's own CUDA plug-in, from its first task to its last result in host
memory. Kernels and copies take the time that is given; nothing is computed. The double keeps the time of a device: what is
queued follows what is before it without a gap, however late this machine's processors come to it. What our threads add is
real time, and so is what they lose to other programs: runs have real-time priority where the system allows it, and --slow N
makes kernels and copies N times as long, so that N times less of that shows. --trace FOLDER leaves a timeline of each run
for `ompdarts report`."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("kernels/program.c", "common/check.c", "common/command.c", "common/memory.c", "common/random.c", "gpu/cuda.c",
           "gpu/device.c", "kernels/gpu_blas.c")
TILE = 192  # its bytes are above what is copied through small buffers; the time they take is given


def cached(build, name):
    """A setting of CMake's."""
    text = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{name}:\w*=(.+)$", text, re.MULTILINE)
    return found.group(1) if found else None


def compile_program(options, folder, name="kernels/gemm3d.c", more=PRODUCT):
    """A source of bench/, and others of which it needs."""
    build, program = options.build, folder / pathlib.Path(name).stem
    llvm, openblas = options.llvm or cached(build, "OMPDARTS_LLVM_ROOT") or "/usr/lib/llvm-19", cached(build, "OMPDARTS_OPENBLAS")
    files = [SOURCES / "bench" / source for source in (name, *more)]
    folders = [word for path in (f"{llvm}/lib", options.libomp or f"{llvm}/lib") for word in (f"-L{path}", f"-Wl,-rpath,{path}")]
    subprocess.run([f"{llvm}/bin/clang", "-O2", "-fopenmp", "-w", "--offload-arch=sm_90", "-nogpulib", "-DBENCH_GPU",
                    f"--cuda-path={build}/cuda_toolkit", f"-I{SOURCES}", f"-I{SOURCES}/omp_ext/hooks",
                    f"-I{cached(build, 'OMPDARTS_CBLAS_INCLUDE')}", *map(str, files), "-o", str(program), *folders, openblas,
                    "-lm"], check=True)
    return program


def as_a_device_driver():
    """Before others' threads, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


def busy(options, program, sched, kernel, part, cache, measures=False):
    """The share of a run that finds what others have left in the folder `cache`; `measures`: one that leaves the links'
    rates there, for which threads must not keep each other waiting."""
    tile_bytes = TILE * TILE * 4
    kernel_s, load_s = kernel * 1e-3 * options.slow, options.load * 1e-3 * options.slow
    settings = {"LD_LIBRARY_PATH": f"{options.build}/cuda_double", "LD_PRELOAD": f"{options.build}/libompdarts.so",
                "CUDA_DOUBLE_DEVICES": "1", "CUDA_DOUBLE_MEMORY": "4Gi", "CUDA_DOUBLE_KERNELS": "/nonexistent",
                "CUDA_DOUBLE_KERNEL_TIME": str(kernel_s), "CUDA_DOUBLE_BANDWIDTH": str(tile_bytes / load_s),
                "CUDA_DOUBLE_PIN_BANDWIDTH": str(options.pin * tile_bytes / load_s), "XDG_CACHE_HOME": str(cache),
                "OMPDARTS_SCHED": sched, "OMPDARTS_MEM": str(3 * options.n ** 2 * tile_bytes // part),
                "LIBOMP_NUM_HIDDEN_HELPER_THREADS": "0"}
    if options.trace and not measures:
        settings["OMPDARTS_TRACE"] = f"{options.trace}/{sched}-{kernel:g}-{part}.json"
    done = subprocess.run([str(program), "--json", "--no-check", "--warm-up", *["--pinned"] * options.pinned,
                           str(options.n), str(TILE)], text=True, env={**os.environ, **settings}, stdout=subprocess.PIPE, check=True, timeout=600,
                          preexec_fn=None if options.ordinary or measures else as_a_device_driver)
    line = json.loads(done.stdout.splitlines()[-1])
    if line.get("scheduled_tasks") != options.n ** 3:
        sys.exit("timeline.py: the library has not scheduled the tasks")
    return options.n ** 3 * kernel_s / line["seconds"]


def add_common_options(parser):
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), default=SOURCES / "build",
                        help="default: build/")
    parser.add_argument("--llvm", metavar="FOLDER", help="whose clang and plug-in (default: the build's)")
    parser.add_argument("--libomp", metavar="FOLDER", help="with libomp (default: of that LLVM)")
    parser.add_argument("--ordinary", action="store_true", help="no real-time priority")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_common_options(parser)
    parser.add_argument("--n", type=int, default=16, help="tiles per side (default: 16)")
    parser.add_argument("--load", type=float, default=0.305, help="of a tile, ms (default: 0.305)")
    parser.add_argument("--pin", type=float, default=0.15, help="speed of pinning, in that of the link (default: 0.15)")
    parser.add_argument("--pinned", action="store_true", help="the program's memory is page-locked from the beginning")
    parser.add_argument("--kernels", default="0.31,1", help="ms (default: 0.31,1)")
    parser.add_argument("--parts", default="1,2,4,8,16", help="of the data that fit into memory (default: 1,2,4,8,16)")
    parser.add_argument("--scheds", default="darts,stationary", help="policies (default: darts,stationary)")
    parser.add_argument("--slow", type=float, default=1, metavar="N")
    parser.add_argument("--trace", metavar="FOLDER")
    options = parser.parse_args()
    if options.trace:
        os.makedirs(options.trace, exist_ok=True)
    parts = [int(part) for part in options.parts.split(",")]
    print(f"| kernel, policy | {' | '.join(f'1/{part}' for part in parts)} |")
    print("|---" * (len(parts) + 1) + "|")
    with tempfile.TemporaryDirectory() as name:
        program = compile_program(options, pathlib.Path(name))
        for kernel in map(float, options.kernels.split(",")):
            cache = pathlib.Path(name) / f"{kernel:g}"
            cache.mkdir()
            busy(options, program, "eager", kernel, 1, cache, measures=True)
            for sched in options.scheds.split(","):
                shares = [busy(options, program, sched, kernel, part, cache) for part in parts]
                print(f"| {kernel:g} ms, `{sched}` | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
