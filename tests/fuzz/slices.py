#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random synchronous kernels over whole arrays, in slices and whole.

usage: slices.py --clang CLANG --library LIBRARY [--kernels N] [--seed S] [--settings N] [--only TEXT] [--keep FOLDER] [--gpus BUILD]

Each program has twenty kernels (slices_kernels.py), run several rounds in random order, some of them by two threads
of the host at a time. Kernels work on arrays of several sizes and layouts, static or allocated: in one data region
around all rounds or in each, entered, or mapped by each kernel; in between the host changes parts of them. No kernel
has a race, and nothing rounds, so the program without the library is the reference; with it, under several settings
of OMPDARTS_SLICE, it must print the same. With --gpus all run on the double of NVIDIA's driver in that build folder,
with a device runtime of scripts/build-device-runtime.sh, which says in kernels which team is which.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from slices_kernels import Kernel, base

PER_PROGRAM = 20
SETTINGS = ["OMPDARTS_SLICE=4", "OMPDARTS_SLICE=auto", "OMPDARTS_SLICE=3 OMPDARTS_DEVICES=2 OMP_NUM_THREADS=8",
            "OMPDARTS_SLICE=6 OMPDARTS_DEBUG=jitter=0.0005", "OMPDARTS_SLICE=4 OMPDARTS_MEM={memory}",
            "OMPDARTS_SLICE=4 OMPDARTS_CPU=1", "OMPDARTS_SLICE=4 OMP_NUM_THREADS=1",
            "OMPDARTS_SLICE=off OMP_NUM_THREADS=1", "OMPDARTS_SLICE=eager:4",
            "OMPDARTS_SLICE=eager:5 OMPDARTS_DEVICES=3 OMPDARTS_DEBUG=jitter=0.0005",
            "OMPDARTS_SLICE=eager OMPDARTS_DEVICES=3 OMPDARTS_MEM={memory}",
            "OMPDARTS_SLICE=3 OMPDARTS_CPU=auto OMPDARTS_MEM={memory} OMPDARTS_BACKEND=omptarget:slow=3"]

GPU_SETTINGS = ["OMPDARTS_SLICE=2 CUDA_DOUBLE_DEVICES=2", "OMPDARTS_SLICE=4 CUDA_DOUBLE_DEVICES=4 OMP_NUM_THREADS=2",
                "OMPDARTS_SLICE=auto CUDA_DOUBLE_DEVICES=3 CUDA_DOUBLE_JITTER=0.0001",
                "OMPDARTS_SLICE=4 CUDA_DOUBLE_DEVICES=4 OMPDARTS_COHERENCE=depend OMPDARTS_SCHED=eager "
                "OMPDARTS_MEM={memory}"]

HEAD = """#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum {{ N = {n}, W = {w}, H = N / W, FEW = {few}, HALF = N / 3 + 5, ROUNDS = 6, KERNELS = {kernels} }};
#define WIDE(i, field) {wide}
{a}{b}{c}static double reals[N];
static int8_t bytes[N];
static struct {{
    int64_t x;
    int32_t y;
    double z;
    int8_t w;
}} cells[N];
static int64_t half[HALF], wide[3 * N], grid[H][W + {padding}], list[N], count[1];
static struct {{
    int64_t before, *p;
}} box;
static int64_t *rows[H];
static int64_t few[FEW], few_one[3], few_two[3];
static int32_t thin[FEW], at[N], way[N];
static float floats[FEW];
static int16_t shorts[FEW];
enum {{ TEAMS = 64, THREADS = 256 }};
static volatile int64_t own[TEAMS * THREADS];
static uint64_t reduced[KERNELS + 1];
typedef struct best {{
    int64_t value, index;
}} best;
#pragma omp declare reduction(least : best : omp_out = omp_in.value < omp_out.value || (omp_in.value == omp_out.value && \
    omp_in.index < omp_out.index) ? omp_in : omp_out) initializer(omp_priv = (best){{INT64_MAX, INT64_MAX}})
#pragma omp declare reduction(more : best : omp_out.value += omp_in.value, omp_out.index ^= omp_in.index) \
    initializer(omp_priv = (best){{0, 0}})
#pragma omp declare reduction(longest : double : omp_out = omp_in > omp_out ? omp_in : omp_out) \
    initializer(omp_priv = omp_orig)
typedef struct call {{
    void (*kernel)(int64_t r);
    int64_t r;
}} call;
static void *run_call(void *arg)
{{
    call *c = arg;
    c->kernel(c->r);
    return NULL;
}}
static void both(void (*one)(int64_t), void (*other)(int64_t), int64_t r)
{{
    call c = {{other, r}};
    pthread_t thread;
    pthread_create(&thread, NULL, run_call, &c);
    one(r);
    pthread_join(thread, NULL);
}}

"""
START = """int main(void)
{{
{allocate}    box.p = calloc(N, sizeof *box.p);
    for (int p = 0; p < H; p++)
        rows[p] = calloc(W, sizeof **rows);
    for (int i = 0; i < N; i++) {{
        a[i] = i % 1009, b[i] = i % 31, c[i] = 0;
        reals[i] = i % 77, bytes[i] = (int8_t)i;
        cells[i].x = i, cells[i].y = -i, cells[i].z = i % 7, cells[i].w = (int8_t)(i * 3);
        half[i % HALF] = i, wide[3 * i] = i, wide[3 * i + 1] = i ^ 5, wide[3 * i + 2] = 1, grid[i / W][i % W] = i % 13;
        box.p[i] = i % 19, rows[i / W][i % W] = -i;
        at[i] = (int32_t)((uint32_t)i * 2654435761u % N), way[i] = (int32_t)((int64_t)i * 7919 % N);
    }}
"""
END = """    uint64_t s = 0;
    for (int i = 0; i < N; i++) {{
        s = s * 31 + (uint64_t)(a[i] ^ b[i] * 3 ^ c[i] * 5 ^ (int64_t)reals[i] * 7 ^ bytes[i] * 11);
        s = s * 31 + (uint64_t)(cells[i].x ^ cells[i].y * 3 ^ (int64_t)cells[i].z * 5 ^ cells[i].w * 7);
        s = s * 31 + (uint64_t)(half[i % HALF] ^ wide[i] * 3 ^ wide[N + i] * 5 ^ wide[2 * N + i] * 7);
        s = s * 31 + (uint64_t)grid[i / W][i % W];
        s = s * 31 + (uint64_t)(box.p[i] ^ rows[i / W][i % W] * 3);
    }}
    for (int i = 0; i < FEW; i++)
        s = s * 31 + (uint64_t)(few[i] ^ thin[i] * 3 ^ (int64_t)(floats[i] * 2) * 5 ^ shorts[i] * 7);
    for (int i = 0; i < 3; i++)
        s = s * 31 + (uint64_t)(few_one[i] ^ few_two[i] * 3);
    printf("%llx", (unsigned long long)s);
    for (int k = 0; k <= KERNELS; k++)
        printf(" %llx", (unsigned long long)reduced[k]);
    printf("\\n");
    return 0;
}}
"""
ALWAYS = ["a", "b", "c"]                                            # static or allocated
STATIC = ["reals", "bytes", "half", "cells", "wide", "grid", "few"] # each in some programs
REST = ["list", "count", "thin", "floats", "shorts", "few_one", "few_two"]


class World:
    """What a program's kernels work on, and where that is mapped."""

    def __init__(self, rnd, host):
        self.rnd, self.host = rnd, host
        self.w = rnd.choice([64, 100, 512])
        self.n = self.w * rnd.choice([40, 128, 300])
        self.few = rnd.choice([5, 600, 20000])
        self.allocated = {name for name in ALWAYS if rnd.random() < 0.3}
        self.arrays = set(ALWAYS) | {"few"} | set(rnd.sample(STATIC[:-1], rnd.choice([0, 1, 3, 6])))
        self.pointers = [name for name in ("box", "rows") if host and rnd.random() < 0.15]
        self.arrays |= set(self.pointers)
        self.frame = rnd.choice(["around", "around", "around", "each", "enter", "some"])
        mapped = [name for name in ALWAYS + STATIC if name in self.arrays] + REST
        if self.frame == "some": # others are mapped by each kernel
            mapped = [name for name in mapped if name in self.allocated or rnd.random() < 0.5]
        self.present = set(mapped)
        self.prints = host and rnd.random() < 0.05

    def section(self, name):
        return f"{name}[0 : N]" if name in self.allocated else name

    def bytes(self):
        """Of all that is mapped, about."""
        of_elements = {"reals": 8, "bytes": 1, "half": 8 / 3, "cells": 32, "wide": 24, "grid": 9, "box": 8, "rows": 8}
        return int(self.n * (24 + 16 + sum(of_elements.get(name, 0) for name in self.arrays)) + self.few * 18)

    def head(self, kernels):
        rnd = self.rnd
        arrays = {name: "static int64_t "
                        f"{'*' if name in self.allocated else ''}{name}{'' if name in self.allocated else '[N]'};\n"
                  for name in ALWAYS}
        return HEAD.format(n=self.n, w=self.w, few=self.few, kernels=kernels, padding=rnd.choice([0, 0, 3, 16]),
                           wide=rnd.choice(["(3 * (i) + field)", "((i) + field * N)"]), **arrays)

    def start(self):
        shift = self.rnd.choice([0, 0, 1, 5, 509])
        text = "".join(f"    {name} = (int64_t *)calloc(N + {shift}, 8) + {shift};\n"
                       for name in sorted(self.allocated))
        text = START.format(allocate=text)
        if "box" in self.pointers:
            text += "#pragma omp target enter data map(to : box) map(to : box.p[0 : N])\n"
        if "rows" in self.pointers:
            text += ("#pragma omp target enter data map(to : rows)\n    for (int p = 0; p < H; p++) {\n"
                     "#pragma omp target enter data map(to : rows[p][0 : W])\n    }\n")
        return text

    def rounds(self, calls):
        present = ", ".join(self.section(name) for name in sorted(self.present))
        lists = f"map(to : at, way) map(alloc : own) map(tofrom : {present})"
        loop = "    for (int64_t r = 0; r < ROUNDS; r++) {\n"
        if self.frame == "each":
            return f"{loop}#pragma omp target data {lists}\n    {{\n{calls}    }}\n    }}\n"
        if self.frame == "enter":
            enter, leave = lists.replace("tofrom", "to"), lists.replace("tofrom", "from")
            leave = leave.replace("map(to ", "map(release ").replace("alloc", "delete")
            return f"#pragma omp target enter data {enter}\n{loop}{calls}    }}\n#pragma omp target exit data {leave}\n"
        return f"#pragma omp target data {lists}\n{loop}{calls}    }}\n"

    def end(self):
        text = ""
        if "box" in self.pointers:
            text += "#pragma omp target exit data map(from : box.p[0 : N])\n"
        if "rows" in self.pointers:
            text += ("    for (int p = 0; p < H; p++) {\n#pragma omp target exit data map(from : rows[p][0 : W])\n"
                     "    }\n")
        return text + END.format()

    def update(self):
        """The host takes a part of an array, changes it and gives it back, or regions hold a part for a time."""
        rnd = self.rnd
        x = rnd.choice(ALWAYS)
        first = rnd.choice([0, 1, 511, self.n // 3, self.n // 2])
        length = rnd.choice([1, 17, 512, self.n // 4, self.n // 2])
        stride = rnd.choice([1, 1, 2, 7]) if x not in self.allocated else 1
        part = f"{x}[{first} : {length}]"
        if stride > 1: # of such sections clang 19 moves the elements up to the count, 22 those from first * stride on
            first, length = 0, (length - 1) // stride + 1
            part = f"{x}[0 : {length} : {stride}]"
        change = (f"        for (int64_t j = {first}; j < {first} + {length}; j += {stride})\n"
                  f"            reduced[KERNELS] = reduced[KERNELS] * 31 + (uint64_t){x}[j], {x}[j] ^= r;\n")
        if rnd.random() < 0.7 or stride > 1:
            return f"#pragma omp target update from({part})\n{change}#pragma omp target update to({part})\n"
        if x not in self.present:
            return ""
        return (f"#pragma omp target enter data map(to : {part})\n#pragma omp target update from({self.section(x)})\n"
                f"        reduced[KERNELS] ^= (uint64_t){x}[{first} + r % {length}];\n#pragma omp target exit data "
                f"map(release : {part})\n")


def pairs(rnd, kernels):
    """Kernels in random order, some of them two at a time, which two threads of the host launch."""
    order = list(kernels)
    rnd.shuffle(order)
    while order:
        one = order.pop()
        used = {base(n) for n in one.reads | one.writes}
        others = [k for k in order if not used & {base(n) for n in k.writes} and
                  not {base(n) for n in one.writes} & {base(n) for n in k.reads}]
        if others and rnd.random() < 0.15:
            order.remove(others[0])
            yield [one, others[0]]
        else:
            yield [one]


def program(seed, host):
    """Its text, and the bytes of its arrays. The first line says what its environment is to be."""
    rnd = random.Random(seed)
    world = World(rnd, host)
    kernels = [Kernel(rnd, k, world) for k in range(PER_PROGRAM)]
    calls = ""
    for group in pairs(rnd, kernels):
        if len(group) == 1:
            again = rnd.random() < 0.05 # so often that arrays may be in one piece again after slices
            calls += f"        {f'for (int t = 0; t < {rnd.choice([10, 20, 40])}; t++) ' if again else ''}k{group[0].number}(r);\n"
        else:
            calls += f"        both(k{group[0].number}, k{group[1].number}, r);\n"
        if rnd.random() < 0.12:
            calls += world.update()
    settings = [s for s in ("OMP_SCHEDULE=dynamic,20", "OMP_NUM_TEAMS=3", "OMP_TEAMS_THREAD_LIMIT=2",
                            "OMP_DYNAMIC=true", "OMP_MAX_ACTIVE_LEVELS=2", "OMP_WAIT_POLICY=passive") if host and rnd.random() < 0.1]
    text = "// run: " + " ".join(settings + ["OMP_CANCELLATION=true"]) + "\n" + world.head(PER_PROGRAM)
    text += "".join(k.text for k in kernels) + world.start() + world.rounds(calls) + world.end()
    return text, world.bytes()


def run(command, settings=(), timeout=120):
    environment = dict(os.environ, LIBOMP_NUM_HIDDEN_HELPER_THREADS="0", OMPDARTS_CACHE="0", KMP_BLOCKTIME="0")
    return subprocess.run(["env", *settings, *command], env=environment, capture_output=True, text=True, timeout=timeout, check=False)


def commands(options, source, binary, level):
    """How the program is built."""
    llvm = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(options.clang))), "lib")
    libraries = [flag for folder in [llvm] + options.libdir for flag in ("-L" + folder, "-Wl,-rpath," + folder)]
    start = [options.clang, level, "-w", "-fwrapv", "-fopenmp", "-fopenmp-targets=" + options.triple]
    if not options.gpus:
        mathematics = ["-Xoffload-linker", "-lm", "-lm"] # `scan` calls log2()
        return [start + [source, "-o", binary] + libraries + mathematics]
    toolkit = options.gpus + "/cuda_toolkit"
    tools = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cuda_toolkit")
    folder = os.path.dirname(binary)
    return [[os.path.join(tools, "league.sh"), options.clang, options.numbers or options.runtime, folder],
            start + ["-fPIC", "--offload-device-only", "-c", source, "-o", binary + ".o"],
            [options.clang, "-shared", binary + ".o", folder + "/league.o", "-o", binary + ".kernels", f"-L{toolkit}/lib",
             f"-Wl,-rpath,{toolkit}/lib", "-lkmp", "-lm"],
            [options.clang, level, "-w", "-fwrapv", "-fopenmp", "--offload-arch=sm_90", "--cuda-path=" + toolkit,
             "--libomptarget-nvptx-bc-path=" + options.runtime, "-Xoffload-linker", "-L" + os.path.dirname(options.runtime),
             source, "-o", binary] + libraries]


def surroundings(options):
    if not options.gpus:
        return []
    return [f"LD_LIBRARY_PATH={options.gpus}/cuda_double", "CUDA_DOUBLE_MEMORY=1Gi", "OMPDARTS_BACKEND=cuda:loads=2",
            "OMP_NUM_THREADS=1"]


def try_one(seed, options, folder):
    """What is wrong, or None."""
    text, size = program(seed, not options.gpus)
    around = text.split("\n", 1)[0].split()[2:] + surroundings(options)
    rnd = random.Random(seed)
    level = rnd.choice(["-O1" if options.gpus else "-O0", "-O1", "-O1", "-O2", "-O3"]) # LLVM 19's NVPTX fails with -O0
    settings = [s for s in (GPU_SETTINGS if options.gpus else SETTINGS) if options.only in s]
    source, binary = os.path.join(folder, "p.c"), os.path.join(folder, "p")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    for command in commands(options, source, binary, level):
        built = run(command)
        if built.returncode:
            return "does not compile:\n" + built.stderr
    plain = run([binary], around + ["CUDA_DOUBLE_STREAM_CONTEXT=0"])
    if plain.returncode: # of libomp's assertions and the like
        options.invalid += 1
        print(f"seed {seed}: exit code {plain.returncode} without the library: {plain.stderr[-200:]}", flush=True)
        return None
    for setting in rnd.sample(settings, min(options.settings, len(settings))):
        words = around + setting.format(memory=size * (3 if options.gpus else 2) // 3 + 300000).split()
        stats = os.path.join(folder, "stats")
        got = run([binary], words + ["LD_PRELOAD=" + options.library, "OMPDARTS_STATS=" + stats])
        if got.returncode and "which began early" in got.stderr: # said, and nothing is wrong
            options.ended += 1
            continue
        if got.returncode or got.stdout != plain.stdout:
            return (f"{level}, {setting}: exit code {got.returncode}\n{got.stdout}instead "
                    f"of\n{plain.stdout}{got.stderr[:500]}")
        with open(stats, encoding="utf-8") as file:
            kernels = json.load(file).get("kernels", [])
        options.sliced += sum(k["sliced"] > 0 for k in kernels)
        options.early += sum(k.get("early", 0) > 0 for k in kernels)
        options.all += len(kernels)
        for k in kernels:
            reason = k.get("reason", "") if not k["sliced"] else "in slices"
            options.reasons[reason] = options.reasons.get(reason, 0) + 1
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clang", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--triple", default="x86_64-pc-linux-gnu")
    parser.add_argument("--kernels", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gpus", metavar="BUILD", help="on the double of the CUDA driver in this build folder")
    parser.add_argument("--runtime", metavar="FILE", help="of build-device-runtime.sh, for NVIDIA's GPUs; that of LLVM 19")
    parser.add_argument("--numbers", metavar="FILE", help="likewise, perhaps for AMD's, which says which team is which")
    parser.add_argument("--libdir", action="append", default=[], help="where libomp is, if not beside clang's libraries")
    parser.add_argument("--settings", type=int, default=99, help="how many of them for each program, drawn at "
                                                                 "random; all")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the settings, those with this in them")
    parser.add_argument("--keep", help="where programs that fail are left")
    options = parser.parse_args()
    options.runtime = options.runtime or f"{options.gpus}/llvm-19-device/libomptarget-nvptx-sm_90.bc"
    if options.gpus and not os.path.exists(options.runtime):
        print("skipped: no device runtime (scripts/build-device-runtime.sh)")
        return 77
    wrong, options.sliced, options.all, options.reasons, options.invalid = 0, 0, 0, {}, 0
    options.early = options.ended = 0
    programs = range(options.seed, options.seed + (options.kernels + PER_PROGRAM - 1) // PER_PROGRAM)
    for seed in programs:
        if seed % 10 == 0 and seed > options.seed:
            print(f"at seed {seed}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                what = try_one(seed, options, folder)
            except subprocess.TimeoutExpired as late:
                what = f"takes longer than {late.timeout} s: {late.cmd}"
            if what:
                wrong += 1
                print(f"seed {seed}: {what}", flush=True)
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    os.replace(os.path.join(folder, "p.c"), os.path.join(options.keep, f"slices-{seed}.c"))
    for reason, count in sorted(options.reasons.items(), key=lambda item: -item[1]):
        print(f"{count:6} {reason}")
    print(f"{len(programs)} programs of {PER_PROGRAM} kernels, {wrong} wrong, {options.invalid} fail without the "
          f"library; of {options.all} runs of kernels "
          f"{options.sliced} in slices, {options.early} early; {options.ended} runs of programs ended since slices began "
          "too early")
    return 1 if wrong or not options.sliced or options.invalid > len(programs) // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
