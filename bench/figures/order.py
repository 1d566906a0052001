#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws which device did which task when, from a trace of the simulator: the pictures of Gonthier's thesis, 2.6.5.

usage: order.py TRACE.csv -o PICTURE.svg [OPTIONS]

  --group HOW          coordinates: a task is the tile at its row and column, one panel per layer (the default where tasks
                       have coordinates that differ)
                       data: a task is at the datum that it writes, or else at the first two data that it reads; one panel
                       for the first task at each place, one for the second, ...
  --chunk N            a colour for each N tasks instead of one for each device, and each device gets its own row of panels
  --layers A-B         only these panels, counted from 0
  --memory-tiles M     draws a black square of as many tiles as fit in a device's memory
  --title TEXT

Write a trace with `ompdarts sim ... --trace TRACE.csv`. The shade, from light to dark, is the order in which the tasks of a device
(or chunk) were started, and so is the number, where there is room. A line in a tile is a load for this task: solid, the task
waited for it; dotted, it was prefetched. The first datum that a task reads is drawn as a vertical line (a row of A), the second as
a horizontal one (a column of B), the datum that it writes, or a third one, not at all; the counts below the picture are of all loads.

Tasks that ran on CPU workers are left out.

Exit status: 0 success; 1 the trace cannot be read; 2 the command line was refused.
"""

import argparse
import collections
import csv
import html
import sys

COLOURS = ((0, 115, 60), (195, 25, 30), (25, 85, 190), (190, 125, 0), (135, 40, 150), (0, 130, 145), (110, 65, 30),
           (90, 90, 90))
CHUNK_COLOURS = ((205, 20, 20), (20, 130, 40), (30, 60, 200), (190, 160, 0), (190, 20, 170), (0, 150, 160),
                 (225, 110, 0), (90, 90, 90))
LINE = "#e8cf9a"  # beige, edged so that it is seen on light tiles
EDGE = "#4a3a10"


class Task:
    """A task of the trace, its place in the picture and the loads made for it."""

    def __init__(self, row):
        self.name, self.number, self.device = row["name"], int(row["task"]), int(row["device"])
        self.start, self.end = float(row["start_s"]), float(row["end_s"])
        self.at = (int(row["layer"]), int(row["row"]), int(row["column"]))
        self.reads, self.writes = [], []
        self.loads = []  # (index among what it reads and writes, the device was idle until it came)


def read_trace(lines):
    """Tasks in order of their start, and loads (end, device, datum)."""
    tasks, loads = {}, []
    for row in csv.DictReader(lines):
        kind = row["kind"]
        if row["device"].startswith("cpu"):  # not in the order of a device
            continue
        if kind == "task":
            tasks[row["task"]] = Task(row)
        elif kind == "load":
            loads.append((float(row["end_s"]), int(row["device"]), datum_of(row)))
        elif kind in ("r", "w", "rw"):
            task = tasks[row["task"]]
            (task.reads if kind == "r" else task.writes).append(datum_of(row))
    return sorted(tasks.values(), key=lambda t: t.start), loads


def datum_of(row):
    return row["name"], int(row["row"]), int(row["column"])


def assign_loads(tasks, loads):
    """Each load belongs to the first task on its device that uses the datum after it has come. The task waited for it if the
    device had nothing else to do until then, whether it was asked for early or late."""
    idle_since = collections.defaultdict(float)
    waiting = collections.defaultdict(list)  # (device, datum) -> loads not yet used
    for load in sorted(loads, reverse=True):
        waiting[load[1], load[2]].append(load)
    for task in tasks:
        for index, datum in enumerate(task.reads + task.writes):
            pending = waiting.get((task.device, datum))
            while pending and pending[-1][0] <= task.start + 1e-9:
                load = pending.pop()
                task.loads.append((index, load[0] > idle_since[task.device] + 1e-9))
        idle_since[task.device] = max(idle_since[task.device], task.end)


def place_by_data(tasks):
    """Coordinates from what tasks write, or else from the first two data that they read."""
    rows, columns, seen = {}, {}, collections.Counter()
    for task in sorted(tasks, key=lambda t: t.number):
        if task.writes:
            name, row, column = task.writes[0]
            key = (name, row), (name, column)
        else:
            key = (task.reads + [None])[0], (task.reads + [None, None])[1]
        at = rows.setdefault(key[0], len(rows)), columns.setdefault(key[1], len(columns))
        task.at = (seen[at],) + at
        seen[at] += 1


def shade(colour, part):
    """Light (0) to dark (1)."""
    light = 0.78 * (1 - part)
    dark = 1 - 0.45 * part
    return "#%02x%02x%02x" % tuple(round((c * dark) * (1 - light) + 255 * light) for c in colour)


class Picture:
    """The panels and their sizes."""

    def __init__(self, tasks, options):
        self.options = options
        self.loads = collections.Counter(waited for task in tasks for _, waited in task.loads)
        self.devices = sorted({t.device for t in tasks})
        self.layers = sorted({t.at[0] for t in tasks})
        if options.layers:
            self.layers = [k for k in self.layers if options.layers[0] <= k <= options.layers[1]]
        self.rows = 1 + max(t.at[1] for t in tasks)
        self.columns = 1 + max(t.at[2] for t in tasks)
        panels = len(self.layers) * (len(self.devices) if options.chunk else 1)
        self.across = min(len(self.layers), 5)
        if options.chunk and len(self.devices) > 1 and len(self.layers) * 2 <= 4:
            self.across = 2 * len(self.layers)
        across = min(self.across, panels)
        self.tile = max(4.0, min(34.0, 1100.0 / (across * (max(self.rows, self.columns) + 1))))
        self.lines = not options.chunk  # as in the thesis: with chunks they would hide the order
        self.colour(tasks)

    def colour(self, tasks):
        """The shade and number of each task: among its device's, or its chunk's."""
        count = collections.Counter(t.device for t in tasks)
        done = collections.Counter()
        self.fill, self.order = {}, {}
        for task in tasks:
            rank = done[task.device]
            done[task.device] += 1
            self.order[task] = rank
            if self.options.chunk:
                chunk, rank = divmod(rank, self.options.chunk)
                total, colour = self.options.chunk, CHUNK_COLOURS[chunk % len(CHUNK_COLOURS)]
            else:
                total, colour = count[task.device], COLOURS[task.device % len(COLOURS)]
            self.fill[task] = (colour, rank / max(1, total - 1))

    def panel_of(self, task):
        """The panel's number and label."""
        layer = self.layers.index(task.at[0])
        return layer + (len(self.layers) * self.devices.index(task.device) if self.options.chunk else 0)

    def labels(self):
        single = len(self.layers) == 1
        for device in self.devices if self.options.chunk else [None]:
            for layer in self.layers:
                parts = [] if device is None or len(self.devices) == 1 else [f"device {device + 1}"]
                where = f"task {layer + 1} at each place" if self.options.group == "data" else f"k = {layer}"
                yield ", ".join(parts + ([] if single else [where]))

    def draw(self, tasks):
        labels = list(self.labels())
        across = min(self.across, len(labels))
        wide = self.columns * self.tile + 34
        high = self.rows * self.tile + 40
        top = 30 if self.options.title else 8
        self.width = max(across * wide + 10, 520)
        lines = (len(labels) + across - 1) // across
        self.height = top + lines * high + self.legend_height()
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
               f'viewBox="0 0 {self.width:.1f} {self.height:.1f}" font-family="DejaVu Sans, sans-serif">',
               '<rect width="100%" height="100%" fill="white"/>']
        if self.options.title:
            out.append(text(8, 20, html.escape(self.options.title), 14, "start"))
        origin = [(28 + (p % across) * wide, top + 24 + (p // across) * high) for p in range(len(labels))]
        for (x, y), label in zip(origin, labels):
            out += self.frame(x, y, label)
        for task in tasks:
            if task.at[0] in self.layers:
                out += self.tile_of(task, *origin[self.panel_of(task)])
        out += self.legend(top + lines * high)
        return "\n".join(out + ["</svg>", ""])

    def frame(self, x, y, label):
        size = self.tile
        out = [f'<rect x="{x:.1f}" y="{y:.1f}" width="{self.columns * size:.1f}" height="{self.rows * size:.1f}" '
               'fill="#f4f4f4" stroke="#888" stroke-width="0.6"/>']
        if label:
            out.append(text(x + self.columns * size / 2, y - (14 if self.ticks() else 5), label, 10))
        if self.ticks():
            every = 1 if size >= 14 else 5 if size >= 5 else 10
            out += [text(x + (i + .5) * size, y - 3, i, 7.5) for i in range(0, self.columns, every)]
            out += [text(x - 4, y + (i + .5) * size + 3, i, 7.5, "end") for i in range(0, self.rows, every)]
        if self.options.memory_tiles and self.is_triangle:
            side = self.options.memory_tiles ** .5 * size
            out.append(f'<rect class="memory" x="{x + self.columns * size - side - 1:.1f}" y="{y + 1:.1f}" '
                       f'width="{side:.1f}" height="{side:.1f}" fill="black"/>')
        return out

    def ticks(self):
        return self.options.group != "data"

    def tile_of(self, task, x, y):
        size = self.tile
        x, y = x + task.at[2] * size, y + task.at[1] * size
        colour, part = self.fill[task]
        out = [f'<rect class="tile" x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}" '
               f'fill="{shade(colour, part)}" stroke="white" stroke-width="0.4">'
               f'<title>{html.escape(task.name)} {task.number}, device {task.device + 1}, '
               f'number {self.order[task] + 1} there</title></rect>']
        if self.lines:
            for index, waited in sorted(set(task.loads)):
                if index < min(2, len(task.reads)):
                    out += load_line(x, y, size, index, waited)
        if size >= 15:
            ink = "white" if part > 0.45 else "black"
            out.append(text(x + size / 2, y + size / 2 + size * .12, self.order[task] + 1, size * .33, fill=ink))
        return out

    def legend_height(self):
        return 30

    def legend(self, y):
        out, x = [], 28
        if not self.options.chunk:
            for device in self.devices:
                for step in range(5):
                    out.append(f'<rect x="{x + 7 * step}" y="{y + 4}" width="7" height="10" '
                               f'fill="{shade(COLOURS[device % len(COLOURS)], step / 4)}"/>')
                out.append(text(x + 39, y + 13, f"{device + 1}" if len(self.devices) > 2 else f"device {device + 1}", 9,
                                "start"))
                x += 58 if len(self.devices) > 2 else 95
            for part, waited in enumerate((True, False)):
                label = f"{'waited for' if waited else 'prefetched'}: {self.loads[waited]}"
                out += load_line(x + 105 * part, y + 2, 14, 1, waited)
                out.append(text(x + 18 + 105 * part, y + 13, label, 9, "start"))
        else:
            chunks = min(len(CHUNK_COLOURS), 1 + max(self.order.values()) // self.options.chunk)
            for chunk in range(chunks):
                out.append(f'<rect x="{x}" y="{y + 4}" width="10" height="10" '
                           f'fill="{shade(CHUNK_COLOURS[chunk], .5)}"/>')
                x += 12
            out.append(text(x + 4, y + 13, f"the first {self.options.chunk} tasks of a device, the next, ...; "
                            "light to dark within each", 9, "start"))
        return out


def text(x, y, value, size, anchor="middle", fill="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" text-anchor="{anchor}" fill="{fill}">{value}</text>'


def load_line(x, y, size, index, waited):
    """The first datum: vertical, left of the number; the second: horizontal, above it."""
    if index == 0:
        ends = f'x1="{x + size * .09:.1f}" x2="{x + size * .09:.1f}" y1="{y + 1:.1f}" y2="{y + size - 1:.1f}"'
    else:
        ends = f'x1="{x + 1:.1f}" x2="{x + size - 1:.1f}" y1="{y + size * .12:.1f}" y2="{y + size * .12:.1f}"'
    wide = max(.8, size * .075)
    dots = "" if waited else f' stroke-dasharray="{wide:.1f} {1.3 * wide:.1f}"'
    kind = "fetch" if waited else "prefetch"
    return [f'<line {ends} stroke="{EDGE}" stroke-width="{wide * 1.9:.1f}"{dots}/>',
            f'<line class="{kind}" {ends} stroke="{LINE}" stroke-width="{wide:.1f}"{dots}/>']


def layer_range(value):
    first, _, last = value.partition("-")
    return int(first), int(last or first)


def positive(value):
    if int(value) < 1:
        raise ValueError
    return int(value)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="order.py", usage=argparse.SUPPRESS, description=__doc__, add_help=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--group", choices=("coordinates", "data"))
    parser.add_argument("--chunk", type=positive, default=0)
    parser.add_argument("--layers", type=layer_range)
    parser.add_argument("--memory-tiles", type=positive, default=0)
    parser.add_argument("--title", default="")
    return parser.parse_args(arguments)


def draw(lines, options):
    """The picture of a trace as SVG."""
    tasks, loads = read_trace(lines)
    if not tasks:
        raise ValueError("no tasks in it")
    assign_loads(tasks, loads)
    if options.group is None:
        options.group = "coordinates" if len({t.at for t in tasks}) > 1 or len(tasks) == 1 else "data"
    if options.group == "data":
        place_by_data(tasks)
    picture = Picture(tasks, options)
    if not picture.layers:
        raise ValueError("none of the layers is in it")
    picture.is_triangle = picture.rows > 1 and all(t.at[2] <= t.at[1] for t in tasks)
    return picture.draw(tasks)


def main():
    if len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0
    options = parse(sys.argv[1:])
    try:
        with open(options.trace, newline="", encoding="utf-8") as file:
            picture = draw(file, options)
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(picture)
    except (OSError, ValueError, KeyError) as error:
        print(f"order.py: {options.trace}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
