#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is a program slower with more devices under the policy auto? On the random machines and cases of draws.py, simulated.

usage: more.py [--seconds S] [--seed N] [--first N] [--wide] [--workloads NAME...] [--graphs FILE...]
               [--sim PROGRAM] [--policy P]

Runs each draw with its first device, its first two, and so on. Prints a line per draw: its number, the largest ratio of the
time with some devices to the least time with fewer of them (1: never slower), and with how many that was. Then how many
draws are never slower by more than 1 %, and the largest ratio of all.
Exit codes: 0 none is slower by more than 1 %, 1 some are.
"""

import pathlib
import sys
import tempfile

import draws
import simulator

MOST = 1.01


def largest_ratio(options, case):
    """The ratio, with how many devices, and with how many less it was faster."""
    worst, least, with_least = (1.0, 1, 1), float("inf"), 1
    for devices in range(1, case["devices"] + 1):
        row = simulator.run(options.sim, more=simulator.with_rule(options.policy), **{**case, "devices": devices})
        seconds = float(row["makespan_s"])
        worst = max(worst, (seconds / least, devices, with_least))
        if seconds < least:
            least, with_least = seconds, devices
    return worst


def run_draw(options, make, number, folder):
    """Prints a line; returns the ratio, or None where the case cannot be run."""
    case, about = draws.draw(options, make, number, folder)
    text = draws.text_of(case, about)
    try:
        ratio, devices, fewer = largest_ratio(options, case)
    except RuntimeError as error:
        print(f"{number} left out: {text} {error}", file=sys.stderr)
        return None
    print(f"{number}  {ratio:.3f}  {devices} against {fewer} devices, {text}", flush=True)
    return ratio


def main():
    parser = draws.parser_of("more.py", __doc__)
    parser.add_argument("--policy", default="auto", help="that runs them (default: auto)")
    options = simulator.parse(parser)
    with tempfile.TemporaryDirectory() as name:
        ratios = draws.run_draws(options, pathlib.Path(name), run_draw)
    good = sum(ratio <= MOST for ratio in ratios)
    print(f"{good} of {len(ratios)} draws are never slower with more devices, the largest ratio is {max(ratios, default=1):.3f}")
    return 0 if good == len(ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
