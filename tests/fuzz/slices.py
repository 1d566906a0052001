#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random synchronous kernels over whole arrays, in slices and whole.

usage: slices.py --clang CLANG --library LIBRARY [--kernels N] [--seed S] [--keep FOLDER] [--gpus BUILD]

Each program has ten kernels on four arrays in one data region, run several rounds in random order. Kernels read and
write their own elements, neighbours, elements backwards, by an index array, with atomics, in memory of their team's or
thread's own, and in one team whose iterations depend on each other; with collapse, private, lastprivate, firstprivate,
num_teams, thread_limit, dist_schedule, reductions of all operators and of the program's own, inside and outside of
data regions, critical sections, continue, and parallel regions inside. None has a race, and nothing rounds, so the
program without the library is the reference; with it, under several settings of OMPDARTS_SLICE, it must print the same.
With --gpus all run on the double of NVIDIA's driver in that build folder, with the device runtime of
scripts/build-device-runtime.sh there, which says in kernels which team is which.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

PER_PROGRAM = 10
SETTINGS = ["OMPDARTS_SLICE=4", "OMPDARTS_SLICE=auto", "OMPDARTS_SLICE=3 OMPDARTS_DEVICES=2 OMP_NUM_THREADS=8",
            "OMPDARTS_SLICE=6 OMPDARTS_DEBUG=jitter=0.0005", "OMPDARTS_SLICE=4 OMPDARTS_MEM={memory}",
            "OMPDARTS_SLICE=4 OMPDARTS_CPU=1",
            "OMPDARTS_SLICE=3 OMPDARTS_CPU=auto OMPDARTS_MEM={memory} OMPDARTS_BACKEND=omptarget:slow=3"]

GPU_SETTINGS = ["OMPDARTS_SLICE=2 CUDA_DOUBLE_DEVICES=2", "OMPDARTS_SLICE=4 CUDA_DOUBLE_DEVICES=4 OMP_NUM_THREADS=2",
                "OMPDARTS_SLICE=auto CUDA_DOUBLE_DEVICES=3 CUDA_DOUBLE_JITTER=0.0001",
                "OMPDARTS_SLICE=4 CUDA_DOUBLE_DEVICES=4 OMPDARTS_COHERENCE=depend OMPDARTS_SCHED=eager OMPDARTS_MEM={memory}"]

HEAD = """#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum {{ N = {n}, W = {w}, ROUNDS = {rounds} }};
static int64_t a[N], b[N], c[N], few[{few}];
static int32_t at[N];
enum {{ TEAMS = 64, THREADS = 256 }};
static volatile int64_t own[TEAMS * THREADS];
static uint64_t reduced;
typedef struct best {{
    int64_t value, index;
}} best;
#pragma omp declare reduction(least : best : omp_out = omp_in.value < omp_out.value || (omp_in.value == omp_out.value && \
    omp_in.index < omp_out.index) ? omp_in : omp_out) initializer(omp_priv = (best){{INT64_MAX, INT64_MAX}})
#pragma omp declare reduction(more : best : omp_out.value += omp_in.value, omp_out.index ^= omp_in.index) \
    initializer(omp_priv = (best){{0, 0}})
#pragma omp declare reduction(longest : double : omp_out = omp_in > omp_out ? omp_in : omp_out) \
    initializer(omp_priv = omp_orig)
static uint64_t sum(const int64_t *x, int n)
{{
    uint64_t s = 0;
    for (int i = 0; i < n; i++)
        s = s * 1099511628211u + (uint64_t)x[i];
    return s;
}}
"""
MAIN = """int main(void)
{{
    for (int i = 0; i < N; i++) {{
        a[i] = i % 1009, b[i] = i % 31, c[i] = 0;
        at[i] = (int32_t)((uint32_t)i * 2654435761u % N);
    }}
#pragma omp target data map(to : at) map(tofrom : a, b, c, few) map(alloc : own)
    for (int64_t r = 0; r < ROUNDS; r++) {{
{calls}    }}
    printf("%llx %llx %llx %llx %llx\\n", (unsigned long long)sum(a, N), (unsigned long long)sum(b, N),
           (unsigned long long)sum(c, N), (unsigned long long)sum(few, {few}), (unsigned long long)reduced);
    return 0;
}}
"""


# Operator, type, initial value, what an iteration does (V is a value of its own), what of the result is compared.
REDUCTIONS = [
    ("+", "int64_t", "r", "total += V;", "total"), ("+", "double", "0.5", "total += V;", "total * 2"),
    ("+", "int16_t", "3", "total += V;", "total"), ("-", "int64_t", "r", "total -= V;", "total"), ("*", "uint64_t", "5", "total *= 2 * V + 1;", "total"),
    ("&", "uint32_t", "~0u", "total &= ~(V & 0x1250u);", "total"), ("|", "uint8_t", "1", "total |= V & 0x5a;", "total"),
    ("^", "uint64_t", "r", "total ^= V * 2654435761u;", "total"), ("&&", "int", "1", "total = total && V != 77;", "total"),
    ("||", "int", "0", "total = total || V == 500;", "total"), ("min", "float", "900", "if (V < total) total = V;", "total"),
    ("max", "int32_t", "-5", "total = total > V ? total : V;", "total"),
    ("least", "best", "{990, 0}", "if (V < total.value || (V == total.value && i < total.index)) total = (best){V, i};",
     "total.value * N + total.index"),
    ("more", "best", "{r, r}", "total.value += V; total.index ^= i * 31;", "total.value * N + total.index"),
    ("longest", "double", "2.5", "if (V > total) total = V;", "total * 2"),
]


class Kernel:
    """One function with one target region."""

    def __init__(self, rnd, number, few):
        self.rnd, self.few = rnd, few
        self.clauses, self.extra = [], ""
        x, y = rnd.sample("abc", 2)
        body = self.body(x, y)
        loop = self.loop(body)
        self.text = f"static void k{number}(int64_t r)\n{{\n{self.before()}{loop}{self.extra}}}\n\n"

    def read(self, y):
        far = self.rnd.choice([1, 2, 63, 512, 1000])
        return self.rnd.choice([f"{y}[i]", f"{y}[N - 1 - i]", f"{y}[at[i]]", f"{y}[i / 2]", "r",
                                f"{y}[i] + {y}[i >= {far} ? i - {far} : 0]", f"{y}[(i + {far}) % N]"])

    def body(self, x, y):
        rnd = self.rnd
        kind = rnd.choice(["own"] * 5 + ["mirror", "stride", "atomic", "both", "branch", "inner", "continue", "numbers",
                           "scan"])
        self.scan = kind == "scan"
        value = self.read(y)
        if kind == "continue":
            return f"if ({y}[i] % 5 == 0) continue; {x}[i] = {value};"
        if kind == "scan":
            return f"{x}[i] = (i ? {x}[i - 1] : r) * 3 % 1000003 + {y}[i] % 7;"
        if kind == "numbers":
            when = rnd.choice(["1", "r > 2", "i % 3 == 0"])
            return (f"if ({when}) {{ int team = omp_get_team_num() % TEAMS, thread = omp_get_thread_num() % THREADS; "
                    f"own[team * THREADS + thread] = i; for (int64_t j = 0; j < 20; j++) own[team * THREADS + thread] += r; "
                    f"{x}[i] = own[team * THREADS + thread]; }}")
        if kind == "mirror":
            return f"{x}[N - 1 - i] = {value} + {x}[N - 1 - i] % 7;"
        if kind == "stride":
            return f"if (i % {rnd.choice([2, 5, 600])} == 0) {x}[i] += {value};"
        if kind == "atomic":
            return f"if (i % 97 == 0) {{\n_Pragma(\"omp atomic\")\nfew[i % {self.few}] += i + r;\n}}"
        if kind == "both":
            z = (set("abc") - {x, y}).pop()
            return f"{x}[i] = {value} + r; {z}[i] ^= {y}[i] + i;"
        if kind == "branch":
            return f"if ({y}[i] % 3 != 0) {x}[i] = {value};"
        if kind == "inner":
            return f"int64_t s = 0; for (int64_t j = 0; j < 5; j++) s += {y}[(i + j * 100) % N]; {x}[i] = s - r;"
        return f"{x}[i] = {x}[i] * 3 % 1000003 + {value};"

    def before(self):
        rnd = self.rnd
        rare = rnd.random()
        if rare < 0.06:
            self.clauses.append("dist_schedule(static, %d)" % rnd.choice([1, 10, 1000]))
        elif rare < 0.3:
            return self.reduce()
        elif rare < 0.36:
            self.clauses.append("private(own_value)")
            return "    int64_t own_value = 0;\n"
        elif rare < 0.46:
            self.clauses.append("firstprivate(shift)")
            return "    int64_t shift[3] = {r, 2 * r, 3};\n"
        elif rare < 0.58:
            self.clauses.append("lastprivate(last) map(tofrom : last)")
            self.extra = "    if (last != N - 1 + r) abort();\n"
            return "    int64_t last = -1;\n"
        return ""

    def reduce(self):
        operator, kind, initial, self.step, result = self.rnd.choice(REDUCTIONS)
        name, mapped = "total", "total"
        before = f"    {kind} total = {initial};\n"
        if self.rnd.random() < 0.2 and operator == "+":
            name, mapped = "total[0 : 5]", "total"
            before = f"    {kind} total[5] = {{1, 2, 3, 4, 5}};\n"
            self.step, result = "total[V % 5] += V;", "total[0] * 3 + total[1] * 5 + total[2] * 7 + total[3] * 9 + total[4]"
        self.clauses.append(f"reduction({operator} : {name}) map(tofrom : {mapped})")
        self.extra = f"    reduced = reduced * 31 + (uint64_t)(int64_t)({result});\n"
        if self.rnd.random() < 0.3:
            before += f"#pragma omp target data map(tofrom : {mapped})\n"
        return before

    def statements(self, body):
        text = body
        if any("reduction" in c for c in self.clauses): # first: it does not depend on whether the body goes on
            text = self.step.replace("V", "(at[i] % 1000 + r)") + " " + text
        if any("private(own" in c for c in self.clauses):
            text = "own_value = i; " + text.replace("continue;", "{ if (own_value != i) few[3] = 1; continue; }")
        if any("firstprivate" in c for c in self.clauses):
            text += " if (shift[1] != 2 * r) few[1] = 1;"
        if any("lastprivate" in c for c in self.clauses):
            text = "last = i + r; " + text
        return text

    def loop(self, body):
        rnd = self.rnd
        for choice, clause in ((0.3, "num_teams(%d)" % rnd.choice([1, 2, 5])), (0.2, "thread_limit(2)")):
            if rnd.random() < choice:
                self.clauses.append(clause)
        self.pending_body = body
        return "@LOOP@"

    def finish(self):
        """The loop, once all clauses are there."""
        rnd = self.rnd
        body = self.statements(self.pending_body)
        form = rnd.choice(["teams distribute parallel for"] * 3 + ["teams distribute parallel for simd", "teams loop",
                                                                    "teams distribute"])
        special = any(c.startswith(("lastprivate", "dist_schedule")) for c in self.clauses)
        if any("total[" in c for c in self.clauses) and "simd" in form: # clang 19 loses updates of one element
            form = "teams distribute parallel for"
        reduces = any(c.startswith("reduction") for c in self.clauses)
        if special or "atomic" in body or ("omp_get" in body and form != "teams distribute"):
            form = "teams distribute parallel for"
        if self.scan: # in the order of the iterations, in the one team's initial thread
            form, special = "teams distribute", True
            self.clauses = [c for c in self.clauses if not c.startswith("num_teams")] + ["num_teams(1)"]
        shape = rnd.choice(["for (int64_t i = 0; i < N; i++)"] * 2 + ["for (int i = 0; i < N; i++)",
                           "for (uint32_t i = 0; i < N; i++)", "for (uint64_t i = 0; i < N; i++)"])
        if not special and rnd.random() < 0.2:
            lines = "for (int64_t p = 0; p < N / W; p++)\n    for (int64_t q = 0; q < W; q++) { int64_t i = p * W + q;"
            return f"#pragma omp target {form} collapse(2) {' '.join(self.clauses)}\n    {lines} {body} }}\n"
        alone = "continue" in body or "own_value" in body
        if not special and not reduces and not alone and rnd.random() < 0.1:
            return (f"#pragma omp target teams distribute {' '.join(self.clauses)}\n"
                    "    for (int64_t p = 0; p < N / W; p++) {\n#pragma omp parallel for num_threads(2)\n"
                    f"        for (int64_t i = p * W; i < (p + 1) * W; i++) {{ {body} }}\n    }}\n")
        if (rnd.random() < 0.04 and not special and form not in ("teams loop", "teams distribute parallel for simd")
                and "atomic" not in body): # an atomic operation is none beside what a critical section does
            body += "\n#pragma omp critical\n    few[2] += i % 2;\n"
        return f"#pragma omp target {form} {' '.join(self.clauses)}\n    {shape} {{ {body} }}\n"


def program(seed):
    rnd = random.Random(seed)
    w = rnd.choice([64, 100, 512])
    n = w * rnd.choice([40, 128, 300])
    few = rnd.choice([5, 600, 20000])
    kernels = [Kernel(rnd, k, few) for k in range(PER_PROGRAM)]
    text = HEAD.format(n=n, w=w, rounds=6, few=few)
    text += "".join(k.text.replace("@LOOP@", k.finish()) for k in kernels)
    order = list(range(PER_PROGRAM))
    rnd.shuffle(order)
    calls = "".join(f"        k{k}(r);\n" for k in order)
    return text + MAIN.format(calls=calls, few=few), (3 * n + few) * 8 + 4 * n


def run(command, settings=(), timeout=120):
    environment = dict(os.environ, LIBOMP_NUM_HIDDEN_HELPER_THREADS="0", OMPDARTS_CACHE="0")
    environment.update(s.split("=", 1) for s in settings)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)


def runtime_of(options):
    return options.gpus + "/llvm-19-device/libomptarget-nvptx-sm_90.bc"


def commands(options, source, binary):
    """How the program is built."""
    llvm = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(options.clang))), "lib")
    start = [options.clang, "-O1", "-w", "-fopenmp", "-fopenmp-targets=" + options.triple]
    if not options.gpus:
        return [start + [source, "-o", binary, "-Wl,-rpath," + llvm]]
    toolkit, runtime = options.gpus + "/cuda_toolkit", runtime_of(options)
    tools = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cuda_toolkit")
    folder = os.path.dirname(binary)
    return [[os.path.join(tools, "league.sh"), options.clang, runtime, folder],
            start + ["-fPIC", "--offload-device-only", "-c", source, "-o", binary + ".o"],
            [options.clang, "-shared", binary + ".o", folder + "/league.o", "-o", binary + ".kernels", f"-L{toolkit}/lib",
             f"-Wl,-rpath,{toolkit}/lib", "-lkmp", "-lm"],
            [options.clang, "-O1", "-w", "-fopenmp", "--offload-arch=sm_90", "--cuda-path=" + toolkit,
             "--libomptarget-nvptx-bc-path=" + runtime, source, "-o", binary, "-L" + llvm, "-Wl,-rpath," + llvm]]


def surroundings(options):
    if not options.gpus:
        return []
    return [f"LD_LIBRARY_PATH={options.gpus}/cuda_double", "CUDA_DOUBLE_MEMORY=1Gi", "OMPDARTS_BACKEND=cuda:loads=2",
            "OMP_NUM_THREADS=1"]


def try_one(seed, options, folder):
    """What is wrong, or None."""
    text, size = program(seed)
    source, binary = os.path.join(folder, "p.c"), os.path.join(folder, "p")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    for command in commands(options, source, binary):
        built = run(command)
        if built.returncode:
            return "does not compile:\n" + built.stderr
    plain = run([binary], surroundings(options) + ["CUDA_DOUBLE_STREAM_CONTEXT=0"])
    if plain.returncode:
        return f"exit code {plain.returncode} without the library"
    for setting in GPU_SETTINGS if options.gpus else SETTINGS:
        words = surroundings(options) + setting.format(memory=size * (3 if options.gpus else 2) // 3 + 300000).split()
        stats = os.path.join(folder, "stats")
        got = run([binary], words + ["LD_PRELOAD=" + options.library, "OMPDARTS_STATS=" + stats])
        if got.returncode or got.stdout != plain.stdout:
            return f"{setting}: exit code {got.returncode}\n{got.stdout}instead of\n{plain.stdout}{got.stderr[:500]}"
        with open(stats, encoding="utf-8") as file:
            kernels = json.load(file).get("kernels", [])
        options.sliced += sum(k["sliced"] > 0 for k in kernels)
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
    parser.add_argument("--keep", help="where programs that fail are left")
    options = parser.parse_args()
    if options.gpus and not os.path.exists(runtime_of(options)):
        print("skipped: no device runtime (scripts/build-device-runtime.sh)")
        return 77
    wrong, options.sliced, options.all, options.reasons = 0, 0, 0, {}
    programs = range(options.seed, options.seed + (options.kernels + PER_PROGRAM - 1) // PER_PROGRAM)
    for seed in programs:
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
    print(f"{len(programs)} programs of {PER_PROGRAM} kernels, {wrong} wrong; of {options.all} runs of kernels "
          f"{options.sliced} in slices")
    return 1 if wrong or not options.sliced else 0


if __name__ == "__main__":
    sys.exit(main())
