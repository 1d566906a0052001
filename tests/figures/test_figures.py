#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/figures at work: a small figure, pictures of the order, and what is refused.

usage: test_figures.py FIGURES_FOLDER SIMULATOR
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FIGURES, SIMULATOR = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(FIGURES))
sys.dont_write_bytecode = True
import claims
import figures
import order
import papers


def run(program, *arguments):
    return subprocess.run([sys.executable, "-B", FIGURES / program, *map(str, arguments)], capture_output=True, text=True,
                          timeout=250, check=False)


def elements(svg, **attributes):
    """The elements of a file that have these attributes."""
    return [e for e in xml.etree.ElementTree.parse(svg).iter()
            if all(e.get(k.rstrip("_"), "").startswith(v) for k, v in attributes.items())]


class CpuWorkers(unittest.TestCase):
    def test_rows_and_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            trace, picture = pathlib.Path(folder) / "trace.csv", pathlib.Path(folder) / "cpu.svg"
            subprocess.run([SIMULATOR, "--workload", "cholesky:n=16,tile=480,element=8", "--platform", "a100x2",
                            "--devices", "2", "--sched", "auto", "--cpu", "16:4", "--quiet", "--csv", "/dev/null",
                            "--trace", trace], check=True)
            with open(trace, encoding="utf-8") as file:
                tasks = [row for row in csv.DictReader(file) if row["kind"] == "task"]
            panels = sum(row["name"] == "potrf" and row["device"].startswith("cpu") for row in tasks)
            self.assertGreater(panels, 0)
            self.assertEqual(run("cpu.py", trace, "-o", picture, "--title", "a title").returncode, 0)
            text = picture.read_text(encoding="utf-8")
            self.assertIn(f"potrf {panels} of 16, ", text)
            for words in ("device 1", "CPU 0", "a title"):
                self.assertIn(words, text)
            self.assertEqual(text.count("<rect"), len(tasks) + 1 + 4)  # the background, and the key
            self.assertEqual(run("order.py", trace, "-o", picture).returncode, 0)

    def test_refusals(self):
        done = run("cpu.py", "/nonexistent", "-o", "/dev/null")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent", done.stderr)


class RecursiveTasks(unittest.TestCase):
    def test_curves_and_rows_that_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            rows, arguments = pathlib.Path(folder) / "rows.csv", ("--sizes", 2, 3, "--workloads", "cholesky")
            arguments += ("--simulator", SIMULATOR, "--csv", rows, "-o", folder)
            first = run("recursive.py", *arguments)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertEqual(first.stdout.count("best single"), 2)
            written = rows.read_text(encoding="utf-8")
            with open(rows, encoding="utf-8") as file:
                names = {row["curve"] for row in csv.DictReader(file)}
            self.assertIn("recursive, auto", names)
            self.assertEqual(run("recursive.py", *arguments).stdout, first.stdout)
            self.assertEqual(rows.read_text(encoding="utf-8"), written)
            self.assertIn("TFlop/s", (pathlib.Path(folder) / "recursive-cholesky.svg").read_text(encoding="utf-8"))

    def test_refusals(self):
        self.assertEqual(run("recursive.py", "--simulator", "/bin/false", "--sizes", 2).returncode, 1)
        self.assertEqual(run("recursive.py", "--workloads", "qr").returncode, 2)


class Nodes(unittest.TestCase):
    def test_steps_are_bound_and_rows_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            rows, arguments = pathlib.Path(folder) / "rows.csv", ("--workloads", "lu", "--policies", "eager", "dmdas")
            arguments += ("--nodes", 1, 2, 9, "--size", 6, "--weak", 4, "--simulator", SIMULATOR, "--csv", rows, "-o", folder)
            first = run("nodes.py", *arguments)
            self.assertEqual(first.returncode, 0, first.stderr)
            lines = [line.split() for line in first.stdout.splitlines()[1:]]
            self.assertEqual(len(lines), 2 * 2 * 3)
            self.assertEqual({line[4] for line in lines}, {"8", "16", "72"})
            for line in lines:
                self.assertTrue(0 < float(line[7]) <= 1.01 and 0 < float(line[-1]) <= 1.01, line)
                if line[3] == "1":
                    self.assertEqual(line[7], "1.00")
            written = rows.read_text(encoding="utf-8")
            self.assertEqual(run("nodes.py", *arguments).stdout, first.stdout)
            self.assertEqual(rows.read_text(encoding="utf-8"), written)
            self.assertIn("strong scaling", (pathlib.Path(folder) / "nodes-lu.svg").read_text(encoding="utf-8"))

    def test_refusals(self):
        self.assertEqual(run("nodes.py", "--simulator", "/bin/false", "--nodes", 1).returncode, 1)
        self.assertEqual(run("nodes.py", "--workloads", "qr").returncode, 2)


class Command(unittest.TestCase):
    def test_typing_error_is_refused_with_the_list(self):
        done = run("figures.py", "3.88", "--sim", SIMULATOR)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'3.88'", done.stderr)
        for figure in papers.FIGURES:
            self.assertIn(f" {figure.name} ", done.stderr)

    def test_missing_simulator_says_what_to_install(self):
        done = run("figures.py", "3.8", "--sim", "/nonexistent")
        self.assertEqual(done.returncode, 77)
        self.assertIn("libsimgrid-dev", done.stderr)

    def test_help_and_list(self):
        for option in ("--help", "--list"):
            self.assertEqual(run("figures.py", option).returncode, 0)
        self.assertEqual(run("order.py", "--help").returncode, 0)

    def test_all_figures_that_are_promised(self):
        numbers = "3.8 3.9 3.13 3.14 3.16 3.17 3.19 3.20 4.6 4.7 4.8 4.13 4.14 4.15 4.16 4.17 5.2 5.5 5.7 5.8 5.9 5.10 5.11 5.12"
        for number in numbers.split():
            self.assertTrue(figures.choose([number])[0], number)
        self.assertEqual([f.name for f in figures.choose(["5.10"])[0]], ["5.10a", "5.10b", "5.10c"])
        self.assertEqual([f.name for f in figures.choose(["3.8b"])[0]], ["3.8"])
        self.assertEqual([f.name for f in figures.choose(["5.12c"])[0]], ["5.12cd"])


class Figure(unittest.TestCase):
    def test_small_figure(self):
        figure, = figures.choose(["3.16"])[0]
        with tempfile.TemporaryDirectory() as folder:
            arguments = ("figures.py", "3.16", "--points", 2, "--jobs", 1, "--sim", SIMULATOR, "--out", folder)
            done = run(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(f"{folder}/3.16.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(len(rows), 2 * len(figure.curves))
            self.assertEqual({r["curve"] for r in rows}, {papers.CURVES[c].label for c in figure.curves})
            self.assertEqual({r["n"] for r in rows}, {"25", "50"})
            for row in rows:
                self.assertGreater(float(row["transferred_mib"]), .999 * float(row["bound_mib"]))
                self.assertLess(float(row["gflops"]), 1.001 * float(row["peak_gflops"]))
            drawn = {e.get("id") for e in elements(f"{folder}/3.16.svg", id="curve-")}
            self.assertEqual(drawn, {f"curve-{y}-{c}" for y in ("gflops", "transferred_mib") for c in figure.curves})
            # Again: nothing is simulated, and a cache that was cut off in the middle of a line is no harm.
            cache = pathlib.Path(folder, "runs.jsonl")
            runs = len(cache.read_text().splitlines())
            self.assertEqual(runs, len(rows) + 1)
            cache.write_text(cache.read_text()[:-20])
            self.assertEqual(run(*arguments).returncode, 0)
            complete = [json.loads(line) for line in cache.read_text().splitlines()[:runs - 1]]
            self.assertEqual(len(complete), runs - 1)


TRACE = """\
kind,name,task,row,column,layer,device,from,to,bytes,demanded,start_s,end_s
load,A,,0,0,,0,ram,0,8,1,0,1
load,B,,0,0,,0,ram,0,8,1,1,2
task,gemm,0,0,0,0,0,,,,,2,3
r,A,0,0,0,,0,,,8,,,
r,B,0,0,0,,0,,,8,,,
load,B,,0,1,,0,ram,0,8,0,2,3
task,gemm,1,0,1,0,0,,,,,3,4
r,A,1,0,0,,0,,,8,,,
r,B,1,0,1,,0,,,8,,,
task,gemm,2,1,0,0,1,,,,,5,6
r,A,2,1,0,,1,,,8,,,
rw,C,2,7,7,,1,,,8,,,
"""


class Order(unittest.TestCase):
    def draw(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            trace, picture = pathlib.Path(folder, "t.csv"), pathlib.Path(folder, "t.svg")
            trace.write_text(TRACE)
            done = run("order.py", trace, "-o", picture, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [elements(picture, class_=c) for c in ("tile", "fetch", "prefetch")]

    def test_tiles_and_loads(self):
        tiles, fetches, prefetches = self.draw()
        self.assertEqual((len(tiles), len(fetches) - 1, len(prefetches) - 1), (3, 2, 1))  # one each in the legend
        self.assertNotEqual(tiles[0].get("fill"), tiles[1].get("fill"))

    def test_loads_are_given_to_the_first_task_that_uses_them(self):
        tasks, loads = order.read_trace(TRACE.splitlines())
        order.assign_loads(tasks, loads)
        self.assertEqual([t.loads for t in tasks], [[(0, True), (1, True)], [(1, False)], []])

    def test_by_data(self):
        tasks, _ = order.read_trace(TRACE.splitlines())
        order.place_by_data(tasks)
        self.assertEqual([t.at for t in tasks], [(0, 0, 0), (0, 0, 1), (0, 1, 2)])
        self.assertEqual(len(self.draw("--group", "data")[0]), 3)

    def test_chunks_and_layers(self):
        self.assertEqual(len(self.draw("--chunk", 2, "--layers", "0-0")[0]), 3)

    def test_bad_trace(self):
        done = run("order.py", "/nonexistent", "-o", "/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(run("order.py", "t.csv").returncode, 2)

    def test_trace_of_the_simulator(self):
        with tempfile.TemporaryDirectory() as folder:
            for workload, options, tiles in (("gemm3d:n=3", (), 27), ("lu:n=4", (), 30), ("cholesky:n=4", ("--chunk", 5), 20),
                                             ("qr:n=3", ("--group", "data"), 14)):
                trace, picture = f"{folder}/t.csv", f"{folder}/t.svg"
                subprocess.run([SIMULATOR, "--workload", workload, "--platform", "gemini", "--devices", "2", "--trace", trace,
                                "--quiet"], check=True, capture_output=True, timeout=60)
                done = run("order.py", trace, "-o", picture, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(elements(picture, class_="tile")), tiles, workload)


class Links(unittest.TestCase):
    def test_no_transfer_is_faster_than_its_link(self):
        """Copies between devices that share no link with those from the host must not end these."""
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/t.csv"
            subprocess.run([SIMULATOR, "--workload", "lu:n=10", "--platform", "nvlink", "--devices", "4", "--mem", "500Mi",
                            "--trace", trace, "--quiet"], check=True, capture_output=True, timeout=60)
            with open(trace, newline="", encoding="utf-8") as file:
                loads = [row for row in csv.DictReader(file) if row["kind"] == "load"]
            self.assertTrue({"ram"} < {row["from"] for row in loads})
            for row in loads:
                limit = 12e9 if row["from"] == "ram" else 48e9
                speed = float(row["bytes"]) / (float(row["end_s"]) - float(row["start_s"]))
                self.assertLess(speed, limit * 1.0001, row)


class Claims(unittest.TestCase):
    def test_mean_gain(self):
        rows = [{"curve": c, "working_set_mib": str(x), "gflops": str(g)}
                for c, x, g in (("a", 1, 150), ("a", 2, 300), ("b", 1, 100), ("b", 2, 100))]
        self.assertAlmostEqual(claims.gain(rows, "a", "b"), 125)
        self.assertAlmostEqual(claims.gain(rows, "a", "b", lambda row: float(row["working_set_mib"]) > 1), 200)


def main():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("skipped: matplotlib is missing (apt-get install python3-matplotlib)")
        return 77
    if not pathlib.Path(SIMULATOR).exists():
        print(f"skipped: there is no simulator {SIMULATOR} (apt-get install libsimgrid-dev)")
        return 77
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
