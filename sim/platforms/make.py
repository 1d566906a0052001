#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the platform files of this folder.

usage: make.py [FOLDER]      (default: this folder)

Each is a SimGrid platform: a host `ram` where all data begin, devices gpu0, gpu1, ..., links and routes. The numbers and
where they come from stand in PLATFORMS below and in the files' comments. Latency belongs to the way and not to the links, so
that all transfers over a bus share it equally: SimGrid's links give ways with a higher latency less.
"""

import pathlib
import sys

HEADER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->
<!-- Written by make.py. {about} -->
<platform version="4.1">
  <zone id="node" routing="Full">
    <host id="ram" speed="1Gf">
      <prop id="kernels" value="{kernels}"/>
      <prop id="peak" value="{peak}"/>
      <prop id="peer" value="{peer}"/>
      <prop id="slots" value="{slots}"/>
{more}    </host>
"""


class Platform:
    """Devices and their speeds (1: kernels take what the table says), links in bytes per second, the links of each way."""

    def __init__(self, about, devices, kernels, peak, peer, latency, slots=1):
        self.about, self.devices, self.kernels, self.peak, self.peer = about, devices, kernels, peak, peer
        self.latency, self.slots, self.more = latency, slots, {}
        self.links, self.ways, self.speed = {}, {}, [1] * devices

    def link(self, name, gigabytes):
        self.links[name] = gigabytes
        return name

    def way(self, source, target, *links):
        self.ways[source, target] = links

    def text(self):
        lines = [HEADER.format(about=self.about, kernels=self.kernels, peak=self.peak, peer="yes" if self.peer else "no",
                               slots=self.slots,
                               more="".join(f'      <prop id="{name}" value="{value}"/>\n' for name, value in self.more.items()))]
        lines += [f'    <host id="gpu{k}" speed="{self.speed[k]}Gf"/>\n' for k in range(self.devices)]
        lines.append(f'    <link id="latency" bandwidth="1000000GBps" latency="{self.latency}us" '
                     'sharing_policy="FATPIPE"/>\n')
        for name, bandwidth in self.links.items():
            lines.append(f'    <link id="{name}" bandwidth="{bandwidth}GBps" latency="0us" sharing_policy="SHARED"/>\n')
        for (source, target), links in self.ways.items():
            inner = "".join(f'<link_ctn id="{name}"/>' for name in ("latency",) + links)
            lines.append(f'    <route src="{source}" dst="{target}" symmetrical="NO">{inner}</route>\n')
        return "".join(lines) + "  </zone>\n</platform>\n"


def pairs(devices):
    return [(i, j) for i in range(devices) for j in range(devices) if i != j]


def bus(about, devices=8, both_ways=12, half=False, peer=True, private=0, kernels="v100.times", peak=13250, latency=10):
    """One bus for all devices; `half`: the same for both directions; `private`: GB/s of a link per ordered pair."""
    p = Platform(about, devices, kernels, peak, peer, latency)
    down = p.link("bus" if half else "bus-in", both_ways)
    up = down if half else p.link("bus-out", both_ways)
    for k in range(devices):
        p.way("ram", f"gpu{k}", down)
        p.way(f"gpu{k}", "ram", up)
    for i, j in pairs(devices) if peer else ():
        if private:
            p.way(f"gpu{i}", f"gpu{j}", p.link(f"nvlink-{i}-{j}", private))
        else:
            p.way(f"gpu{i}", f"gpu{j}", *dict.fromkeys((up, down)))
    return p


# Pairs of GPUs of a DGX-1 (V100) with one NVLink or two, the hybrid cube mesh (NVIDIA, DGX-1 with Tesla V100 system
# architecture, WP-08437-002): the thesis draws the same node in its figure 4.1 without saying which pairs are doubled.
SINGLE = ((0, 1), (0, 2), (1, 3), (4, 5), (4, 6), (5, 7), (0, 4), (1, 5))
DOUBLE = ((0, 3), (1, 2), (2, 3), (4, 7), (5, 6), (6, 7), (2, 6), (3, 7))


def gemini():
    """Thesis 4.1.1, figure 4.1: pairs of GPUs on a switch with 12 GB/s to it and 12 GB/s above it, two NUMA nodes with
    22 GB/s below and 44 GB/s to the memory, 22 GB/s between the two. All data are in the memory of the first node."""
    p = Platform("The Gemini node of Gonthier's thesis: eight V100, 12 GB/s switches, NVLink (4.1.1 and figure 4.1).", 8,
                 "v100.times", 13253, True, 10)
    for direction in ("in", "out"):
        p.link(f"memory-{direction}", 44)
        p.link(f"interconnect-{direction}", 22)
        for node in range(2):
            p.link(f"node{node}-{direction}", 22)
        for pair in range(4):
            p.link(f"switch{pair}-{direction}", 12)
        for k in range(8):
            p.link(f"gpu{k}-{direction}", 12)

    def to_memory(k, direction):
        far = (f"interconnect-{direction}",) if k >= 4 else ()
        return (f"gpu{k}-{direction}", f"switch{k // 2}-{direction}", f"node{k // 4}-{direction}") + far

    for k in range(8):
        p.way("ram", f"gpu{k}", *to_memory(k, "in"), "memory-in")
        p.way(f"gpu{k}", "ram", *to_memory(k, "out"), "memory-out")
    cables = {**{frozenset(pair): 24 for pair in SINGLE}, **{frozenset(pair): 48 for pair in DOUBLE}}
    for i, j in pairs(8):
        bandwidth = cables.get(frozenset((i, j)))
        if bandwidth:
            p.way(f"gpu{i}", f"gpu{j}", p.link(f"nvlink-{i}-{j}", bandwidth))
        elif i // 2 == j // 2:
            p.way(f"gpu{i}", f"gpu{j}", f"gpu{i}-out", f"gpu{j}-in")
        elif i // 4 == j // 4:
            p.way(f"gpu{i}", f"gpu{j}", f"gpu{i}-out", f"switch{i // 2}-out", f"switch{j // 2}-in", f"gpu{j}-in")
        else:
            out = (f"gpu{i}-out", f"switch{i // 2}-out", f"node{i // 4}-out")
            p.way(f"gpu{i}", f"gpu{j}", *out, "interconnect-out", f"node{j // 4}-in", f"switch{j // 2}-in", f"gpu{j}-in")
    return p


def nvswitch(about, devices):
    """Each GPU has its own PCIe 5 way to the memory (55 GB/s of 64 reached) and NVLink 4 (450 GB/s each way) to a switch that
    connects all at full speed."""
    p = Platform(about, devices, "h200.times", 51000, devices > 1, 5)
    memory_in, memory_out = p.link("memory-in", 400), p.link("memory-out", 400)
    for k in range(devices):
        p.way("ram", f"gpu{k}", memory_in, p.link(f"pcie{k}-in", 55))
        p.way(f"gpu{k}", "ram", p.link(f"pcie{k}-out", 55), memory_out)
        p.link(f"nvlink{k}-out", 450)
        p.link(f"nvlink{k}-in", 450)
    for i, j in pairs(devices):
        p.way(f"gpu{i}", f"gpu{j}", f"nvlink{i}-out", f"nvlink{j}-in")
    return p


def cores(about, slots):
    """A multi-core CPU whose memory is limited, with the data on a disk: one device with a slot per core (thesis 5.7)."""
    p = Platform(about, 1, "epyc.times", 35 * slots, False, 100, slots)
    disk = p.link("disk", 0.25)
    p.way("ram", "gpu0", disk)
    p.way("gpu0", "ram", disk)
    return p


def a100(about):
    """Two A100 on PCIe 4, each with its own way (24 GB/s of 31.5 reached: an estimate), and the cores of two EPYC 7513 (2.6 GHz,
    16 operations in double precision per cycle), eight channels of DDR4-3200 at each. The slides name the processors; the
    links are those of such nodes."""
    p = Platform(about, 2, "a100.times", 19500, True, 10)
    p.more = {"cores": 64, "core-kernels": "zen3.times", "core-peak": 41.6}
    memory_in, memory_out = p.link("memory-in", 300), p.link("memory-out", 300)
    for k in range(2):
        p.way("ram", f"gpu{k}", memory_in, p.link(f"pcie{k}-in", 24))
        p.way(f"gpu{k}", "ram", p.link(f"pcie{k}-out", 24), memory_out)
    for i, j in pairs(2):
        p.way(f"gpu{i}", f"gpu{j}", f"pcie{i}-out", f"pcie{j}-in")
    return p


PLATFORMS = {
    "pcie": bus("Eight GPUs on one bus of 12 GB/s each way; peer copies cross it twice."),
    "pcie-half": bus("Eight GPUs on one bus of 12 GB/s for both directions.", half=True),
    "nvlink": bus("Eight GPUs on one bus of 12 GB/s each way and a link of 48 GB/s per ordered pair.", private=48),
    "pcie-nopeer": bus("Eight GPUs on one bus of 12 GB/s each way, without peer copies.", peer=False),
    "gemini": gemini(),
    "h200": nvswitch("One H200 on PCIe 5.", 1),
    "h200x8": nvswitch("Eight H200 with NVSwitch.", 8),
    "a100x2": a100("Two A100 and 64 cores of two EPYC 7513, double precision (Morin, recursive tasks)."),
    "epyc16": cores("16 cores of an AMD EPYC 7642 and a disk of 250 MB/s (thesis 5.7).", 16),
    "epyc48": cores("48 cores of an AMD EPYC 7642 and a disk of 250 MB/s (thesis 5.7).", 48),
}


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    for name, platform in PLATFORMS.items():
        (folder / f"{name}.xml").write_text(platform.text())


if __name__ == "__main__":
    main()
