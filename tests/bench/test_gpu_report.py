#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables and the choices of bench/gpu, on results recorded without a GPU (every figure is host memory's).

usage: test_gpu_report.py BENCH/GPU RESULTS.json
"""
import argparse
import contextlib
import copy
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPTS, RESULTS = sys.argv[1:3]
sys.path.insert(0, SCRIPTS)

import libraries  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402


def load():
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


def ours(policy, fraction, gflops, **more):
    return {"problem": "gemm", "variant": "ompdarts", "policy": policy, "fraction": fraction, "gflops": gflops,
            "seconds": 1, "devices": 1, "ok": True, **more}


def peer(variant, fraction, gflops, **more):
    return {"problem": "gemm", "variant": variant, "fraction": fraction, "gflops": gflops, "seconds": 100 / gflops,
            "memory_used": 0, "ok": True, **more}


class Ratios(unittest.TestCase):
    def test_cublasxt_serves_the_limits_it_keeps(self):
        rows = [peer("cublasxt", None, 50, memory_used=900), peer("cublasxt", None, 20, memory_used=200)]
        chosen = report.with_cublasxt(rows, {"gemm": {"1": 1000, "4": 250, "16": 60}})
        self.assertEqual({row["fraction"]: row["gflops"] for row in chosen if row["fraction"]}, {1: 50, 4: 20})

    def test_each_is_compared_at_its_memory_limit(self):
        rows = [ours("darts", 1, 90), ours("darts", 4, 60), ours("eager", 4, 30), peer("in-core", None, 120),
                peer("streams", 1, 100), peer("streams", 4, 80), peer("managed", 1, 45),
                peer("cublasxt", None, 40), peer("cublasxt", 4, 40)]
        found = {(ratio["against"], ratio["fraction"]): ratio["ratio"] for ratio in report.ratios(rows)}
        self.assertEqual(found, {("in-core", 1): 0.75, ("in-core", 4): 0.5, ("streams", 1): 0.9, ("streams", 4): 0.75,
                                 ("managed", 1): 2, ("cublasxt", 4): 1.5, ("eager", 4): 2})

    def test_what_came_to_no_result_is_not_compared(self):
        failed = {key: value for key, value in ours("darts", 1, 90).items() if key != "gflops"}
        self.assertEqual(report.ratios([{**failed, "ok": False, "why": "it ended"}, peer("in-core", None, 120)]), [])

    def test_other_devices_and_memory_are_not_compared(self):
        rows = [ours("darts", 1, 90, devices=4), ours("darts", 1, 80, host_memory="pageable"), peer("in-core", None, 100)]
        self.assertEqual(report.ratios(rows), [])


class Report(unittest.TestCase):
    def test_sample(self):
        results = load()
        text = report.report(results)
        self.assertTrue(report.is_right(results))
        for word in ("in-core", "cublasxt (block 192)", "streams", "managed", "ompdarts (pageable)", "llvm", "1/16", "all"):
            self.assertIn(word, text)
        self.assertNotIn("WRONG", text)
        for problem in report.PROBLEMS:
            shown = [line for line in text.splitlines() if line.startswith("ompdarts ")]
            self.assertEqual(len(shown), sum(row["variant"] == "ompdarts" for row in results["rows"]), problem)

    def test_recorded_ratios_are_those_of_the_rows(self):
        results = load()
        limits = {problem: results["settings"][problem]["limits"] for problem in report.PROBLEMS}
        self.assertEqual(results["ratios"], report.ratios(report.with_cublasxt(results["rows"], limits)))

    def test_markdown_has_as_many_cells_everywhere(self):
        text = report.report(load(), markdown=True)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        self.assertIn(len(report.COLUMNS) + 1, {line.count("|") for line in rows})
        self.assertTrue(all(line.endswith("|") for line in rows))

    def test_a_wrong_result_is_told_and_changes_the_exit_code(self):
        results = load()
        results["rows"][1]["ok"] = False
        self.assertIn("WRONG: gemm", report.report(results))
        self.assertEqual(self.exit_code(results), 1)
        self.assertEqual(self.exit_code(load()), 0)

    def test_a_run_without_result_is_a_row(self):
        results = load()
        results["rows"].append({"problem": "gemm", "variant": "ompdarts", "policy": "darts", "fraction": 4, "devices": 4,
                                "ok": False, "why": "no such device"})
        self.assertIn("no such device", report.report(results))

    def test_nothing_measured_is_not_right(self):
        results = {**load(), "rows": [], "correctness": []}
        self.assertFalse(report.is_right(results))
        report.report(results)

    @staticmethod
    def exit_code(results):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(results, file)
            file.flush()
            with contextlib.redirect_stdout(io.StringIO()):
                return report.main([file.name])


class Sizes(unittest.TestCase):
    machine = {"gemm_flops": 50e12, "h2d_bytes_per_s": 50e9, "free_bytes": 140e9, "host_memory_bytes": 120e9}

    def choose(self, seconds, **machine):
        options = run.parse(["--time", str(seconds)])
        one = argparse.Namespace(options=options, results={"machine": {**self.machine, **machine}})
        return run.choose_tiles(one, "gemm", 2048)

    def test_tile_balances_copying_and_computing(self):
        self.assertEqual(run.choose_tile({"gemm_flops": 50e12, "h2d_bytes_per_s": 20e9}), 5120)
        self.assertEqual(run.choose_tile({"gemm_flops": 1e18, "h2d_bytes_per_s": 1e10}), 8192)

    def test_kernels_are_not_short(self):
        for flops, tile in ((50e12, 3328), (19.5e12, 2560), (1e11, 512), (1e6, 256)):
            self.assertEqual(run.choose_tile({"gemm_flops": flops, "h2d_bytes_per_s": 50e9}), tile)

    def test_sizes_of_other_precisions(self):
        machine = {"gemm_flops": 50e12, "h2d_bytes_per_s": 20e9}
        self.assertEqual(run.choose_tile(machine, "double"), 8192) # twice the bytes: balanced at 10,000, and 8192 at most
        self.assertEqual(run.choose_tile({**machine, "gemm_flops": 250e12, "h2d_bytes_per_s": 100e9}, "tf32"), 5632)
        self.assertEqual(run.data_bytes("gemm", 8, 512, "double"), 2 * run.data_bytes("gemm", 8, 512, "tf32"))
        self.assertEqual(run.parse([]).output, "ompdarts-gpu.json")
        self.assertEqual(run.parse(["--precision", "tf32"]).output, "ompdarts-gpu-tf32.json")

    def test_less_time_or_memory_makes_matrices_smaller(self):
        self.assertGreater(self.choose(2000), self.choose(300))
        self.assertGreater(self.choose(2000), self.choose(2000, free_bytes=10e9))
        self.assertEqual(self.choose(1), run.FEWEST_TILES["gemm"])

    def test_lines_cut_off_are_left_out(self):
        self.assertEqual(run.parse_lines('text\n{"a": 1}\n[1]\n{"b": '), [{"a": 1}])

    def test_sums_of_options(self):
        options = run.parse(["--fractions", "4,1,4", "--policies", "darts"])
        self.assertEqual((options.fractions, options.policies), ((1, 4), ("darts",)))


class Peers(unittest.TestCase):
    wanted = [("in-core", ["--in-core"]), ("streams", ["--streams", "1,2"]), ("managed", ["--managed"])]

    def rest(self, *variants):
        return [name for name, _ in run.left_to_try(self.wanted, [{"variant": name} for name in variants])]

    def test_one_that_fails_does_not_take_the_others_with_it(self):
        self.assertEqual(self.rest(), ["streams", "managed"])
        self.assertEqual(self.rest("in-core"), ["streams", "managed"])
        self.assertEqual(self.rest("in-core", "streams", "streams"), ["managed"])
        self.assertEqual(self.rest("managed"), [])

    def calls(self, answers):
        """What peers() asks gpu_peers for, and what it leaves out, with these answers."""
        asked, said = [], []
        launcher = argparse.Namespace(command=lambda *words: words)
        one = argparse.Namespace(
            options=argparse.Namespace(precision="float"), launcher=launcher, elapsed=lambda: 0, left=lambda: 100,
            results={"settings": {"gemm": {"tiles": 1, "tile": 1, "limits": {}}}, "rows": []}, say=lambda text: None,
            leave_out=said.append, save=lambda: None)
        one.call = lambda command, limit: (asked.append(command[5:]), answers.pop(0))[1]
        run.peers(one, "gemm", self.wanted, 0.5)
        return asked, said, one.results["rows"]

    def test_the_others_are_asked_for_again(self):
        line = {"problem": "gemm", "variant": "in-core", "memory_limit": 0, "ok": True}
        asked, said, rows = self.calls([(2, [line], "no such function\n"), (-11, [], ""), (0, [{**line, "variant": "managed"}], "")])
        self.assertEqual(asked, [("--in-core", "--streams", "1,2", "--managed"), ("--streams", "1,2", "--managed"),
                                 ("--managed",)])
        self.assertEqual(said, ["gemm, gpu_peers: no such function", "gemm, gpu_peers: exit code -11"])
        self.assertEqual([row["variant"] for row in rows], ["in-core", "managed"])


class Libraries(unittest.TestCase):
    def test_the_linkers_cache_comes_first_then_the_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = pathlib.Path(folder, "a"), pathlib.Path(folder, "b")
            for path in (first, second):
                path.mkdir()
                (path / "libcublas.so.12").touch()
            names = ("libcublas.so.13", "libcublas.so.12")
            self.assertEqual(libraries.find(names, {"libcublas.so.12": str(second)}, [str(first)]),
                             str(second / "libcublas.so.12"))
            self.assertEqual(libraries.find(names, {"libcublas.so.12": "/missing"}, [str(first)]),
                             str(first / "libcublas.so.12"))
            self.assertIsNone(libraries.find(names, {}, ["/missing"]))

    def test_programs_get_our_libraries_first_and_no_options_of_the_callers(self):
        before = copy.copy(dict(os.environ))
        with tempfile.TemporaryDirectory() as folder:
            driver = pathlib.Path(folder, "libcuda.so.1")
            driver.touch()
            try:
                os.environ.update(BENCH_CUDA=str(driver), OMPDARTS_SCHED="eager", LD_PRELOAD="")
                launcher = libraries.Launcher(folder)
            finally:
                os.environ.clear()
                os.environ.update(before)
            environment = launcher.environment
            self.assertNotIn("OMPDARTS_SCHED", environment)
            self.assertTrue(environment["LD_LIBRARY_PATH"].startswith(f"{folder}/bin:{folder}/lib:"))
            self.assertEqual(os.path.realpath(os.path.join(launcher.links.name, "libcuda.so")), os.path.realpath(driver))
            launcher.links.cleanup()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
