#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The oracle of the library against SimGrid, on the random machines and cases of draws.py.

usage: exact.py [--seconds S] [--seed N] [--first N] [--wide] [--sim PROGRAM]

Runs each draw under every policy of draws.py with all its devices, in SimGrid and in the library's own model of the
machine (`ompdarts sim --model oracle`). Prints a line per draw: its number, in how many runs the makespans are the same
to a nanosecond, the largest difference, and under which policy. Recorded runs are left out: the oracle replays none.
Exit codes: 0 at least 95 % of all runs differ by at most 3 %, 1 they do not.
"""

import pathlib
import random
import sys
import tempfile

import draws
import simulator

SETTINGS = [(policy, ahead) for policy, ahead, active in draws.SETTINGS if active == "all"]
NANOSECOND, CLOSE = 1.5e-9, 0.03


def seconds(simulation, case, policy, ahead, model):
    more = [*simulator.with_rule(policy), "--model", model]
    more[1] += f"{',' if ':' in more[1] else ':'}ahead={ahead}"
    settings = {**case, "devices": f"{case['devices']}:all"}
    return float(simulator.run(simulation, more=more, **settings)["makespan_s"])


def difference(simulation, case, policy, ahead):
    """Seconds, and as a part of SimGrid's."""
    real, ours = (seconds(simulation, case, policy, ahead, model) for model in ("simgrid", "oracle"))
    return abs(ours - real), abs(ours - real) / real if real else 0.0


def run_draw(options, make, number, folder):
    """Prints a line; returns the differences, or None where the case cannot be run."""
    case, about = draws.draw(options, make, number, folder)
    if "graph" in case:
        return None
    text = draws.text_of(case, about)
    try:
        all_of_them = {setting: difference(options.sim, case, *setting) for setting in SETTINGS}
    except RuntimeError as error:
        print(f"{number} left out: {text} {error}", file=sys.stderr)
        return None
    worst = max(all_of_them, key=lambda setting: all_of_them[setting][1])
    same = sum(apart <= NANOSECOND for apart, _ in all_of_them.values())
    print(f"{number}  {same} of {len(SETTINGS)} the same, {100 * all_of_them[worst][1]:.2f} % under {worst[0]}, "
          f"{worst[1]} ahead: {text}", flush=True)
    return list(all_of_them.values())


def main():
    options = simulator.parse(draws.parser_of("exact.py", __doc__))
    with tempfile.TemporaryDirectory() as name:
        runs = [run for draw in draws.run_draws(options, pathlib.Path(name), run_draw) for run in draw]
    same = sum(apart <= NANOSECOND for apart, _ in runs)
    close = sum(part <= CLOSE for _, part in runs)
    print(f"of {len(runs)} runs {same} are the same to a nanosecond, {close} within 3 %")
    return 0 if close >= 0.95 * len(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
