#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Redoes the figures of the papers with the simulator: performance and transfers against the working set.

usage: figures.py [FIGURE ...] [OPTIONS]

  FIGURE           for example 3.8 4.7 5.10 5.10b; `order`: the pictures of who did what when (order.py); default: all
  --list           the figures and what they show
  --out FOLDER     for NAME.csv, NAME.svg and the cache runs.jsonl (default: bench/figures/out)
  --quick          at most 9 points per curve, one seed (default)
  --full           all points, the mean of three seeds
  --points N       at most N points per curve
  --jobs N         simulations at once (default: one per core)
  --sim PROGRAM    the simulator (default: ompdarts-sim in build/)
  --timeout S      longest time of a simulation (default: 600)

Needs the simulator (a build with SimGrid: apt-get install libsimgrid-dev) and matplotlib (apt-get install python3-matplotlib; run
with /usr/bin/python3). papers.py says what each figure is made of. Results are kept in the cache, by the simulator's contents and
the command line: a run that was broken off goes on where it was.

Exit status: 0 success; 1 a simulation failed or beat a lower bound; 2 the command line was refused; 77 the simulator or matplotlib
is missing.
"""

import argparse
import collections
import concurrent.futures
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

import order
import papers

HERE = pathlib.Path(__file__).resolve().parent
REFUSED, MISSING = 2, 77
QUICK_POINTS, FULL_SEEDS = 9, 3


class Refused(Exception):
    """A message and the exit status."""

    def __init__(self, message, status=REFUSED):
        super().__init__(message)
        self.status = status


# --- what to run -------------------------------------------------------------------------------------------------------


def workload_text(workload, n):
    return workload + ("," if ":" in workload else ":") + f"n={n}"


def command_line(workload, platform, devices, memory, curve, cost="ignore", seed=1):
    line = ["--workload", workload, "--platform", platform, "--devices", str(devices), *curve.options,
            "--evict", curve.evict, "--seed", str(seed), "--sched-time", cost]
    return line + (["--mem", memory] if memory else [])


def thin(items, most):
    """At most so many of the items, evenly spread, the last one among them."""
    if not most or len(items) <= most:
        return list(items)
    step = len(items) / most
    return [items[round((i + 1) * step) - 1] for i in range(most)]


Point = collections.namedtuple("Point", "figure curve seed line")


def points_of(figure, most, seeds):
    settings = [(n, figure.memory) for n in thin(figure.sizes, most)]
    if figure.memories:
        settings = [(n, m) for n in figure.sizes for m in thin(figure.memories, most)]
    for name in figure.curves:
        curve = papers.CURVES[name]
        for n, memory in settings:
            for seed in range(1, seeds + 1):
                yield Point(figure, name, seed, command_line(workload_text(figure.workload, n), figure.platform,
                                                             figure.devices, memory, curve, figure.cost(curve), seed))


def probe_of(figure):
    """A run in which each byte comes once: its bounds tell the bandwidth into all devices."""
    return command_line("gemm2d:n=2,tile=64", figure.platform, figure.devices, "500Mi", papers.CURVES["eager"])


def choose(names):
    """The figures with these names, and whether the pictures are wanted."""
    if not names:
        return list(papers.FIGURES), True
    chosen = []
    for name in names:
        number = re.sub("[a-z]+$", "", name)
        exact = [f for f in papers.FIGURES if f.name in (name, number)]
        parts = [f for f in papers.FIGURES if name != number and re.fullmatch(re.escape(number) + "[a-z]+", f.name) and
                 f.name[len(number):].find(name[len(number):]) >= 0]
        whole = [f for f in papers.FIGURES if re.fullmatch(re.escape(name) + "[a-z]+", f.name)]
        found = exact or parts or whole
        if not found and name != "order":
            raise Refused(f"there is no figure '{name}'; there are:\n" + listing())
        chosen += [f for f in found if f not in chosen]
    return chosen, "order" in names


def listing():
    lines = [f"  {f.name:<7} {f.title}" for f in papers.FIGURES]
    return "\n".join(lines + ["  order   pictures of the order: " + " ".join(p.name for p in papers.PICTURES)])


# --- running ---------------------------------------------------------------------------------------------------------------


def find_simulator(path):
    candidates = [path] if path else [HERE.parents[1] / "build" / "ompdarts-sim", HERE.parents[2] / "libexec" / "ompdarts" / "ompdarts-sim"]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and pathlib.Path(candidate).is_file():
            return str(pathlib.Path(candidate).resolve())
    raise Refused(f"{candidates[0]} is not there: build ompdarts with SimGrid (Debian: apt-get install libsimgrid-dev; "
                  "cmake --build build), or name the simulator with --sim", MISSING)


class Runner:
    """Runs simulations, each one once, and remembers them in a file."""

    def __init__(self, simulator, cache, timeout):
        self.simulator, self.cache, self.timeout = simulator, cache, timeout
        self.version = hashlib.sha256(pathlib.Path(simulator).read_bytes()).hexdigest()[:16]
        self.known, self.failures, self.warnings = {}, [], collections.Counter()
        self.lock = threading.Lock()
        for entry in self.entries():
            if entry["version"] == self.version:
                self.known[entry["line"]] = entry["result"]

    def entries(self):
        text = self.cache.read_text(encoding="utf-8") if self.cache.exists() else ""
        if text and not text.endswith("\n"):
            with self.cache.open("a", encoding="utf-8") as file:
                file.write("\n")
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:  # cut off where an earlier command was stopped
                continue

    def result(self, line):
        return self.known.get(shlex.join(line))

    def run(self, line):
        """A row of the simulator's CSV, or None: it failed."""
        key = shlex.join(line)
        if key in self.known:
            return self.known[key]
        start = time.monotonic()
        try:
            done = subprocess.run([self.simulator, *line, "--quiet", "--csv", "-"], capture_output=True, text=True,
                                  timeout=self.timeout, check=False)
            rows, problem = list(csv.DictReader(io.StringIO(done.stdout))), done.stderr.strip()
        except subprocess.TimeoutExpired:
            rows, problem = [], f"not done after {self.timeout} s"
        with self.lock:
            if not rows or done.returncode:
                self.failures.append((key, problem or f"exit status {done.returncode}"))
                return None
            if problem:
                self.warnings[problem.splitlines()[0]] += 1
            self.known[key] = rows[0]
            with self.cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"version": self.version, "line": key, "result": rows[0],
                                       "seconds": round(time.monotonic() - start, 3)}) + "\n")
        return rows[0]

    def run_all(self, lines, jobs):
        pending = [line for line in dict.fromkeys(map(tuple, lines)) if shlex.join(line) not in self.known]
        progress = Progress(len(pending))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(self.run, list(line)) for line in pending]
            try:
                for future in concurrent.futures.as_completed(futures):
                    future.result()
                    progress.step()
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                raise


class Progress:
    """A line every few seconds."""

    def __init__(self, total, every=5):
        self.total, self.done, self.every = total, 0, every
        self.start = self.told = time.monotonic()

    def step(self):
        self.done += 1
        now = time.monotonic()
        if now - self.told < self.every and self.done < self.total:
            return
        self.told = now
        left = (now - self.start) / self.done * (self.total - self.done)
        print(f"{self.done}/{self.total} simulations, about {left:.0f} s left", file=sys.stderr, flush=True)


# --- results -----------------------------------------------------------------------------------------------------------------

EXTRA = ("figure", "curve", "sched_time", "working_set_mib", "memory_mib", "transferred_mib", "peak_gflops",
         "pci_limit_mib", "bound_mib")


def row_of(point, result, inbound):
    """A row of the figure's CSV: what is drawn, then the simulator's own columns."""
    compute = float(result["compute_bound_s"])
    row = {"figure": point.figure.name, "curve": papers.CURVES[point.curve].label,
           "sched_time": point.figure.cost(papers.CURVES[point.curve]),
           "working_set_mib": float(result["data_bytes"]) / papers.MIB,
           "memory_mib": float(result["mem_bytes"]) * point.figure.devices / papers.MIB,
           "transferred_mib": (float(result["h2d_bytes"]) + float(result["d2d_bytes"])) / papers.MIB,
           "peak_gflops": float(result["gflops"]) * float(result["makespan_s"]) / compute,
           "pci_limit_mib": compute * inbound / papers.MIB,
           "bound_mib": float(result["lower_bound_bytes"]) / papers.MIB}
    for key, value in row.items():
        if isinstance(value, float):
            row[key] = f"{value:.3f}"
    return {**row, **result}


def beaten_bounds(rows):
    """Rows that are better than a lower bound: an error of ours."""
    for row in rows:
        seconds = max(float(row[c]) for c in ("compute_bound_s", "critical_path_s", "bus_bound_s"))
        if float(row["makespan_s"]) < seconds * (1 - 1e-6):
            yield row, f"{row['makespan_s']} s, bound {seconds} s"
        if float(row["transferred_mib"]) < float(row["bound_mib"]) * (1 - 1e-6):
            yield row, f"{row['transferred_mib']} MiB, bound {row['bound_mib']} MiB"


def rows_of(figure, runner, most, seeds):
    probe = runner.result(probe_of(figure))
    if not probe:
        return []
    inbound = float(probe["lower_bound_bytes"]) / float(probe["bus_bound_s"])
    rows = []
    for point in points_of(figure, most, seeds):
        result = runner.result(point.line)
        if result:
            rows.append(row_of(point, result, inbound))
    return rows


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# --- drawing -----------------------------------------------------------------------------------------------------------------


def load_matplotlib():
    try:
        import matplotlib
        matplotlib.use("svg")
        import matplotlib.pyplot as plot
    except ImportError:
        raise Refused("matplotlib is missing: apt-get install python3-matplotlib, and run with /usr/bin/python3",
                      MISSING) from None
    matplotlib.rcParams.update({"svg.hashsalt": "ompdarts", "font.size": 9, "axes.grid": True, "grid.alpha": 0.25})
    return plot


def series(rows, curve, x, y):
    """Sorted x, and the mean of y over the seeds."""
    values = collections.defaultdict(list)
    for row in rows:
        if curve is None or row["curve"] == curve:
            values[float(row[x])].append(float(row[y]))
    return sorted(values), [sum(values[k]) / len(values[k]) for k in sorted(values)]


def draw_lines(axes, figure, rows, x):
    """The working sets (or memories) from which on something no longer fits."""
    memory, working = float(rows[0]["memory_mib"]), float(rows[0]["working_set_mib"])
    highest = max(float(row[x]) for row in rows)
    for factor, colour, label in figure.lines:
        at = working / factor if figure.memories else factor * memory
        if at <= highest * 1.05:
            axes.axvline(at, color=colour, linestyle=":", linewidth=1.3, label=label)


def draw_figure(plot, figure, rows, path):
    x = "memory_mib" if figure.memories else "working_set_mib"
    canvas, (speed, moved) = plot.subplots(1, 2, figsize=(11, 4.9))
    for y, axes in (("gflops", speed), ("transferred_mib", moved)):
        for number, name in enumerate(figure.curves):
            curve = papers.CURVES[name]  # the later ones are smaller, so that equal curves are all seen
            line, = axes.plot(*series(rows, curve.label, x, y), color=curve.colour, marker=curve.marker,
                              markersize=8 - .5 * number, linestyle=curve.line, linewidth=1.3, label=curve.label)
            line.set_gid(f"curve-{y}-{name}")
        draw_lines(axes, figure, rows, x)
        axes.set_xlabel("memory of all devices (MiB)" if figure.memories else "working set (MiB)")
        axes.set_xlim(left=0)
    speed.plot(*series(rows, None, x, "peak_gflops"), color="black", linestyle=":", linewidth=1.3, label="peak")
    highest = moved.get_ylim()[1]
    moved.plot(*series(rows, None, x, "pci_limit_mib"), color="#777777", linestyle="-.", linewidth=1.3,
               label="PCI limit" if figure.platform == "gemini" else "disk limit")
    moved.plot(*series(rows, None, x, "bound_mib"), color="black", linewidth=1, label="lower bound")
    moved.set_ylim(0, highest)  # limits that are far away would flatten the curves
    speed.set_ylim(bottom=0)
    speed.set_ylabel("GFlop/s")
    moved.set_ylabel("loaded by all devices (MiB)")
    entries = {}
    for axes in (speed, moved):
        entries.update(reversed(pair) for pair in zip(*axes.get_legend_handles_labels()))
    canvas.suptitle(f"{figure.name}: {figure.title}")
    canvas.text(.5, .915, caption(figure, rows), ha="center", fontsize=7.5, color="#444444")
    canvas.legend(entries.values(), entries.keys(), loc="lower center", ncol=5, fontsize=7.5, frameon=False)
    canvas.subplots_adjust(left=.07, right=.985, top=.88, bottom=.27, wspace=.2)
    canvas.savefig(path, metadata={"Date": None})
    plot.close(canvas)


def caption(figure, rows):
    added = sorted({r["curve"] for r in rows if r["sched_time"] == "add"})
    devices = f"{figure.devices} device" + ("s" if figure.devices > 1 else "")
    memory = "" if figure.memories else f" of {figure.memory}B"
    times = ("without scheduling time" if not added else "scheduling time added"
             + ("" if len(added) == len(figure.curves) else " but for the offline curves"))
    origin = "as in the thesis" if figure.simulated else "the thesis ran it on real machines"
    return f"simulated ({origin}) on {figure.platform}, {devices}{memory}; {times}"


# --- pictures of the order ---------------------------------------------------------------------------------------------------


def draw_picture(picture, runner, out):
    curve = papers.CURVES[picture.curve]
    line = command_line(picture.workload, "gemini", picture.devices, picture.memory, curve)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.csv")
        done = subprocess.run([runner.simulator, *line, "--quiet", "--trace", str(trace), "--csv", f"{folder}/run.csv"],
                              capture_output=True, text=True, timeout=runner.timeout, check=False)
        if done.returncode:
            runner.failures.append((shlex.join(line), done.stderr.strip()))
            return
        options = order.parse([str(trace), "-o", "-", "--title", f"{picture.name}: {picture.title}", *picture.options])
        with trace.open(newline="", encoding="utf-8") as file:
            pathlib.Path(out, f"order-{picture.name}.svg").write_text(order.draw(file, options), encoding="utf-8")


# --- the command -------------------------------------------------------------------------------------------------------------


def whole(value):
    if int(value) < 1:
        raise ValueError
    return int(value)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="figures.py", usage=argparse.SUPPRESS, add_help=False)
    parser.add_argument("figures", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "out")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--points", type=whole, default=0)
    parser.add_argument("--jobs", type=whole, default=os.cpu_count())
    parser.add_argument("--sim")
    parser.add_argument("--timeout", type=whole, default=600)
    options = parser.parse_args(arguments)
    if options.quick and options.full:
        raise Refused("--quick and --full exclude each other")
    if not options.points and not options.full:
        options.points = QUICK_POINTS
    options.seeds = FULL_SEEDS if options.full else 1
    return options


def report(runner, suspects):
    for message, times in runner.warnings.items():
        print(f"figures.py: the simulator says ({times} times): {message}", file=sys.stderr)
    for line, problem in runner.failures:
        print(f"figures.py: failed: ompdarts-sim {line}\n    {problem}", file=sys.stderr)
    for row, problem in suspects:
        print(f"figures.py: better than its bound: figure {row['figure']}, {row['curve']}, n={row['n']}: {problem}",
              file=sys.stderr)
    return 1 if runner.failures or suspects else 0


def run(options):
    figures, pictures = choose(options.figures)
    runner_path = find_simulator(options.sim)
    plot = load_matplotlib() if figures else None
    options.out.mkdir(parents=True, exist_ok=True)
    runner = Runner(runner_path, options.out / "runs.jsonl", options.timeout)
    lines = [probe_of(f) for f in figures]
    lines += [p.line for f in figures for p in points_of(f, options.points, options.seeds)]
    runner.run_all(lines, options.jobs)
    suspects = []
    for figure in figures:
        rows = rows_of(figure, runner, options.points, options.seeds)
        if rows:
            write_csv(options.out / f"{figure.name}.csv", rows)
            draw_figure(plot, figure, rows, options.out / f"{figure.name}.svg")
            suspects += beaten_bounds(rows)
    if pictures:
        for picture in papers.PICTURES:
            draw_picture(picture, runner, options.out)
    print(f"figures.py: {len(figures)} figures" + (f", {len(papers.PICTURES)} pictures" if pictures else "") +
          f" in {options.out}", file=sys.stderr)
    return report(runner, suspects)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    try:
        options = parse(sys.argv[1:])
        if options.list:
            print(listing())
            return 0
        return run(options)
    except Refused as refused:
        print(f"figures.py: {refused}", file=sys.stderr)
        return refused.status
    except KeyboardInterrupt:
        print("figures.py: broken off; the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
