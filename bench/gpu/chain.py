#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a task costs beside its kernel where each depends on the one before it (bench/gpu/chain.c), on the double of NVIDIA's
driver, launched by LLVM's own CUDA plug-in: microseconds from the end of a kernel to the beginning of the next one. Kernels
take the time that is given; nothing is computed. --beside BUILD compares the library of another build, in turns."""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

from timeline import add_common_options, as_a_device_driver, compile_program


def link(options, program, build, kernel):
    """Microseconds of a link beside its kernel."""
    settings = {"LD_LIBRARY_PATH": f"{options.build}/cuda_double", "LD_PRELOAD": f"{build}/libompdarts.so",
                "CUDA_DOUBLE_DEVICES": "1", "CUDA_DOUBLE_KERNELS": "/nonexistent", "CUDA_DOUBLE_KERNEL_TIME": str(kernel * 1e-3)}
    done = subprocess.run([str(program), f"--chains={options.chains}", str(options.links)], text=True,
                          env={**os.environ, **settings}, stdout=subprocess.PIPE, check=True, timeout=600,
                          preexec_fn=None if options.ordinary else as_a_device_driver)
    return float(done.stdout) - options.chains * kernel * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_common_options(parser)
    parser.add_argument("--beside", metavar="BUILD", type=lambda text: pathlib.Path(text).resolve(), help="of another library")
    parser.add_argument("--kernels", default="0.05,0.1,0.2,0.31", help="ms (default: 0.05,0.1,0.2,0.31)")
    parser.add_argument("--chains", type=int, default=1, help="beside each other (default: 1)")
    parser.add_argument("--links", type=int, default=500, help="of each (default: 500)")
    parser.add_argument("--rounds", type=int, default=9, help="of which medians are shown (default: 9)")
    options = parser.parse_args()
    builds = [options.build] + [options.beside] * bool(options.beside)
    print("| kernel | " + " | ".join(str(build) for build in builds) + " |" + " ratio of the whole |" * (len(builds) - 1))
    print("|---" * (2 * len(builds)) + "|")
    with tempfile.TemporaryDirectory() as name:
        program = compile_program(options, pathlib.Path(name), "gpu/chain.c", ("common/command.c", "common/memory.c"))
        for kernel in map(float, options.kernels.split(",")):
            runs = [[link(options, program, build, kernel) for build in builds] for _ in range(options.rounds)]
            medians = [statistics.median(column) for column in zip(*runs)]
            whole = [median + options.chains * kernel * 1e3 for median in medians]
            print(f"| {kernel:g} ms | " + " | ".join(f"{median:.0f} us" for median in medians) + " |" +
                  "".join(f" {whole[0] / other:.3f} |" for other in whole[1:]), flush=True)


if __name__ == "__main__":
    main()
