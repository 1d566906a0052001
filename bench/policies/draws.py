#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy auto against all others, on random machines and cases, simulated.

usage: draws.py [--seconds S] [--seed N] [--first N] [--wide] [--workloads NAME...] [--graphs FILE...] [--sim PROGRAM]

Draws machines (1 to 16 devices, of which one in four has unequal ones; shared, half-duplex, per-pair, tree-shaped and
switched links, or links of unequal speed) and cases (workload or recorded run, size, memory from eight tiles to plenty) until the time is over, and
runs each under auto and under every other policy and setting of SETTINGS. Prints a line per draw (its number, ratio of
auto to the best of the others, 1 is as fast, and which that was), then how many draws reach 0.99, and the least ratio.
A draw's number, the seed and --workloads make it: --first begins with another one. With --wide machines and cases are
those of wide.py, instead.
Exit codes: 0 at least 95 % of the draws reach 0.99 and all of them 0.95, 1 they do not.
"""

import argparse
import importlib.util
import pathlib
import random
import shutil
import sys
import tempfile
import time

import simulator
import wide

PLATFORMS = pathlib.Path(__file__).resolve().parents[2] / "sim" / "platforms"
POLICIES = ("darts", "darts:alg12", "stationary", "dmdas", "dmdas+luf", "dmdas:bus+luf", "dmdar", "dmdar+luf", "lws",
            "lws+luf", "eager", "ap+luf")
SETTINGS = [(policy, ahead, active) for policy in POLICIES for ahead in (0, 3, 12) for active in ("all", "auto")]
SETTINGS += [(policy, 0, "all") for policy in ("dmda", "ap", "hfp", "mhfp", "rcm", "mst", "hypergraph")]
TILE = 1920 * 1920 * 4 / 2**20  # MiB
MOST_MEMORY = 2500
RECORDED = PLATFORMS.parents[1] / "tests" / "sim" / "data" / "cholesky.graph"
ANOTHER_SEED = 2  # with all settings of the recorded run events are awaited in its order, on another machine in vain
LARGEST = {"gemm2d": 60, "sparse2d": 40, "gemm3d": 12, "cholesky": 20, "lu": 16, "qr": 14}
WORKLOADS = [*sorted(LARGEST), "recorded"]


def maker():
    """The module that writes the simulator's own platforms."""
    spec = importlib.util.spec_from_file_location("make", PLATFORMS / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(make, rng, devices):
    """Pairs of devices on switches below one way from the memory."""
    low, high = rng.uniform(6, 30), rng.uniform(10, 60)
    p = make.Platform("A tree.", devices, "v100.times", 13250, True, 10)
    for way in ("in", "out"):
        p.link(f"root-{way}", high)
        for switch in range((devices + 1) // 2):
            p.link(f"switch{switch}-{way}", low)
    for k in range(devices):
        p.way("ram", f"gpu{k}", "root-in", f"switch{k // 2}-in")
        p.way(f"gpu{k}", "ram", f"switch{k // 2}-out", "root-out")
    for i, j in make.pairs(devices):
        p.way(f"gpu{i}", f"gpu{j}", f"switch{i // 2}-out", f"switch{j // 2}-in")
    return p


def unequal(make, rng, devices):
    """A way of its own for each device, some several times as fast as others, below one from the memory."""
    p = make.Platform("Unequal links.", devices, "v100.times", 13250, True, 10)
    for way in ("in", "out"):
        p.link(f"root-{way}", round(rng.uniform(10, 60), 1))
    for k in range(devices):
        bandwidth = rng.choice((4, 8, 16, 32))
        for way in ("in", "out"):
            p.link(f"gpu{k}-{way}", bandwidth)
        p.way("ram", f"gpu{k}", "root-in", f"gpu{k}-in")
        p.way(f"gpu{k}", "ram", f"gpu{k}-out", "root-out")
    for i, j in make.pairs(devices):
        p.way(f"gpu{i}", f"gpu{j}", f"gpu{i}-out", f"gpu{j}-in")
    return p


def with_speeds(platform, rng):
    """Devices of one machine in four compute at different speeds."""
    if platform.devices > 1 and rng.random() < 0.25:
        platform.speed = [rng.choice((0.25, 0.5, 1, 1, 2)) for _ in range(platform.devices)]
        platform.about += f" Speeds {' '.join(str(speed) for speed in platform.speed)}."
    return platform


def machine(make, rng):
    """A platform and its number of devices."""
    devices, shape = rng.randint(1, 16), rng.choice(("bus", "half", "nopeer", "pairs", "tree", "switch", "unequal"))
    if shape == "unequal":
        return unequal(make, rng, devices), devices
    if shape == "tree":
        return tree(make, rng, devices), devices
    if shape == "switch":
        return make.nvswitch("Switched.", devices), devices
    return make.bus("A bus.", devices, round(rng.uniform(6, 50), 1), half=shape == "half", peer=shape != "nopeer",
                    private=round(rng.uniform(20, 100), 1) if shape == "pairs" else 0), devices


def memory(rng):
    """MiB of each device: as likely to be little as to be much."""
    return round(8 * TILE * (MOST_MEMORY / (8 * TILE)) ** rng.random())


def draw(options, make, number, folder):
    """Options of one case, and the machine in words."""
    rng = random.Random(f"{options.seed} {number}")
    if options.wide:
        return wide.draw(make, rng, folder)
    platform, devices = machine(make, rng)
    with_speeds(platform, rng)
    path = folder / "machine.xml"
    path.write_text(platform.text(), encoding="ascii")
    workload = rng.choice(options.workloads)
    case = {"platform": str(path), "devices": devices}
    if workload == "recorded":
        return {"graph": str(rng.choice(options.graphs)), "seed": ANOTHER_SEED, **case}, platform.about
    size = rng.randint(4, LARGEST[workload])
    return {"workload": f"{workload}:n={size}", "mem": f"{memory(rng)}Mi", **case}, platform.about


def seconds(simulation, case, policy, ahead, active):
    """With lookahead of so many mean durations of a task; None: as the policy decides."""
    settings = {**case, "devices": f"{case['devices']}:{active}"}
    more = simulator.with_rule(policy)
    if ahead is not None:
        more[1] += f"{',' if ':' in more[1] else ':'}ahead={ahead}"
    return float(simulator.run(simulation, more=more, **settings)["makespan_s"])


def compare(simulation, case):
    """The ratio, and what was best of the others."""
    others = {setting: seconds(simulation, case, *setting) for setting in SETTINGS}
    best = min(others, key=others.get)
    ours = seconds(simulation, case, "auto", None, "policy")
    return others[best] / ours if ours else 1.0, best


def text_of(case, about):
    what = case.get("workload") or pathlib.Path(case["graph"]).name
    return f"{what} on {case['devices']} devices of {case.get('mem', 'recorded memory')}. {about}"


def run_draw(options, make, number, folder):
    """Prints a line; returns the ratio, or None where the case cannot be run."""
    case, about = draw(options, make, number, folder)
    text = text_of(case, about)
    try:
        ratio, best = compare(options.sim, case)
    except RuntimeError as error:  # a task does not fit, or sparse2d has none
        print(f"{number} left out: {text} {error}", file=sys.stderr)
        return None
    print(f"{number}  {ratio:.3f}  {text}  best of the others: {best[0]}, {best[1]} ahead, active {best[2]}",
          flush=True)
    return ratio


def parser_of(name, about):
    """The options of scripts that draw."""
    parser = argparse.ArgumentParser(prog=name, description=about.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long to draw (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw (default: 0)")
    parser.add_argument("--wide", action="store_true", help="stranger machines, and programs of more shapes")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS, help="to draw from (default: all)")
    parser.add_argument("--graphs", nargs="+", default=[RECORDED], help="runs recorded with OMPDARTS_RECORD")
    simulator.add_argument(parser)
    return parser


def run_draws(options, folder, run):
    """Draws until the time is over; what run() has returned for each that can be run."""
    make, results, number, end = maker(), [], options.first, time.monotonic() + options.seconds
    for times in PLATFORMS.glob("*.times"):
        shutil.copy(times, folder)
    while time.monotonic() < end:
        result = run(options, make, number, folder)
        results += [] if result is None else [result]
        number += 1
    return results


def main():
    options = simulator.parse(parser_of("draws.py", __doc__))
    with tempfile.TemporaryDirectory() as name:
        ratios = run_draws(options, pathlib.Path(name), run_draw)
    good = sum(ratio >= 0.99 for ratio in ratios)
    print(f"{good} of {len(ratios)} draws reach 0.99, the least ratio is {min(ratios, default=1):.3f}")
    return 0 if good >= 0.95 * len(ratios) and min(ratios, default=1) >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
