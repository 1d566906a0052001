#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The share of a run in which the GPU computes: an out-of-core product C = A B (gemm3d), simulated from the first load to
the last result in host memory, on a GPU whose link brings a tile in --load seconds each way, for kernels of several
durations and memory for all data or a part of them. With --trace, FOLDER gets a timeline of each run."""

import argparse
import os
import pathlib
import tempfile

import simulator

TILE = 960
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="node" routing="Full">
<host id="ram" speed="1Gf"><prop id="kernels" value="gpu.times"/><prop id="peak" value="1"/>
<prop id="peer" value="no"/><prop id="slots" value="1"/></host>
<host id="gpu0" speed="1Gf"/>
<link id="in" bandwidth="{rate}Bps" latency="5us" sharing_policy="SHARED"/>
<link id="out" bandwidth="{rate}Bps" latency="5us" sharing_policy="SHARED"/>
<route src="ram" dst="gpu0" symmetrical="NO"><link_ctn id="in"/></route>
<route src="gpu0" dst="ram" symmetrical="NO"><link_ctn id="out"/></route>
</zone></platform>
"""


def busy(options, folder, kernel, part, when):
    folder.joinpath("gpu.times").write_text(f"gemm {TILE} {kernel * 1e-3}\n", encoding="utf-8")
    folder.joinpath("gpu.xml").write_text(PLATFORM.format(rate=TILE * TILE * 4 / (options.load * 1e-3)), encoding="utf-8")
    memory = 3 * options.n ** 2 * TILE * TILE * 4 // part
    more = ["--trace", f"{options.trace}/{kernel}-{part}-{when}.json"] if options.trace else []
    row = simulator.run(options.sim, workload=f"gemm3d:n={options.n},tile={TILE}", platform=folder / "gpu.xml", mem=memory,
                        sched=options.sched, results=when, more=more)
    return options.n ** 3 * kernel * 1e-3 / float(row["makespan_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    simulator.add_argument(parser)
    parser.add_argument("--n", type=int, default=16, help="tiles per side (default: 16)")
    parser.add_argument("--load", type=float, default=0.305, help="ms (default: 0.305)")
    parser.add_argument("--kernels", default="0.31,1,2", help="ms (default: 0.31,1,2)")
    parser.add_argument("--parts", default="1,2,4,8,16", help="of the data that fit into memory (default: 1,2,4,8,16)")
    parser.add_argument("--sched", default="darts")
    parser.add_argument("--trace", metavar="FOLDER")
    options = simulator.parse(parser)
    if options.trace:
        os.makedirs(options.trace, exist_ok=True)
    parts = [int(part) for part in options.parts.split(",")]
    print(f"| kernel, results | {' | '.join(f'1/{part}' for part in parts)} |")
    print("|---" * (len(parts) + 1) + "|")
    with tempfile.TemporaryDirectory() as name:
        for kernel in options.kernels.split(","):
            for when in ("late", "early"):
                shares = [busy(options, pathlib.Path(name), float(kernel), part, when) for part in parts]
                print(f"| {kernel} ms, {when} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
