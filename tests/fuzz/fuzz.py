#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Differential fuzzer: random race-free OpenMP programs give the same answer with the library as without it.

Each seed is one program (grammar.py) that the model (model.py) has found to be conforming. It is built once with
others of its batch, run twice without the library, 25 times more where that differs from a run with it, and with it
under settings drawn for it. A program whose results without the library vary, or that fails there, is `invalid`: the
generator's fault, or libomp's. A program whose results differ
under the library is shrunk (shrink.py) and printed with its seed and settings. Exit code 1: differences.
"""

import sys

sys.dont_write_bytecode = True  # the folder may be read-only, and holds sources only

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import pathlib
import random
import signal
import tempfile
import time

from emit import source
from grammar import generate, of_scenes
from model import judge
from program import productions
from run import CompileError, Lab, Settings, is_for_ranks, listed
from shrink import shrink

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--build", default="build", help="build folder: the command and the library")
    parser.add_argument("--library", help="another libompdarts.so")
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--llvm-libdir", default="/usr/lib/llvm-19/lib", help="folder of libomptarget")
    parser.add_argument("--triple", default="x86_64-pc-linux-gnu", help="of the offload target")
    parser.add_argument("--mpi", metavar="MPIEXEC", help="programs are rank 0 of a job whose other three ranks have four devices")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--count", type=int, default=100, help="programs")
    parser.add_argument("--hours", type=float, help="go on for so long, whatever the count")
    parser.add_argument("--settings", type=int, default=8, help="runs with the library per program")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="in all of these runs")
    parser.add_argument("--batch", type=int, default=15, help="programs per executable")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for failing programs; without it they are only printed")
    parser.add_argument("--log", help="text file that gets one line per run of the fuzzer and one per failure; "
                        "productions.txt beside it says how often that run used each production")
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--shrink-seconds", type=float, default=120, help="at most, per failure")
    parser.add_argument("--shrink-to", type=int, default=0, help="statements that may be left")
    parser.add_argument("--max-failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--steady-only", action="store_true",
                        help="print all failures, but exit with 0 where none happened again in 10 further runs")
    parser.add_argument("--scenes", type=lambda text: text.split(","),
                        help="programs of nothing but such scenes (scene_*.py), separated by commas")
    parser.add_argument("--productions", type=lambda text: text.split(","), default=(),
                        help="`all`, or names of those that are not drawn by default, separated by commas")
    parser.add_argument("--one", type=int, metavar="SEED", help="this program only")
    parser.add_argument("--print", action="store_true", help="print the program of --one instead of running it")
    return parser.parse_args()


class Failure:
    def __init__(self, seed, program, readable, settings, difference, rate):
        self.seed, self.program, self.readable = seed, program, readable
        self.settings, self.difference, self.rate = settings, difference, rate
        self.is_steady = True
        self.threads = ""  # backtraces and messages of a run that hung

    def text(self):
        variables = " ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        return (f"/* seed {self.seed}, grammar {grammar_digest()}: {self.difference}; {self.rate}\n"
                f" * {variables} */\n" + source([(self.program, self.readable)]))


def grammar_digest():
    """Seeds mean something for one state of these files only."""
    files = sorted(path for stem in ("program", "model", "grammar", "scene") for path in HERE.glob(stem + "*.py"))
    texts = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(texts).hexdigest()[:8]


def double_of(options):
    """Folder of the CUDA driver's double (tests/cuda_double), or None: then the CUDA back-end is not among the settings."""
    folder = pathlib.Path(options.build).resolve() / "cuda_double"
    library = pathlib.Path(options.library or folder).resolve().parent
    return str(folder) if (folder / "libcuda.so.1").exists() and (library / "libompdarts-cuda.so").exists() else None


def make_lab(options, folder):
    library = options.library or str(pathlib.Path(options.build).resolve() / "libompdarts.so")
    ranks = [options.mpi, str(pathlib.Path(options.build).resolve() / "ompdarts")] if options.mpi else None
    return Lab(library, options.clang, options.llvm_libdir, options.triple, folder, double_of(options), ranks)


def run_batch(options, folder, pairs, seeds):
    """(runs, invalid seeds with a reason, failures, how often each production was used) of some seeds."""
    lab = make_lab(options, folder)
    programs = [generated(seed, options) for seed in seeds]
    parts = {}  # an executable with device globals uses one device only; C++ is not C
    for seed, (program, _, _) in zip(seeds, programs):
        parts.setdefault((any(array.kind == "global" for array in program.arrays), program.cpp,
                          any(scene.place for scene in program.scenes())), []).append(seed)
    if len(parts) > 1:
        return joined([run_batch(options, folder, pairs, part) for part in parts.values()])
    name = f"batch{seeds[0]}"
    try:
        path = lab.build([(program, readable) for program, _, readable in programs], name)
    except CompileError as error:
        if len(seeds) == 1:
            return 0, [(seeds[0], f"does not compile: {error}")], [], collections.Counter()
        return joined([run_batch(options, folder, pairs, [seed]) for seed in seeds])
    results = [run_program(lab, path, number, generated, pairs, options) for number, generated in enumerate(programs)]
    for file in [path, *lab.folder.glob(name + ".*")]:
        file.unlink()
    invalid = [(program.seed, why) for (program, _, _), (_, why, _) in zip(programs, results) if why]
    uses = collections.Counter(name for (program, _, _), (_, why, _) in zip(programs, results) if not why
                               for name in productions(program))
    return sum(runs for runs, _, _ in results), invalid, [failure for _, _, failure in results if failure], uses


def generated(seed, options):
    return of_scenes(seed, options.scenes) if options.scenes else generate(seed, options.productions)


def joined(results):
    return (sum(r[0] for r in results), sum((r[1] for r in results), []), sum((r[2] for r in results), []),
            sum((r[3] for r in results), collections.Counter()))


def keeps_discarded(lab, path, number, settings, outcome, right):
    """Where host versions alone give the same, or where nothing is wrong without them: some of them ran on the host, others
    not, which no run without the library does."""
    if outcome.differs_as(lab.on_host(path, number), right):
        return True
    without = {name: value for name, value in settings.items() if name != "OMPDARTS_CPU"}
    return outcome.code == 0 and all(right.same(lab.under(path, number, without)) for _ in range(5))


def run_program(lab, path, number, generated, pairs, options):
    """(runs, why it is invalid, failure)"""
    program, world, readable = generated
    if options.mpi and not is_for_ranks(world):
        return 0, "not for devices of other ranks", None
    right = lab.plain(path, number)
    again = lab.plain(path, number, threads=2)
    if not right.same(again):
        return 0, (again if right.is_right() else right).difference(right), None
    rng = random.Random(f"{program.seed}/settings")
    for runs, settings in enumerate(Settings(*pairs, double_of(options), options.mpi).draw(rng, world, options.settings)):
        settings.update(variable.split("=", 1) for variable in options.set)
        outcome = lab.under(path, number, settings)
        if outcome.is_stock_fault():
            return runs + 1, outcome.difference(right), None
        if right.lacks_results_of(outcome):
            return runs + 1, "a region that no thread executes without the library", None
        if options.mpi and outcome.needs_memory_here():
            return runs + 1, "its host code uses device addresses, which are another rank's", None
        if not outcome.same(right):
            if outcome.crashes() and lab.on_host(path, number).crashes():
                return runs + 1, "its host versions crash without the library", None
            if "OMPDARTS_CPU" in settings and world.discards and keeps_discarded(lab, path, number, settings, outcome, right):
                return runs + 1, "what a device discards its host versions keep", None
            again = lab.prioritised(path, number, settings)
            if again and not right.same(again):
                return runs + 1, "with priorities: " + again.difference(right), None
            for threads in (1, 2, 3, 4, 8) * 5:  # libomp's own faults may be rare
                again = lab.plain(path, number, threads)
                if not right.same(again):
                    return runs + 1, (again if right.is_right() else right).difference(right), None
            failure = Failure(program.seed, program, readable, settings, outcome.difference(right), "")
            if outcome.threads:
                failure.threads = outcome.threads + outcome.err.decode(errors="replace")
            return runs + 1, None, minimise(lab, failure, options)
    return options.settings, None, None


def minimise(lab, failure, options):
    """Shrinks the program and then the settings."""
    name = f"seed{failure.seed}"
    again = failing_runs(lab, failure, failure.settings, name, 10)
    failure.rate = f"{again} of 10 further runs fail"
    failure.is_steady = again > 0
    if again == 0 or not options.shrink:
        return failure
    repeats = min(30, -(-30 // again)) if again < 10 else 1
    deadline = time.monotonic() + options.shrink_seconds

    def fails(candidates):
        try:
            path = lab.build(candidates, name)
        except CompileError:
            return None
        for number in range(len(candidates)):
            right = lab.plain(path, number)
            if (any(differing(lab, path, number, failure.settings, right, repeats, deadline)) and
                    right.same(lab.plain(path, number, 2))):
                return number
        return None

    failure.program = shrink(failure.program, fails, deadline, options.shrink_to)
    failure.readable = judge(failure.program)[1]
    for variable in sorted(failure.settings):
        fewer = {key: value for key, value in failure.settings.items() if key != variable}
        if time.monotonic() < deadline + 20 and failing_runs(lab, failure, fewer, name, repeats):
            failure.settings = fewer
    again = failing_runs(lab, failure, failure.settings, name, 10)
    failure.rate = f"{again} of 10 runs fail"
    return failure


def differing(lab, path, number, settings, right, repeats, deadline=float("inf")):
    """The differences in so many runs, one by one; random delays get other seeds."""
    for again in range(repeats):
        if time.monotonic() > deadline:
            return
        seed = {"OMPDARTS_SEED": str(int(settings["OMPDARTS_SEED"]) + again)} if "OMPDARTS_SEED" in settings else {}
        outcome = lab.under(path, number, {**settings, **seed})
        if not outcome.same(right):
            yield outcome.difference(right)


def failing_runs(lab, failure, settings, name, repeats):
    """Of so many; after two minutes, as when it hangs, no more are started."""
    path = lab.build([(failure.program, failure.readable)], name)
    right = lab.plain(path, 0)
    return sum(1 for _ in differing(lab, path, 0, settings, right, repeats, time.monotonic() + 120))


class Report:
    """Counts, progress lines and the log."""

    def __init__(self, options):
        self.options = options
        self.begin = time.monotonic()
        self.programs = self.runs = 0
        self.invalid, self.failures, self.uses = [], [], collections.Counter()
        self.shown = self.begin

    def add(self, seeds, result):
        runs, invalid, failures, uses = result
        self.uses += uses
        self.programs += len(seeds)
        self.runs += runs
        for seed, why in invalid:
            self.invalid.append(seed)
            print(f"seed {seed}: invalid, {why}", flush=True)
        for failure in failures:
            self.failures.append(failure)
            self.show(failure)
        if time.monotonic() - self.shown > 30:
            self.shown = time.monotonic()
            print(self.line(), flush=True)

    def show(self, failure):
        print(f"seed {failure.seed}: {failure.difference}; {failure.rate}\n{failure.text()}", flush=True)
        if self.options.keep:
            folder = pathlib.Path(self.options.keep)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"seed{failure.seed}.c").write_text(failure.text(), encoding="utf-8")
            if failure.threads:
                (folder / f"seed{failure.seed}.threads").write_text(failure.threads, encoding="utf-8")
        elif failure.threads:
            print(failure.threads, flush=True)

    def line(self):
        seconds = time.monotonic() - self.begin
        return (f"{self.programs} programs, {self.runs} runs with the library, {len(self.invalid)} invalid, "
                f"{len(self.failures)} failures, {seconds:.0f} s")

    def log(self, first, last, early):
        if not self.options.log:
            return
        line = f"grammar {grammar_digest()} seeds {first}-{last}: {self.line()}" + (" (ended early)" if early else "")
        today = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
        with open(self.options.log, "a", encoding="utf-8") as file:
            for failure in self.failures:
                file.write(f"    seed {failure.seed}: {failure.difference}\n")
            file.write(f"{today} {line}\n")
        uses = [f"{count} {name}\n" for name, count in sorted(self.uses.items(), key=lambda use: (use[1], use[0]))]
        pathlib.Path(self.options.log).with_name("productions.txt").write_text(f"{line}\n" + "".join(uses), encoding="utf-8")


def batches(options):
    """Lists of seeds, for ever if there is a time limit."""
    end = float("inf") if options.hours else options.first + options.count
    seed = options.first
    while seed < end:
        last = min(seed + options.batch, end)
        yield list(range(seed, int(last)))
        seed = int(last)


def deaf():
    """A terminal interrupts all processes; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def fuzz(options, folder):
    command = pathlib.Path(options.build).resolve() / "ompdarts"
    pairs = (listed(command, "policies"), listed(command, "eviction rules"))
    report = Report(options)
    deadline = time.monotonic() + options.hours * 3600 if options.hours else float("inf")
    last = options.first - 1
    ended = []  # by a signal: what runs is waited for
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=deaf) as pool:
        running, source_of = {}, batches(options)
        exhausted = False
        while running or not exhausted:
            while not exhausted and len(running) < options.jobs + 1:
                seeds = next(source_of, None)
                stop = ended or time.monotonic() > deadline or len(report.failures) >= options.max_failures
                if seeds is None or stop:
                    exhausted = True
                    break
                running[pool.submit(run_batch, options, folder, pairs, seeds)] = seeds
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                seeds = running.pop(future)
                report.add(seeds, future.result())
                last = max(last, seeds[-1])
    report.log(options.first, last, bool(ended))
    print("productions: " + ", ".join(f"{name} {count}" for name, count in sorted(report.uses.items())))
    print(report.line())
    return 1 if any(failure.is_steady or not options.steady_only for failure in report.failures) else 0


def main():
    options = arguments()
    if options.one is not None:
        options.first, options.count, options.batch = options.one, 1, 1
    if options.print:
        program, _, readable = generated(options.first, options)
        print(source([(program, readable)]))
        return 0
    with tempfile.TemporaryDirectory(prefix="ompdarts-fuzz-") as folder:
        return fuzz(options, folder)


if __name__ == "__main__":
    sys.exit(main())
