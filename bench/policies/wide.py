# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machines and cases that draws.py draws with --wide: those by which somebody would try to prove `auto` wrong.

Links that are 20 times slower than others, groups of devices behind a slow way, rings, chains, trees whose switches have
one direction at a time, latencies of milliseconds, devices ten times slower; memory from one datum more than the task
that uses most; workloads of one tile and more, tiles of several sizes; and programs of other shapes (programs.py).
"""

import programs

RECORDED_SEED = 2  # another one than that of the recording, whose order of events need not be followed
LARGEST = {"gemm2d": 20, "gemm2d-random": 16, "pairs": 16, "sparse2d": 24, "gemm3d": 8, "gemm3d-set": 7, "cholesky-set": 12,
           "cholesky": 13, "lu": 9, "qr": 9}
USES = {"gemm2d": 2, "gemm2d-random": 2, "pairs": 2, "sparse2d": 2, "qr": 4}  # data of the task with most; else 3
CHAINED = ("cholesky", "lu", "qr", "gemm3d")


def platform(make, about, devices, latency=10, peer=True):
    return make.Platform(about, devices, "v100.times", 13250, peer, latency)


def both_ways(p, name, gigabytes, back=1.0):
    p.link(f"{name}-in", gigabytes)
    p.link(f"{name}-out", gigabytes * back)


def by_way_of(p, make, path, peers):
    """path(k): names of links from the memory to device k; peers: copies between devices leave and enter by the last."""
    for k in range(p.devices):
        p.way("ram", f"gpu{k}", *(f"{name}-in" for name in path(k)))
        p.way(f"gpu{k}", "ram", *(f"{name}-out" for name in reversed(path(k))))
    for i, j in make.pairs(p.devices) if peers else ():
        apart = [(a, b) for a, b in zip(path(i), path(j)) if a != b]
        out, into = [a for a, _ in reversed(apart)], [b for _, b in apart]
        p.way(f"gpu{i}", f"gpu{j}", *(f"{name}-out" for name in out), *(f"{name}-in" for name in into))


def groups(make, rng):
    count, size = rng.choice(((2, 8), (2, 4), (4, 4), (2, 2), (3, 3), (4, 2)))
    slow, fast, near = rng.choice((0.5, 1, 2, 4, 8)), rng.choice((12, 25, 50, 150)), rng.random() < 0.5
    p = platform(make, f"{count} groups of {size}, {slow} GB/s to{' all but the first' if near else ''} and {fast} inside.",
                 count * size)
    both_ways(p, "root", rng.choice((12, 25, 100)))
    for group in range(count):
        both_ways(p, f"group{group}", fast if near and group == 0 else slow)
    for k in range(p.devices):
        both_ways(p, f"gpu{k}", fast)
    by_way_of(p, make, lambda k: ("root", f"group{k // size}", f"gpu{k}"), True)
    return p


def own_ways(make, rng, speeds, about, back=1.0):
    p = platform(make, f"{about} {' '.join(str(speed) for speed in speeds)} GB/s.", len(speeds), peer=rng.random() < 0.6)
    both_ways(p, "root", rng.choice((max(speeds), 20, 100)), back)
    for k, speed in enumerate(speeds):
        both_ways(p, f"gpu{k}", speed, back)
    by_way_of(p, make, lambda k: ("root", f"gpu{k}"), p.peer)
    return p


def one_slow_link(make, rng):
    fast = rng.choice((8, 12, 25, 50))
    speeds = [fast] * rng.randint(2, 9)
    speeds[rng.randrange(len(speeds))] = fast / 20
    return own_ways(make, rng, speeds, "One slow link:")


def unlike_links(make, rng):
    return own_ways(make, rng, [round(0.5 * 60 ** rng.random(), 2) for _ in range(rng.randint(2, 16))], "Unlike links:")


def slow_back(make, rng):
    back = rng.choice((0.1, 0.25, 4))
    return own_ways(make, rng, [rng.choice((3, 12, 25))] * rng.randint(1, 10), f"Back {back} times as fast:", back)


def bus(make, rng, slowest, latency, about):
    devices = rng.choice((1, 2, 3, 4, 8, 16))
    speed = round(slowest * 25 ** rng.random(), 2)
    return make.bus(f"{about} of {speed} GB/s, {latency} us.", devices, speed, half=rng.random() < 0.3, latency=latency,
                    peer=rng.random() < 0.7, private=rng.choice((0, 0, 0.5, 5, 50)))


def slow_bus(make, rng):
    return bus(make, rng, 0.2, 10, "A slow bus")


def late_bus(make, rng):
    return bus(make, rng, 10, rng.choice((200, 1000, 5000)), "A bus")


def ring(make, rng):
    """Neighbours have links; others are reached through them."""
    n = rng.choice((3, 4, 6, 8, 12))
    p = platform(make, f"A ring of {n} on a bus.", n)
    both_ways(p, "bus", rng.choice((3, 6, 12)))
    speed = rng.choice((12, 25, 100))
    for k in range(n):
        both_ways(p, f"ring{k}", speed)
    by_way_of(p, make, lambda k: ("bus",), False)
    for i, j in make.pairs(n):
        ahead, back = (j - i) % n, (i - j) % n
        links = [f"ring{(i + h) % n}-out" for h in range(ahead)] if ahead <= back else \
                [f"ring{(i - h) % n}-in" for h in range(back)]
        p.way(f"gpu{i}", f"gpu{j}", *links)
    return p


def chain(make, rng):
    """Each device is reached through those before it."""
    p = platform(make, "A chain.", rng.choice((3, 4, 6, 8)), peer=rng.random() < 0.6)
    speed = rng.choice((2, 6, 12, 40))
    for k in range(p.devices):
        both_ways(p, f"chain{k}", speed)
    for k in range(p.devices):
        p.way("ram", f"gpu{k}", *(f"chain{h}-in" for h in range(k + 1)))
        p.way(f"gpu{k}", "ram", *(f"chain{h}-out" for h in range(k, -1, -1)))
    for i, j in make.pairs(p.devices) if p.peer else ():
        p.way(f"gpu{i}", f"gpu{j}", *(f"chain{h}-{'in' if i < j else 'out'}"
                                      for h in (range(i + 1, j + 1) if i < j else range(i, j, -1))))
    return p


def half_tree(make, rng):
    """Switches with one direction at a time."""
    n, fan = rng.choice((4, 6, 8, 12, 16)), rng.choice((2, 3, 4))
    p = platform(make, f"A half-duplex tree, {fan} devices to a switch.", n)
    p.link("root", rng.choice((6, 12, 40)))
    low = rng.choice((4, 12, 30))
    for switch in range((n + fan - 1) // fan):
        p.link(f"switch{switch}", low)
    for k in range(n):
        p.way("ram", f"gpu{k}", "root", f"switch{k // fan}")
        p.way(f"gpu{k}", "ram", f"switch{k // fan}", "root")
    for i, j in make.pairs(n):
        p.way(f"gpu{i}", f"gpu{j}", *dict.fromkeys((f"switch{i // fan}", f"switch{j // fan}")))
    return p


SHAPES = (groups, groups, one_slow_link, unlike_links, slow_back, slow_bus, late_bus, ring, chain, half_tree)


def machine(make, rng):
    p, chance = rng.choice(SHAPES)(make, rng), rng.random()
    if p.devices > 1 and chance < 0.15:
        p.speed = [0.1 if rng.random() < 0.4 else 1 for _ in p.speed]
    elif p.devices > 1 and chance < 0.25:
        p.speed = [round(0.1 * 40 ** rng.random(), 2) for _ in p.speed]
    if any(speed != 1 for speed in p.speed):
        p.about += f" Speeds {' '.join(str(speed) for speed in p.speed)}."
    return p


def workload(rng):
    """Its words; bytes of the task that uses most, about those of all data, of one datum."""
    name, tile = rng.choice(sorted(LARGEST)), rng.choice((480, 960, 1920, 1920, 3840))
    n = rng.randint(1, 3) if rng.random() < 0.25 else rng.randint(1, LARGEST[name])
    more = ",generate=1" if name in CHAINED and rng.random() < 0.3 else ""
    bytes_each, uses = 4 * tile * tile, USES.get(name, 3)
    data = 2 * n if uses == 2 else 3 * n * n if "gemm3d" in name else n * n
    depth = 1 if uses > 2 else 4 if rng.random() < 0.5 else 1
    more += f",depth={depth}" if uses == 2 else ""
    return f"{name}:n={n},tile={tile}{more}", uses * depth * bytes_each, max(data, uses) * depth * bytes_each, depth * bytes_each


def memory(rng, most_used, all_data, largest):
    """Bytes of a device: often just enough, and as likely to be little as to be much."""
    least, chance = most_used + largest, rng.random()
    if chance < 0.25:
        return least
    if chance < 0.4:
        return all_data + least
    return int(least * max(1, (all_data + least) / least) ** rng.random())


def draw(make, rng, folder):
    """Options of one case, and the machine and the program in words."""
    p, case = machine(make, rng), {}
    path = folder / "machine.xml"
    path.write_text(p.text(), encoding="ascii")
    if rng.random() < 0.5:
        program = folder / "program.graph"
        about, *sizes = programs.write(program, rng)
        case, p.about = {"graph": str(program), "seed": RECORDED_SEED}, f"{p.about} {about}."
    else:
        case["workload"], *sizes = workload(rng)
    return {"platform": str(path), "devices": p.devices, "mem": memory(rng, *sizes) + (1 << 16), **case}, p.about
