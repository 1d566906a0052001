# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the model keeps: what is touched, tasks, contexts that execute, and arrays' copies on devices."""

import itertools

ELEMENT = 8  # bytes
GRANULE = 256  # what the pool of a device rounds up to


class Invalid(Exception):
    """The program is not conforming, or has a race, or leaves what the model knows."""


def require(condition, why):
    if not condition:
        raise Invalid(why)


def mask(lo, n):
    return ((1 << n) - 1) << lo


class Footprint:
    """What is touched: (space, array) -> [reads, writes, copies in, copies back of unchanged contents] as masks.

    Spaces: host, device, presence, and version: what a kernel would touch on the host. `temporary` are the sections that are present only during a construct: two that
    exist at once must be equal or disjoint.
    """

    def __init__(self):
        self.masks = {}
        self.temporary = set()

    def copy(self):
        twin = Footprint()
        twin.masks = {key: list(value) for key, value in self.masks.items()}
        twin.temporary = set(self.temporary)
        return twin

    def add(self, space, array, reads=0, writes=0, copies=0, backs=0):
        entry = self.masks.setdefault((space, array), [0, 0, 0, 0])
        entry[0] |= reads
        entry[1] |= writes
        entry[2] |= copies
        entry[3] |= backs

    def merge(self, other):
        for (space, array), entry in other.masks.items():
            self.add(space, array, *entry)
        self.temporary |= other.temporary

    def conflict(self, other, exempt=frozenset()):
        for key, (r, w, c, b) in self.masks.items():
            if key in other.masks and key[1] not in exempt and key[0] != "version":
                r2, w2, c2, b2 = other.masks[key]
                if w & (r2 | w2 | c2 | b2) or w2 & (r | c | b) or r & b2 or r2 & b:
                    return key
        for array, lo, n in self.temporary:
            for array2, lo2, n2 in other.temporary:
                if array == array2 and array not in exempt and (lo, n) != (lo2, n2) and mask(lo, n) & mask(lo2, n2):
                    return ("temporary", array)
        return None

    def shows_on_host(self, other):
        """Whether kernels here that run on the host could meet what the host does in `other`."""
        for (space, array), (r, w, _, _) in self.masks.items():
            if space == "version" and ("host", array) in other.masks:
                r2, w2, c2, b2 = other.masks["host", array]
                if w & (r2 | w2 | c2 | b2) or r & (w2 | b2):
                    return True
        return False


class Created:
    """A task: `before` are the tasks it runs after, `commutative` the arrays it only adds to."""

    def __init__(self, number, footprint, before, mutexes, commutative):
        self.number = number
        self.footprint = footprint
        self.before = before
        self.mutexes = mutexes
        self.commutative = commutative


class Context:
    """A thread or task that executes: `done` are the tasks that it knows to be complete, `scope` the dependences
    between its children, `total` all that it touched. Children of different ones exclude each other by no mutex:
    `identity` tells them apart."""

    identities = itertools.count()

    def __init__(self, done, task=None, mutexes=frozenset(), commutative=frozenset()):
        self.identity = next(Context.identities)
        self.done = done
        self.task = task
        self.mutexes = mutexes
        self.commutative = commutative
        self.scope = {}
        self.children = []
        self.total = Footprint()
        self.offloaded = set()
        self.hosted = set()

    def copy(self):
        twin = Context(self.done, self.task, self.mutexes, self.commutative)
        twin.identity = self.identity
        twin.scope = {key: dict(node) for key, node in self.scope.items()}
        twin.children = list(self.children)
        twin.total = self.total.copy()
        twin.offloaded = set(self.offloaded)
        twin.hosted = set(self.hosted)
        return twin


class Copies:
    """One array in one device data environment."""

    def __init__(self):
        self.entries = []  # (lo, n, count, count of ompx_hold)
        self.defined = self.stale = self.pending = 0

    def copy(self):
        twin = Copies()
        twin.entries = list(self.entries)
        twin.defined, twin.stale, twin.pending = self.defined, self.stale, self.pending
        return twin

    def find(self, lo, n):
        """The entry that holds [lo, lo + n), or None; Invalid if one holds a part of it."""
        for entry in self.entries:
            if entry[0] <= lo and lo + n <= entry[0] + entry[1]:
                return entry
            require(not mask(lo, n) & mask(entry[0], entry[1]), "extends present data")
        return None

    def present(self):
        result = 0
        for lo, n, _, _ in self.entries:
            result |= mask(lo, n)
        return result

    def clear(self, bits):
        self.defined &= ~bits
        self.stale &= ~bits
        self.pending &= ~bits
