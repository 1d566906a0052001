#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares ompdarts with cublasXt, a program written by hand, managed memory and in-core cuBLAS on one NVIDIA GPU.

Runs in the folder that bench/gpu/pack.sh packed, with nothing installed but NVIDIA's driver, cuBLAS and Python. First small
runs of all kinds, whose results are checked; then products and Cholesky factorisations of matrices that do
not fit in the memory given to the library. Every result is checked. docs/gpu.md explains the rows.

exit code: 0 all results right; 1 one is wrong, or a run failed; 2 bad command line, or a broken pack; 77 no GPU or no
cuBLAS
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import libraries
import report

HERE = pathlib.Path(__file__).resolve().parent
KERNEL_S = 1.5e-3  # of one product of tiles
PEER_BLOCKS = (1024, 2048, 4096, 8192)  # orders of cublasXt's blocks
FRACTIONS = (1, 2, 4, 8, 16)  # of the data fit
POLICIES = ("darts", "dmdar", "eager")
AMPLE = 1.125  # times the data, where all fit
LOGICAL_DEVICES = 4
MOST_TILES = {"gemm": 16, "cholesky": 24}
FEWEST_TILES = {"gemm": 8, "cholesky": 10}
MOST_ORDER = 46340  # cuSOLVER's
PROGRAMS = {"gemm": "gemm3d", "cholesky": "cholesky"}
PRECISIONS = ("float", "tf32", "double")
SKIPPED = 77


class Failure(Exception):
    """A run that came to no result; says why."""


class Run:
    """One call of this script: what it was asked, what it found, the time it has."""

    def __init__(self, options, launcher):
        self.options = options
        self.launcher = launcher
        self.start = time.monotonic()
        self.longest = {}  # seconds, by problem: what a run may take
        self.results = {"schema_version": 1, "machine": {}, "settings": {}, "correctness": [], "rows": [],
                        "left_out": [], "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}

    def elapsed(self):
        return time.monotonic() - self.start

    def left(self):
        return self.options.time - self.elapsed()

    def patience(self):
        """Seconds that a run may take that needs few."""
        return max(60, 0.2 * self.options.time)

    def say(self, text):
        print(f"[{self.elapsed():4.0f} s] {text}", file=sys.stderr, flush=True)

    def leave_out(self, text):
        self.say(f"left out: {text}")
        self.results["left_out"].append(text)

    def save(self):
        """After every row: what has been measured survives whatever comes next."""
        partial = self.options.output + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(self.results, file, indent=1)
            file.write("\n")
        os.replace(partial, self.options.output)

    def call(self, command, limit, **settings):
        """(exit code, JSON lines, the rest of the output). The time limit ends it without losing the lines so far."""
        environment = {**self.launcher.environment, **settings}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out, \
                tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err:
            try:
                code, why = subprocess.run(command, env=environment, stdout=out, stderr=err, timeout=limit,
                                           check=False).returncode, ""
            except subprocess.TimeoutExpired:
                code, why = 124, f"no end after {limit:.0f} s\n"
            out.seek(0)
            err.seek(0)
            return code, parse_lines(out.read()), why + err.read()


def parse_lines(text):
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            pass  # the programs print other things as well, and one that was ended half a line
    return [line for line in lines if isinstance(line, dict)]


def last_line(text, default):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else default


# --- the machine ----------------------------------------------------------------------------------


def first_line_with(path, start):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next((line.split(":", 1)[-1].strip() for line in file if line.startswith(start)), None)
    except OSError:
        return None


def available_memory():
    """Bytes of host memory that we may take: what is available, and what a container allows."""
    text = first_line_with("/proc/meminfo", "MemAvailable")
    amounts = [int(text.split()[0]) * 1024] if text else [8 << 30]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            amounts.append(int(pathlib.Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):
            pass  # no such file, or "max"
    return min(amounts)


def driver_version():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                              text=True, check=False, timeout=30)
        if done.returncode == 0:
            return done.stdout.splitlines()[0].strip()
    except (OSError, IndexError, subprocess.TimeoutExpired):
        pass
    text = first_line_with("/proc/driver/nvidia/version", "NVRM version")
    return text or "unknown"


def probe(run):
    run.say("measuring the link and the GPU")
    code, lines, errors = run.call(run.launcher.command("gpu_peers", "probe", "--type", run.options.precision), 120)
    if code == SKIPPED:
        print(last_line(errors, "skipped: no GPU"), file=sys.stderr)
        sys.exit(SKIPPED)
    if code != 0 or not lines:
        sys.exit(f"run.py: gpu_peers probe failed: {last_line(errors, f'exit code {code}')}")
    version = HERE / "VERSION"
    run.results["machine"] = {
        **lines[-1], "driver": driver_version(), "cpu": first_line_with("/proc/cpuinfo", "model name") or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)), "host_memory_bytes": available_memory(),
        "libraries": {name: os.path.basename(file) if file else None for name, file in run.launcher.found.items()},
        "glibc": "packed" if run.launcher.loader else "the machine's",
        "precision": run.options.precision,
        "pack": version.read_text(encoding="utf-8").split("\n")[:-1] if version.exists() else []}
    run.save()


# --- sizes ----------------------------------------------------------------------------------------


def element_bytes(precision):
    return 8 if precision == "double" else 4


def data_bytes(problem, tiles, tile, precision="float"):
    count = 3 * tiles * tiles if problem == "gemm" else tiles * (tiles + 1) // 2
    return count * tile * tile * element_bytes(precision)


def flops(problem, tiles, tile):
    order = float(tiles * tile)
    return 2 * order ** 3 if problem == "gemm" else order ** 3 / 3


def choose_tile(machine, precision="float"):
    """The order for which multiplying two tiles takes as long as bringing one, so that memory decides, and no less than
    KERNEL_S, so that launches do not."""
    balanced = element_bytes(precision) / 2 * machine["gemm_flops"] / machine["h2d_bytes_per_s"]
    long_enough = (KERNEL_S * machine["gemm_flops"] / 2) ** (1 / 3)
    return int(min(max(round(max(balanced, long_enough) / 256), 1), 32)) * 256


def run_seconds(machine, problem, tiles, tile, precision="float"):
    """What one run of ours may take: starting, filling and checking, computing at a third of the peak."""
    return (4 + data_bytes(problem, tiles, tile, precision) / 2e9 + 3 * flops(problem, tiles, tile) / machine["gemm_flops"])


def fits(machine, problem, tiles, tile, precision="float"):
    data = data_bytes(problem, tiles, tile, precision)
    # Peers and checks need whole matrices beside the tiles, cuSOLVER's the square one.
    whole = max(data, element_bytes(precision) * (tiles * tile) ** 2)
    return 2 * data < 0.5 * machine["host_memory_bytes"] and 1.2 * max(whole, AMPLE * data) < 0.8 * machine["free_bytes"]


def choose_tiles(run, problem, tile):
    """As many as memory and time allow; half the time is the product's, the other half the factorisation's."""
    machine, options = run.results["machine"], run.options
    runs = len(options.policies) * len(options.fractions) + (8 if problem == "gemm" else 4)
    share = 0.45 * options.time
    tiles = MOST_TILES[problem]
    while tiles > FEWEST_TILES[problem] and (runs * run_seconds(machine, problem, tiles, tile, options.precision) > share
                                             or tiles * tile > MOST_ORDER
                                             or not fits(machine, problem, tiles, tile, options.precision)):
        tiles -= 1
    return tiles


def choose_sizes(run):
    machine, options = run.results["machine"], run.options
    tile = options.tile or choose_tile(machine, options.precision)
    for problem in report.PROBLEMS:
        chosen = {"gemm": options.gemm_tiles, "cholesky": options.cholesky_tiles}[problem]
        tiles = chosen or (FEWEST_TILES[problem] if options.quick else choose_tiles(run, problem, tile))
        if not fits(machine, problem, tiles, tile, options.precision):
            sys.exit(f"run.py: {problem} of {tiles} x {tiles} tiles of {tile} is too large for this machine")
        data = data_bytes(problem, tiles, tile, options.precision)
        run.results["settings"][problem] = {
            "tiles": tiles, "tile": tile, "data_bytes": data,
            "limits": {str(f): int(data * AMPLE if f == 1 else data / f) for f in options.fractions}}
        run.longest[problem] = run_seconds(machine, problem, tiles, tile, options.precision)
    run.save()


# --- one run of a program under the library -------------------------------------------------------


def library_settings(run, policy, memory, devices, stats):
    settings = {"LD_PRELOAD": str(HERE / "bin" / "libompdarts.so"), "OMPDARTS_SCHED": policy,
                "OMPDARTS_MEM": str(memory), "OMPDARTS_STATS": stats}
    if devices > 1:
        settings["OMPDARTS_DEVICES"] = f"0*{devices}"
    elif not run.options.all_devices:
        settings["OMPDARTS_DEVICES"] = "1"
    return settings


def figures_of_stats(run, stats):
    """Overlap, and what of the measured link's speed the loads had while any transfer was under way."""
    totals = stats["totals"]
    busy = totals["transfer_s"]
    link = run.results["machine"]["h2d_bytes_per_s"]
    return {"overlap": totals["overlapped_s"] / busy if busy else None, "transfer_s": busy, "busy_s": totals["busy_s"],
            "stall_s": totals["stall_s"], "reloads": totals["reloads"], "peak_bytes": totals["peak_bytes"],
            "link_share": totals["h2d_bytes"] / busy / link if busy else None}


def one_run(run, program, arguments, limit, policy=None, memory=0, devices=1):
    """The program's line of JSON, with the library's figures where there is a policy. Raises Failure."""
    command = run.launcher.command(program, "--json", *arguments)
    with tempfile.TemporaryDirectory() as folder:
        stats = os.path.join(folder, "stats.json")
        settings = library_settings(run, policy, memory, devices, stats) if policy else {}
        code, lines, errors = run.call(command, limit, **settings)
        if not lines:
            raise Failure(last_line(errors, f"exit code {code}"))
        line = lines[-1]
        if policy:
            if not line.get("devices"):
                raise Failure(last_line(errors, "the library scheduled nothing"))
            with open(stats, encoding="utf-8") as file:
                line.update(figures_of_stats(run, json.load(file)))
        line["ok"] = line["ok"] and code == 0
        line["messages"] = errors.splitlines()[-3:]
        return line


# --- small runs: is everything right? -------------------------------------------------------------


def small_runs(run):
    """(name, program, arguments, policy, memory, devices): the same problems in all styles, without and with the library."""
    tiles, tile = 6, 256
    first, *others = run.options.policies
    for style, policies in (("blas", (None, first, *others)), ("task", (None, first)), ("region", (None, first))):
        for problem, program in PROGRAMS.items():
            memory = data_bytes(problem, tiles, tile) // 3
            for policy in policies:
                name = f"{program} {style} {policy or 'without the library'}"
                yield name, program, ("--style", style, tiles, tile), policy, memory, 1
            for precision, order in (("double", tile // 2), ("tf32", tile)) if style == "blas" else ():
                yield (f"{program} blas {first}, {precision}", program,
                       ("--type", precision, "--style", style, tiles, order), first, memory, 1)
            if style == "blas" and run.options.logical:
                yield (f"{program} blas {first}, {LOGICAL_DEVICES} logical devices", program,
                       ("--style", style, tiles, tile), first, memory, LOGICAL_DEVICES)


def check_small_runs(run):
    run.say("small runs")
    for name, program, arguments, policy, memory, devices in small_runs(run):
        entry = {"name": name, "ok": False, "why": ""}
        try:
            line = one_run(run, program, arguments, run.patience(), policy, memory, devices)
            entry.update(ok=line["ok"], residual=line["residual"], why="" if line["ok"] else f"residual {line['residual']}")
        except Failure as failure:
            entry["why"] = str(failure)
            if not policy:  # LLVM's own affair
                run.leave_out(f"{name}: {failure}")
                continue
        run.results["correctness"].append(entry)
        run.say(f"  {name}: {'ok' if entry['ok'] else 'WRONG: ' + entry['why']}")
        if run.left() < 0.6 * run.options.time:
            run.leave_out("the other small runs: too slow")
            break
    run.save()


# --- the comparison -------------------------------------------------------------------------------


def add_row(run, row):
    run.results["rows"].append(row)
    run.save()
    speed = f"{row['seconds']:.3f} s, {row['gflops']:.0f} GFlop/s" if row.get("seconds") else ""
    run.say(f"  {row['problem']} {report.name_of(row)} {row.get('policy') or ''} "
            f"{report.fraction_text(row.get('fraction'))}: {speed} {'ok' if row['ok'] else 'WRONG ' + row.get('why', '')}")


def fraction_of(limits, limit):
    return next((int(fraction) for fraction, bytes_ in limits.items() if bytes_ == limit), None)


def left_to_try(wanted, lines):
    """After a call of gpu_peers that one of these, in this order, has ended: those behind the last with a line, or behind
    the first, where none has one."""
    seen = [index for index, (name, _) in enumerate(wanted) if any(line["variant"] == name for line in lines)]
    return wanted[(seen[-1] if seen else 0) + 1:]


def peers(run, problem, wanted, share):
    """The rows of gpu_peers, in at most this share of the time left. `wanted`: (variant, its arguments)..., in gpu_peers'
    order. One that ends the program does not take the others with it."""
    settings = run.results["settings"][problem]
    run.say(f"{problem}: peers")
    end = run.elapsed() + max(30, share * run.left())
    while wanted and run.elapsed() < end:
        arguments = [word for _, words_of in wanted for word in words_of]
        code, lines, errors = run.call(
            run.launcher.command("gpu_peers", problem, settings["tiles"] * settings["tile"], "--type",
                                 run.options.precision, *arguments), end - run.elapsed())
        for line in lines:
            fraction = fraction_of(settings["limits"], line["memory_limit"])
            if line["variant"] == "managed":
                fraction = 1  # the data are on the device, all of them
            add_row(run, {**line, "fraction": fraction})
        for text in errors.splitlines() or ([] if code in (0, 1) else [f"exit code {code}"]):
            run.leave_out(f"{problem}, gpu_peers: {text}")
        wanted = [] if code in (0, 1) else left_to_try(wanted, lines)


def measure(run, problem, policy, fraction, devices=1, host_memory="pinned"):
    """One row of ours; `policy` None: LLVM alone."""
    settings = run.results["settings"][problem]
    name = f"{problem} {policy or 'without the library'} {report.fraction_text(fraction)}" + \
        (f" on {devices} logical devices" if devices > 1 else "") + (" pageable" if host_memory == "pageable" else "")
    if run.left() < 1.3 * run.longest[problem]:
        run.leave_out(f"{name}: no time left")
        return
    memory = settings["limits"][str(fraction)] // devices
    arguments = ["--style", "blas", "--type", run.options.precision, "--warm-up", *(["--pinned"] if host_memory == "pinned" else []), settings["tiles"],
                 settings["tile"]]
    row = {"problem": problem, "variant": "ompdarts" if policy else "llvm", "policy": policy, "fraction": fraction,
           "devices": devices, "host_memory": host_memory, "memory_limit": memory * devices, "ok": False}
    began = time.monotonic()
    try:
        limit = min(run.left() + 20, run.patience() + 5 * run.longest[problem])
        line = one_run(run, PROGRAMS[problem], arguments, limit, policy, memory, devices)
        row.update({key: value for key, value in line.items() if key not in ("devices", "type", "style", "program")})
        row["tasks"] = line.get("scheduled_tasks")
        row["devices_seen"] = line.get("devices")
    except Failure as failure:
        row["why"] = str(failure)
        if not policy:
            run.leave_out(f"{name}: {failure}")
            return
    run.longest[problem] = max(run.longest[problem], time.monotonic() - began) if row["ok"] else run.longest[problem]
    add_row(run, row)


def compare(run):
    """The rows that say most come first, in case that time runs out."""
    options = run.options
    limits = run.results["settings"]["gemm"]["limits"]
    order = run.results["settings"]["gemm"]["tiles"] * run.results["settings"]["gemm"]["tile"]
    blocks = [block for block in PEER_BLOCKS if 2 * block <= order] or [max(order // 4, 64)]
    peers(run, "gemm", [("in-core", ["--in-core"]), ("streams", ["--streams", ",".join(map(str, limits.values()))]),
                        ("cublasxt", ["--cublasxt", ",".join(map(str, reversed(blocks)))]),
                        ("managed", ["--managed"])], 0.35)
    peers(run, "cholesky", [("in-core", [])], 0.25)
    for policy in options.policies:
        run.say(f"ompdarts, {policy}")
        for fraction in options.fractions:
            for problem in report.PROBLEMS:
                measure(run, problem, policy, fraction)
        if policy == options.policies[0]:
            for problem in report.PROBLEMS if options.logical else ():
                measure(run, problem, policy, options.fractions[len(options.fractions) // 2], LOGICAL_DEVICES)
    for fraction in options.fractions[:1] if options.quick else options.fractions[::2]:
        measure(run, "gemm", options.policies[0], fraction, host_memory="pageable")
    measure(run, "gemm", None, options.fractions[0])


# --- command line ---------------------------------------------------------------------------------


def words(text):
    return tuple(word for word in text.split(",") if word)


def numbers(text):
    return tuple(sorted({max(1, int(word)) for word in words(text)}))


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=420, metavar="SECONDS",
                        help="sizes are chosen to end within this; what does not fit is left out (default: 420)")
    parser.add_argument("--quick", action="store_true",
                        help="small matrices, two memory limits, two policies: does everything work?")
    parser.add_argument("--output", metavar="FILE",
                        help="results (default: ompdarts-gpu.json, with --precision P ompdarts-gpu-P.json)")
    parser.add_argument("--precision", choices=PRECISIONS, default="float",
                        help="of all products: tf32 is float with cuBLAS' TF32 math mode (default: float)")
    parser.add_argument("--tile", type=int, help="order of the tiles (default: measured rates decide)")
    parser.add_argument("--gemm-tiles", type=int, metavar="N", help="tiles along each side of the product's matrices")
    parser.add_argument("--cholesky-tiles", type=int, metavar="N", help="and of the factorised matrix")
    parser.add_argument("--fractions", type=numbers, metavar="F,F", help="1/F of the data fit (default: 1,2,4,8,16)")
    parser.add_argument("--policies", type=words, metavar="P,P", help=f"default: {','.join(POLICIES)}")
    parser.add_argument("--no-correctness", action="store_true", help="without the small runs")
    parser.add_argument("--no-logical", dest="logical", action="store_false",
                        help=f"without the rows where one GPU is split into {LOGICAL_DEVICES}")
    parser.add_argument("--all-devices", action="store_true", help="give the library all GPUs, not only the first")
    options = parser.parse_args(arguments)
    suffix = "" if options.precision == "float" else f"-{options.precision}"
    options.output = options.output or f"ompdarts-gpu{suffix}.json"
    options.fractions = options.fractions or ((1, 4) if options.quick else FRACTIONS)
    options.policies = options.policies or (("darts", "eager") if options.quick else POLICIES)
    return options


def main(arguments):
    options = parse(arguments)
    launcher = libraries.Launcher(HERE)
    wrong = launcher.choose_loader()
    if wrong:
        print(f"run.py: the packed programs do not start: {wrong}", file=sys.stderr)
        return 2
    run = Run(options, launcher)
    for name in ("driver", "cublas", "cusolver"):
        run.say(f"{name}: {launcher.found[name] or 'not found'}")
    probe(run)
    if not options.no_correctness:
        check_small_runs(run)
    choose_sizes(run)
    compare(run)
    run.results["seconds"] = round(run.elapsed(), 1)
    run.results["ratios"] = report.ratios(report.with_cublasxt(
        run.results["rows"], {problem: run.results["settings"][problem]["limits"] for problem in report.PROBLEMS}))
    run.save()
    print(report.report(run.results))
    return 0 if report.is_right(run.results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
