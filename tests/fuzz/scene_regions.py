# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts: one thread uses some arrays on the host and on the device in any order that OpenMP permits.

Host and device copies are two memories: the host may read and write its own at every moment inside a region. Base
pointers lie outside of sections, modifiers come in all combinations, some kernels run on the host or on another device.
A Script knows what is present, in which entries, and what is defined there, so that few of its programs are wrong.
"""

from dataclasses import dataclass

from program import Scene
from scene import Text, scene

TYPES = ("to", "from", "tofrom", "alloc")
FORMS = ("target", "target", "target", "target parallel for", "target teams distribute parallel for")


@dataclass
class Entry:
    """[lo, lo + n) is present. `base` is where the pointer pointed by which it was named."""

    lo: int
    n: int
    count: int
    holds: int
    base: int


class Memory:
    """One array; `defined` has a bit per element of the device copy."""

    def __init__(self, name, length):
        self.name, self.length = name, length
        self.entries, self.defined = [], 0

    def find(self, lo, n):
        return next((e for e in self.entries if e.lo <= lo and lo + n <= e.lo + e.n), None)

    def touches(self, lo, n):
        return any(e.lo < lo + n and lo < e.lo + e.n for e in self.entries)

    def by_base(self):
        """The entry that a pointer to the array's begin stands for, if any (as libomptarget looks it up)."""
        entry = min(self.entries, key=lambda e: e.lo, default=None)
        return entry if entry and (entry.lo == 0 or entry.base == 0) else None


def bits(lo, n):
    return ((1 << n) - 1) << lo


class Script:
    def __init__(self, rng, wrong=False):
        self.rng, self.wrong = rng, wrong
        self.text = Text()
        self.uses = set()
        self.arrays = [Memory(name + "@", rng.choice((4, 8, 24, 100))) for name in "abc"[:rng.choice((1, 2, 2, 3))]]
        self.nowait = rng.choice((0, 0, 0.5))
        self.implicit = rng.choice((0.1, 0.5))
        self.pending = False  # tasks may be under way
        self.depth = 0

    def chance(self, p):
        return self.rng.random() < p

    def scene(self, low=4, high=14):
        for _ in range(self.rng.randint(low, high)):
            self.step()
        if self.wrong:
            self.go_wrong()
        setup, tear = ["char token@[1]; (void)token@; int64_t sum@ = 0; (void)sum@;"], ["#pragma omp taskwait"]
        for m in self.arrays:
            setup.append(f"int64_t *{m.name} = (int64_t *)malloc({m.length} * sizeof(int64_t));")
            setup.append(f"for (int64_t j = 0; j < {m.length}; j++) {m.name}[j] = j * 7 + 3;")
            tear += [f"#pragma omp target exit data map(release: {m.name}[{e.lo} : {e.n}])"
                     for e in m.entries for _ in range(e.count)]
        for m in self.arrays:
            tear += [f"REMEMBER(HASH_OF({m.name}, {m.length}));", f"free({m.name});"]
        return Scene(setup=setup, steps=self.text.steps, tear=tear, uses=sorted(self.uses), last=self.wrong,
                     devices="other device" in self.uses)

    # --- parts

    def some(self, present=None):
        """(array, lo, n); within an entry, or outside of all, if asked for."""
        for _ in range(20):
            m = self.rng.choice(self.arrays)
            if present and m.entries:
                e = self.rng.choice(m.entries)
                at = self.rng.choice((0, self.rng.randrange(e.n)))
                return m, e.lo + at, self.rng.choice((e.n - at, self.rng.randint(1, e.n - at)))
            if present:
                continue
            lo = self.rng.choice((0, self.rng.randrange(m.length)))
            n = self.rng.choice((m.length - lo, self.rng.randint(1, m.length - lo)))
            if present is None or not m.touches(lo, n):
                return m, lo, n
        return None

    def named(self, m, lo, n):
        """(declarations, C text of the section, base): by the array's name, or by a pointer into it."""
        if self.chance(0.6):
            if lo:
                self.uses.add("base outside")
            return "", f"{m.name}[{lo} : {n}]", 0
        base = self.rng.choice((lo, lo, lo, max(0, lo - 1)))
        return f"int64_t *t{base}{m.name} = {m.name} + {base};\n", f"t{base}{m.name}[{lo - base} : {n}]", base

    def modifiers(self, entry, hold=True):
        words = []
        if entry and self.chance(0.15):
            words.append("present")
        if self.chance(0.15):
            words.append("always")
        if self.chance(0.05):
            words.append("close")
        if hold and self.chance(0.1):
            words.append("ompx_hold")
        self.uses.update(words)
        return words

    def asynchronous(self):
        """The clauses that order a directive among the others."""
        if self.chance(self.nowait):
            self.pending = True
            return " nowait depend(inout: token@[0])"
        return " depend(inout: token@[0])" if self.pending else ""

    def settle(self):
        if self.pending:
            self.text.step("#pragma omp taskwait")
            self.pending = False

    def put(self, declarations, text):
        if declarations:
            self.text.step("{\n" + declarations + text + "\n}")
        else:
            self.text.step(text)

    # --- steps

    def step(self):
        steps = {self.host_read: 3, self.host_write: 3, self.enter: 3, self.exit: 2, self.update: 3, self.kernel: 8,
                 self.data: 1.5 if self.depth < 2 else 0, self.shown: 1.5, self.ask: 0.7, self.copy: 0.7,
                 self.on_host: 0.8, self.other_device: 0.6}
        self.rng.choices(list(steps), list(steps.values()))[0]()

    def host_read(self):
        self.settle()
        m, lo, n = self.some()
        self.uses.add("host reads")
        self.text.step(f"REMEMBER(HASH_OF({m.name} + {lo}, {n}));")

    def host_write(self):
        self.settle()
        m, lo, n = self.some()
        if m.touches(lo, n):
            self.uses.add("host writes what is present")
        k = self.rng.randint(1, 99)
        self.text.step(f"for (int64_t j = {lo}; j < {lo + n}; j++) {m.name}[j] = {m.name}[j] % 1000 + j * {k};")

    def open_entry(self, maps, hold=False):
        """A map clause that begins something: (declarations, clause, close) or None."""
        place = self.some(present=self.chance(0.3))
        if place is None:
            return None
        m, lo, n = place
        entry = m.find(lo, n)
        if entry is None and m.touches(lo, n):
            return None
        declarations, section, base = self.named(m, lo, n)
        kind, words = self.rng.choice(maps), self.modifiers(entry, hold)
        if entry is None:
            entry = Entry(lo, n, 0, 0, base)
            m.entries.append(entry)
            m.defined &= ~bits(lo, n)
            words = [word for word in words if word != "present"]
            copies = True
        else:
            copies = "always" in words
        if kind in ("to", "tofrom") and copies:
            m.defined |= bits(lo, n)
        hold = "ompx_hold" in words
        entry.count += not hold
        entry.holds += hold
        clause = f" map({''.join(word + ', ' for word in words)}{kind}: {section})"
        return declarations, clause, (m, entry, lo, n, kind, hold, "always" in words)

    def close_entry(self, m, entry, lo, n, kind, hold, always):
        entry.count -= not hold
        entry.holds -= hold
        if entry.count + entry.holds <= 0 and entry in m.entries:
            m.entries.remove(entry)
            m.defined &= ~bits(entry.lo, entry.n)

    def enter(self):
        opened = self.open_entry(("to", "to", "alloc"))
        if opened:
            self.put(opened[0], "#pragma omp target enter data" + self.asynchronous() + opened[1])

    def exit(self):
        place = self.some(present=True)
        if place is None:
            return
        m, lo, n = place
        e = m.find(lo, n)
        if e.count <= self.depth:  # an open target data may hold it
            return
        kinds = ["release", "delete"] if not self.depth else ["release"]
        kinds += ["from", "from"] if not bits(lo, n) & ~m.defined else []
        kind = self.rng.choice(kinds)
        words = ["always"] if self.chance(0.2) and kind == "from" else []
        self.uses.update(words + ([kind] if kind == "delete" else []))
        if kind == "delete":
            e.count = 1
        declarations, section, _ = self.named(m, lo, n)
        self.put(declarations, "#pragma omp target exit data" + self.asynchronous() +
                 f" map({''.join(word + ', ' for word in words)}{kind}: {section})")
        self.close_entry(m, e, lo, n, kind, False, False)

    def update(self):
        place = self.some(present=True if self.chance(0.9) else False)
        if place is None:
            return
        m, lo, n = place
        present = m.find(lo, n)
        kind = self.rng.choice(("to", "from"))
        if kind == "from" and present and bits(lo, n) & ~m.defined:
            kind = "to"
        if kind == "to" and present:
            m.defined |= bits(lo, n)
        word = "present: " if present and self.chance(0.2) else ""
        declarations, section, _ = self.named(m, lo, n)
        self.put(declarations, "#pragma omp target update" + self.asynchronous() + f" {kind}({word}{section})")

    def item(self, m, lo, n):
        """How a kernel names a section: (declarations, clause, pointer that the kernel uses) or None."""
        entry = m.find(lo, n)
        if entry and self.chance(self.implicit):
            if self.chance(0.5):
                return (f"int64_t *q{m.name} = {m.name} + {lo};\n", "", f"(q{m.name} - {lo})")
            if m.by_base() is entry:
                self.uses.add("implicit base outside" if entry.lo else "implicit base")
                return "", "", m.name
        declarations, section, base = self.named(m, lo, n)
        pointer = f"(t{base}{m.name} - {base})" if declarations else m.name
        words = self.modifiers(entry)
        if entry:
            kind = self.rng.choice(TYPES)
        else:
            if m.touches(lo, n):
                return None
            kind = self.rng.choice(("tofrom", "tofrom", "to", "from"))
            words = [word for word in words if word != "present"]
        if "always" in words and kind in ("from", "tofrom") and bits(lo, n) & ~m.defined:
            kind = "to"
        self.kind_of_item = kind
        if "always" in words and kind in ("to", "tofrom"):
            m.defined |= bits(lo, n)
        return declarations, f" map({''.join(word + ', ' for word in words)}{kind}: {section})", pointer

    def work(self, pointer, m, lo, n, reads, sums, parallel=False):
        """One loop; of elements that are not defined it writes all."""
        k = self.rng.randint(1, 9)
        if not reads:
            return f"for (int64_t j = {lo}; j < {lo + n}; j++) {pointer}[j] = j * {k} + 1;"
        if sums:
            return f"for (int64_t j = {lo}; j < {lo + n}; j++) sum@ += {pointer}[j] * {k};"
        return f"for (int64_t j = {lo}; j < {lo + n}; j++) {pointer}[j] = {pointer}[j] * 3 % 10007 + j + {k};"

    def kernel(self):
        place = self.some(present=self.chance(0.8))
        if place is None:
            return
        m, lo, n = place
        entry = m.find(lo, n)
        self.kind_of_item = ""
        item = self.item(m, lo, n)
        if item is None:
            return
        kind = self.kind_of_item
        declarations, clause, pointer = item
        reads = not bits(lo, n) & ~m.defined if entry else kind in ("to", "tofrom")
        sums = reads and not self.nowait and self.chance(0.3)
        form = self.rng.choice(FORMS)
        if sums:
            clause += " map(tofrom: sum@)" if form == "target" else " reduction(+: sum@) map(tofrom: sum@)"
        order = "" if sums and not self.pending else self.asynchronous()
        reads = reads and (sums or self.chance(0.8))
        if entry and not sums:
            m.defined |= bits(lo, n)
        self.put(declarations, f"#pragma omp {form}{order}{clause}\n" + self.work(pointer, m, lo, n, reads, sums))
        if sums:
            self.text.step("REMEMBER((uint64_t)sum@);")

    def data(self):
        self.settle()
        opened = self.open_entry(("to", "tofrom", "from", "alloc"), hold=True)
        if not opened:
            return
        declarations, clause, state = opened
        m, entry, lo, n, kind, hold, always = state
        self.text.begin("{\n" + declarations + "#pragma omp target data" + clause + "\n{")
        self.depth += 1
        if kind in ("from", "tofrom") and bits(lo, n) & ~m.defined:
            self.text.step(f"#pragma omp target map(alloc: {m.name}[{lo} : {n}])\n" +
                           self.work(m.name, m, lo, n, False, False))
            m.defined |= bits(lo, n)
        for _ in range(self.rng.randint(1, 4)):
            self.step()
        self.settle()
        self.depth -= 1
        self.text.end("}\n}")
        self.close_entry(*state)

    def shown(self):
        """Device addresses."""
        self.settle()
        place = self.some(present=True)
        if place is None:
            return
        m, lo, n = place
        entry, reads = m.find(lo, n), not bits(lo, n) & ~m.defined
        m.defined |= bits(lo, n)
        if m.by_base() is entry and self.chance(0.6):
            self.uses.add("shown base outside" if entry.lo else "shown base")
            name, declarations = m.name, ""
            work = self.work(name, m, lo, n, reads, False)
        else:
            name, declarations = f"d{m.name}", f"int64_t *d{m.name} = {m.name} + {lo};\n"
            work = self.work(f"({name} - {lo})", m, lo, n, reads, False)
        self.text.step("{\n" + declarations + f"#pragma omp target data use_device_ptr({name})\n"
                       f"#pragma omp target is_device_ptr({name})\n" + work + "\n}")

    def ask(self):
        self.settle()
        m, lo, _ = self.some()
        call = self.rng.choice((f"!!omp_target_is_present({m.name} + {lo}, omp_get_default_device())",
                                f"!!omp_get_mapped_ptr({m.name} + {lo}, omp_get_default_device())"))
        self.uses.add("presence asked")
        self.text.step(f"REMEMBER(1u + (uint64_t){call});")

    def copy(self):
        """omp_target_memcpy between the host's memory and what is mapped."""
        self.settle()
        place = self.some(present=True)
        if place is None:
            return
        m, lo, n = place
        device = f"omp_get_mapped_ptr({m.name} + {lo}, omp_get_default_device())"
        if bits(lo, n) & ~m.defined or self.chance(0.5):
            m.defined |= bits(lo, n)
            self.text.step(f"omp_target_memcpy({device}, {m.name} + {lo}, {8 * n}, 0, 0, omp_get_default_device(), "
                           "omp_get_initial_device());")
        else:
            self.text.step(f"omp_target_memcpy({m.name} + {lo}, {device}, {8 * n}, 0, 0, omp_get_initial_device(), "
                           "omp_get_default_device());")

    def on_host(self):
        """A kernel of the initial device, in the midst of regions."""
        self.settle()
        m, lo, n = self.some()
        where = self.rng.choice(("device(omp_get_initial_device())", "if(!yes)"))
        self.uses.add("initial device")
        self.text.step(f"#pragma omp target {where} map(tofrom: {m.name}[{lo} : {n}])\n" +
                       self.work(m.name, m, lo, n, True, False))

    def other_device(self):
        """Its own data environment: nothing of the default device's is present there."""
        self.settle()
        m, lo, n = self.some()
        self.uses.add("other device")
        self.text.step(f"#pragma omp target device(1) map(tofrom: {m.name}[{lo} : {n}])\n" +
                       self.work(m.name, m, lo, n, True, False))

    # --- errors

    def go_wrong(self):
        self.settle()
        m = self.rng.choice(self.arrays)
        if not m.entries:
            lo = self.rng.randrange(m.length)
            m.entries.append(Entry(lo, self.rng.randint(1, m.length - lo), 1, 0, 0))
            e = m.entries[0]
            self.text.step(f"#pragma omp target enter data map(to: {m.name}[{e.lo} : {e.n}])")
        e = self.rng.choice(m.entries)
        wide = f"{m.name}[{max(0, e.lo - 1)} : {e.n + 2}]"
        absent = self.some(present=False)
        section = f"{absent[0].name}[{absent[1]} : {absent[2]}]" if absent and self.chance(0.7) else wide
        kernel = f"\n{m.name}[{e.lo}] += 1;"
        self.text.step("#pragma omp " + self.rng.choice((
            f"target enter data map(to: {wide})", f"target map(tofrom: {wide}){kernel}",
            f"target data map(tofrom: {wide})\nyes = 1;", f"target enter data map(present, to: {section})",
            f"target data map(present, tofrom: {section})\nyes = 1;", f"target map(present, tofrom: {section})\nyes = 1;",
            f"target update to(present: {section})", f"target update from(present: {section})",
            f"target exit data map(present, from: {section})", f"target exit data map(present, release: {section})")))
        self.uses.add("wrong")


@scene("script", weight=4)
def script(rng):
    return Script(rng).scene()


@scene("wrong", weight=0.5, alone=True, last=True)
def wrong(rng):
    return Script(rng, wrong=True).scene(1, 6)
