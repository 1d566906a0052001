#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the papers' quantitative claims in the figures' CSV files, for docs/reproduction.md.

usage: claims.py [--out FOLDER]      (default: bench/figures/out, where figures.py leaves its CSV files)

Prints a Markdown table: place, claim, published, ours. An improvement is the mean over all sizes of the improvement at each size, as
the captions of the thesis' tables 3.1 to 3.7 say. Figures that have not been made are "-".
"""

import csv
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


# --- measures: rows of one figure to text ------------------------------------------------------------------------------


def value(row, column):
    return float(row[column])


def mean_of(rows, curve, column, where=None):
    """x -> mean over the seeds."""
    x = "memory_mib" if len({row["working_set_mib"] for row in rows}) == 1 else "working_set_mib"
    values = {}
    for row in rows:
        if row["curve"] == curve and (not where or where(row)):
            values.setdefault(value(row, x), []).append(value(row, column))
    return {k: sum(v) / len(v) for k, v in sorted(values.items())}


def gain(rows, ours, other, where=None):
    """By how many percent `ours` is faster, the mean over all sizes."""
    a, b = mean_of(rows, ours, "gflops", where), mean_of(rows, other, "gflops", where)
    gains = [100 * (a[x] / b[x] - 1) for x in a if x in b]
    return sum(gains) / len(gains) if gains else float("nan")


def total_gain(rows, ours, other):
    """The same, as the ratio of the means of all GFlop/s."""
    a, b = mean_of(rows, ours, "gflops"), mean_of(rows, other, "gflops")
    return 100 * (sum(a.values()) / sum(b.values()) - 1)


def constrained(row):
    """The data do not fit."""
    return value(row, "working_set_mib") > value(row, "memory_mib")


def fitting(row):
    return not constrained(row)


def beyond(factor):
    """Working sets beyond so many times the memory."""
    return lambda row: value(row, "working_set_mib") > factor * value(row, "memory_mib")


def percent(ours, other, where=None):
    def measure(rows):
        text = f"{gain(rows, ours, other, where):+.1f} %"
        return text if where else f"{text} (of the mean GFlop/s: {total_gain(rows, ours, other):+.1f} %)"
    return measure


def several(ours, *others):
    return lambda rows: ", ".join(f"{gain(rows, ours, other):+.1f} %" for other in others)


def over(curve, column, bound, pick=max, where=None):
    """Largest (or other) ratio of a column to a bound over the sizes."""
    def measure(rows):
        a, b = mean_of(rows, curve, column, where), mean_of(rows, curve, bound, where)
        ratios = {x: a[x] / b[x] for x in a}
        if not ratios:
            return "no such size"
        at = pick(ratios, key=ratios.get)
        return f"{ratios[at]:.2f} at {at:.0f} MiB"
    return measure


def last(curve, column, bound):
    def measure(rows):
        a, b = mean_of(rows, curve, column), mean_of(rows, curve, bound)
        at = max(a)
        return f"{a[at] / b[at]:.2f} at {at:.0f} MiB"
    return measure


def ratios(a, b, column, where=None):
    """From the lowest to the highest ratio of two curves over the sizes."""
    def measure(rows):
        x, y = mean_of(rows, a, column, where), mean_of(rows, b, column, where)
        found = [x[at] / y[at] for at in x if at in y and y[at]]
        return f"{min(found):.2f} to {max(found):.2f}, at the largest size {found[-1]:.2f}" if found else "no such size"
    return measure


def where_better(a, b, column="gflops", margin=1.0):
    """The sizes where curve `a` has more than curve `b`."""
    def measure(rows):
        x, y = mean_of(rows, a, column), mean_of(rows, b, column)
        found = [f"{at:.0f}" for at in x if x[at] > y[at] * margin]
        return f"{len(found)} of {len(x)} sizes" + (f": {' '.join(found)} MiB" if 0 < len(found) < len(x) else "")
    return measure


def best(where=None, ignore=("darts of ompdarts",), column="gflops", pick=max):
    """Which curves are the best, or within half a percent of it, and at how many sizes."""
    def measure(rows):
        curves = [c for c in dict.fromkeys(row["curve"] for row in rows) if c not in ignore]
        values = {c: mean_of(rows, c, column, where) for c in curves}
        sizes = values[curves[0]]
        count = {c: sum(abs(values[c][x] / pick(values[d][x] for d in curves) - 1) < .005 for x in sizes) for c in curves}
        ranked = sorted((c for c in curves if count[c]), key=lambda c: -count[c])
        return ", ".join(f"{c} {count[c]}" for c in ranked) + f" of {len(sizes)} sizes" if sizes else "no such size"
    return measure


def at(curve, column, *sizes):
    """Values at some n."""
    def measure(rows):
        found = {int(r["n"]): value(r, column) for r in rows if r["curve"] == curve}
        return ", ".join(f"{found[n]:.0f}" if n in found else "-" for n in sizes)
    return measure


def part_of_peak(curve, where=None, pick=min):
    return over(curve, "gflops", "peak_gflops", pick, where)


def drop(curve, factor):
    """Lowest part of the peak up to so many times the memory, highest beyond."""
    def measure(rows):
        before = over(curve, "gflops", "peak_gflops", min, lambda r: not beyond(factor)(r) and
                      value(r, "working_set_mib") > .5 * factor * value(r, "memory_mib"))(rows)
        return f"{before} at worst before it, {over(curve, 'gflops', 'peak_gflops', max, beyond(factor))(rows)} at best after it"
    return measure


def deciding(curve, n):
    """What deciding costs at the size nearest to n."""
    def measure(rows):
        row = min((r for r in rows if r["curve"] == curve), key=lambda r: abs(int(r["n"]) - n))
        return f"{value(row, 'sched_s'):.3f} s at {value(row, 'working_set_mib'):.0f} MiB"
    return measure


# --- the claims ------------------------------------------------------------------------------------------------------------

def waited_for(picture):
    """Loads that a task waited for: the count below a picture of the order."""
    return re.search("waited for: ([0-9]+)", picture)[1]


HFP_OTHERS = ("EAGER", "MST", "RCM", "DMDAR")
HFP_TABLES = (("3.1", "3.8", "106.3, 87.6, 72.9, 15.1 %"), ("3.2", "3.13", "68.3, 64.0, 73.7, 66.5 %"),
              ("3.3", "3.14", "61.8, 60.4, 68.9, 46.0 %"), ("3.4", "3.16", "66.8, 57.5, 56.3, 65.8 %"),
              ("3.5", "3.17", "143.5, 109.4, 50.1, 1.2 %"), ("3.6", "3.19", "142.5, 66.4, 18.2, 1.6 %"),
              ("3.7", "3.20", "65.9, 55.6, 46.6, 41.6 %"))
LUF, OPTI, INPUTS = "DARTS+LUF", "DARTS+LUF OPTI", "DARTS+LUF 3inputs"
TIMED = "HFP, sched. time, fast start"

# place, figure, claim, published, measure
CLAIMS = [
    *((f"table {t}", f, "HFP over EAGER, MST, RCM, DMDAR", p, several("HFP", *HFP_OTHERS)) for t, f, p in HFP_TABLES),
    ("3.5.1", "3.8", "EAGER falls where one matrix no longer fits", "part of the peak", drop("EAGER", 2)),
    ("3.5.1", "3.8", "HFP: transfers over the bound", "at most 2", over("HFP", "transferred_mib", "bound_mib")),
    ("3.5.1", "3.8", "DMDAR falls at the last five sizes (from N = 70)", "above N = 65 only; part of the peak at 40, 60, 70, 90",
     lambda rows: ", ".join(f"{mean_at(rows, 'DMDAR', n):.2f}" for n in (40, 60, 70, 90))),
    ("3.5.1", "3.8", "DMDAR beats HFP with its scheduling time", "1300 to 1900 MB only", where_better("DMDAR", TIMED)),
    ("3.5.1", "3.9", "HFP with its scheduling time beats DMDAR at every memory size", "all", where_better(TIMED, "DMDAR")),
    ("3.5.2", "3.13", "EAGER's transfers at N = 10 and 12", "1100, 7600 MB", at("EAGER", "transferred_mib", 10, 12)),
    ("3.5.2", "3.13", "DMDAR is slower than EAGER at the last three sizes", "3 sizes", where_better("EAGER", "DMDAR")),
    ("3.5.2", "3.13", "HFP: transfers over the bound", "at most 2", over("HFP", "transferred_mib", "bound_mib")),
    ("3.5.2", "3.13", "HFP without Belady is faster than DMDAR and RCM", "faster",
     lambda rows: f"only Ready {gain(rows, 'HFP only Ready', 'DMDAR'):+.1f} %, {gain(rows, 'HFP only Ready', 'RCM'):+.1f} %; "
                  f"only flip {gain(rows, 'HFP only flip', 'DMDAR'):+.1f} %, {gain(rows, 'HFP only flip', 'RCM'):+.1f} %"),
    ("3.5.3", "3.16", "EAGER falls where the data no longer fit", "part of the peak", drop("EAGER", 1)),
    ("3.5.3", "3.16", "DMDAR over HFP up to 2.5 times the memory", "alike",
     percent("DMDAR", "HFP", lambda row: not beyond(2.5)(row))),
    ("3.5.3", "3.16", "HFP over DMDAR beyond", "better", percent("HFP", "DMDAR", beyond(2.5))),
    ("3.5.4", "3.17", "DMDAR beats HFP at the first seven sizes", "7 sizes", where_better("DMDAR", "HFP")),
    ("3.5.4", "3.17", "RCM beats EAGER", "better", percent("RCM", "EAGER")),
    ("3.5.5", "3.19", "HFP beats DMDAR from the eighth size on", "9 sizes", where_better("HFP", "DMDAR")),
    ("4.2.2", "4.2", "mHFP packed twice", "about -5 %", percent("mHFP2", "mHFP no sched. time")),
    ("4.4.2; IPDPS V.B", "4.6", "DARTS+LUF over DMDAR, 1 GPU", "+8.5 %", percent(LUF, "DMDAR")),
    ("4.4.2", "4.6", "DARTS with LRU falls where one matrix no longer fits", "part of the peak", drop("DARTS (LRU)", 2)),
    ("4.4.2", "4.6", "mHFP's scheduling time", "1 minute at 1300 MB", deciding("mHFP", 45)),
    ("4.4.3", "4.7", "mHFP without scheduling time: part of the peak where data do not fit", "nearly 1",
     part_of_peak("mHFP no sched. time", constrained)),
    ("4.4.3", "order-4.9", "mHFP: fetches that a task waits for, N = 20", "30", waited_for),
    ("4.4.3", "order-4.11", "DMDAR: the same", "69", waited_for),
    ("4.4.3", "order-4.12", "DARTS+LUF: the same", "55", waited_for),
    ("4.4.3", "4.8", "DARTS' scheduling time, 2 GPUs", "2 s at 2000 MB", deciding(LUF, 70)),
    ("4.4.3; IPDPS V.C", "4.8", "DARTS+LUF over DMDAR, 2 GPUs", "+9.4 %", percent(LUF, "DMDAR")),
    ("4.4.3", "4.8", "DARTS+LUF moves more than DMDAR", "from 2500 to 3500 MB", where_better(LUF, "DMDAR", "transferred_mib")),
    ("4.4.3", "4.8", "hMETIS+R with over without partitioning time", "slower", percent("hMETIS+R", "hMETIS+R no part. time")),
    ("4.4.3", "4.13", "DARTS+LUF falls from 4000 MB on: part of the peak at the largest size", "falls",
     last(LUF, "gflops", "peak_gflops")),
    ("4.4.3", "4.13", "DARTS+LUF over DMDAR, 4 GPUs", "worse from 4000 MB on", percent(LUF, "DMDAR")),
    ("4.4.3", "4.13", "with a threshold", "better than DMDAR at the last two sizes",
     where_better("DARTS+LUF threshold", "DMDAR")),
    ("4.4.4; IPDPS V.D", "4.14", "DARTS+LUF over DMDAR, random order, 2 GPUs", "+75 %", percent(LUF, "DMDAR")),
    ("4.4.5; IPDPS V.E", "4.15", "DARTS+LUF-3inputs over DMDAR, 3D, 4 GPUs, simulated", "+61 %", percent(INPUTS, "DMDAR")),
    ("4.4.5", "4.15", "3inputs is the best from the second size on", "all sizes", best()),
    ("4.4.6; IPDPS V.F", "4.16", "DARTS+LUF-OPTI-3inputs over hMETIS+R without partitioning time", "+49 %",
     percent("DARTS+LUF OPTI 3inputs", "hMETIS+R no part. time")),
    ("4.4.6", "4.16", "DARTS+LUF-OPTI over the same", "-",
     percent(OPTI, "hMETIS+R no part. time")),
    ("4.4.6", "4.16", "DARTS with 3inputs without OPTI: too slow to decide", "bad", percent(INPUTS, "hMETIS+R no part. time")),
    ("4.4.6", "4.16", "OPTI (3inputs) near the peak up to 3000 MB: least part of it from 1000 MiB", "nearly 1",
     part_of_peak("DARTS+LUF OPTI 3inputs", lambda r: 1000 < value(r, "working_set_mib") < 3100)),
    ("4.4.7; IPDPS V.G", "4.17a", "DARTS+LUF over DMDAR, sparse, 4 GPUs", "+40 %", percent(LUF, "DMDAR")),
    ("4.4.7", "4.17a", "OPTI does no harm", "0 %", percent(OPTI, LUF)),
    ("4.4.7", "4.17b", "OPTI is the best without memory limit", "all sizes", best()),
    ("4.4.7", "4.17b", "hMETIS+R without partitioning time is only slightly slower than OPTI", "slightly",
     percent("hMETIS+R no part. time", OPTI)),
    ("5.4.3", "5.2", "LWS falls where the matrix no longer fits", "plummets", drop("LWS", 1)),
    ("5.4.3", "5.2", "EAGER too", "plummets", drop("EAGER", 1)),
    ("5.4.3", "5.2", "DARTS over DMDAS where the data do not fit", "best", percent("DARTS", "DMDAS", constrained)),
    ("5.4.3", "5.2", "fewest transfers where the data do not fit", "DARTS",
     best(constrained, column="transferred_mib", pick=min)),
    ("5.4.3", "5.2", "DARTS: transfers over the PCI limit", "below 1, it alone",
     over("DARTS", "transferred_mib", "pci_limit_mib", max, constrained)),
    ("5.4.3", "5.2", "DMDAS: transfers over the PCI limit, largest size", "above 1",
     last("DMDAS", "transferred_mib", "pci_limit_mib")),
    ("5.4.4", "5.5", "the best where the matrix fits", "LWS", best(fitting)),
    ("5.4.4", "5.5", "the best where it does not", "DARTS", best(constrained)),
    ("5.4.4", "5.5", "all above the PCI limit: DARTS at the largest size", "above 1",
     last("DARTS", "transferred_mib", "pci_limit_mib")),
    ("5.4.5", "5.7", "the best without memory limit", "LWS", best()),
    ("5.4.5", "5.7", "DARTS over LWS", "about 0, less at small sizes", ratios("DARTS", "LWS", "gflops")),
    ("5.5.1", "5.8", "LWS' transfers over DARTS' where data do not fit", "3",
     ratios("LWS", "DARTS", "transferred_mib", constrained)),
    ("5.5.1", "5.8", "EAGER's transfers over DARTS'", "3", ratios("EAGER", "DARTS", "transferred_mib", constrained)),
    ("5.5.1", "5.8", "the best where data do not fit", "DARTS", best(constrained)),
    ("5.5.2", "5.9", "DARTS: transfers over the bound, largest size", "1.6", last("DARTS", "transferred_mib", "bound_mib")),
    ("5.5.2", "5.9", "DARTS: transfers below the PCI limit, largest size", "1/3.7 = 0.27",
     last("DARTS", "transferred_mib", "pci_limit_mib")),
    ("5.5.2", "5.9", "DARTS: least part of the peak from N = 20", "nearly 1",
     part_of_peak("DARTS", lambda r: int(r["n"]) >= 20)),
    *(("5.6", f"5.11{letter}", f"the best, {devices} GPUs, simulated", "DARTS", best())
      for letter, devices in (("a", 2), ("b", 4), ("c", 8))),
    *(("5.6", f"5.10{letter}", f"DARTS over DMDAS, {devices} GPUs", "better but for the largest sizes", percent("DARTS", "DMDAS"))
      for letter, devices in (("a", 2), ("b", 4), ("c", 8))),
    *(("5.7", f"5.12{part}", f"DARTS against LWS where the data fit, {cores} cores", "at worst -5 %",
       ratios("DARTS", "LWS", "gflops", fitting)) for part, cores in (("ab", 16), ("cd", 48))),
    *(("5.7", f"5.12{part}", f"the best where they do not, {cores} cores", "DARTS", best(constrained))
      for part, cores in (("ab", 16), ("cd", 48))),
    ("5.7", "5.12ab", "DARTS: transfers over the disk's limit, 16 cores, largest size", "nearly 1",
     last("DARTS", "transferred_mib", "pci_limit_mib")),
    ("5.7", "5.12cd", "DARTS: transfers over the bound, 48 cores, largest size", "nearly 1",
     last("DARTS", "transferred_mib", "bound_mib")),
    *(("5.7", f"5.12{part}", f"DARTS over DMDAS beyond the memory, {cores} cores", "more with 48 than with 16",
       percent("DARTS", "DMDAS", constrained)) for part, cores in (("ab", 16), ("cd", 48))),
]


def mean_at(rows, curve, n):
    found = [value(r, "gflops") / value(r, "peak_gflops") for r in rows if r["curve"] == curve and int(r["n"]) == n]
    return sum(found) / len(found) if found else float("nan")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--out"] and len(arguments) == 2:
        folder = pathlib.Path(arguments[1])
    elif not arguments:
        folder = HERE / "out"
    else:
        print(__doc__, file=sys.stdout if arguments in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    print("| place | figure | claim | published | ours |\n|---|---|---|---|---|")
    for place, figure, claim, published, measure in CLAIMS:
        path = folder / f"{figure}.csv"
        ours = "-"
        if figure.startswith("order"):
            picture = folder / f"{figure}.svg"
            ours = measure(picture.read_text(encoding="utf-8")) if picture.exists() else "-"
        elif path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                ours = measure(list(csv.DictReader(file)))
        print(f"| {place} | {figure} | {claim} | {published} | {ours} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
