# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Presence, contents and memory of the World (model.py): map items, operations, and the statements on data."""

from model_state import ELEMENT, GRANULE, Footprint, mask, require


class DataState:
    """A base of World, which has the state."""

    def bytes(self, array, n):
        return -(-n * self.program.arrays[array].elements * ELEMENT // GRANULE) * GRANULE

    def held(self, item, attached):
        """Blocks that a device must hold for an item: an address without a section stands for all that is present there,
        as does the pointer in a struct (`attached`)."""
        array, lo, n, _ = self.resolve(item.section)
        entry = self.copies[array].find(lo, n)
        stands = entry is not None and (attached or item.zero or item.map in ("", "implicit"))
        return entry[1] if stands else n

    def note_memory(self, items, attached=False):
        """What a device needs for these."""
        sizes = [self.bytes(item.section.array, self.held(item, attached)) for item in items]
        self.largest_item = max([self.largest_item] + sizes)
        self.largest_task = max(self.largest_task, sum(sizes))
        whole = sum(self.bytes(item.section.array, self.program.arrays[item.section.array].size) for item in items)
        self.largest_whole = max(self.largest_whole, whole)

    def resolve(self, section):
        lo, size = section.lo.at(self.values), self.program.arrays[section.array].size
        require(0 <= lo and section.n >= 1 and lo + section.n <= size, "outside the array")
        return section.array, lo, section.n, mask(lo, section.n)

    def at_home(self, array, device):
        require(self.home.setdefault(array, device) == device, "LIMIT: one device clause per array")

    def begin(self, item, device, footprint, temporary):
        """A map item at the start of its construct."""
        array, lo, n, bits = self.resolve(item.section)
        self.at_home(array, device)
        kind, map_ = self.program.arrays[array].kind, item.map
        require(kind != "device", "maps device memory")
        if map_ == "implicit" and kind in ("local", "scalar"):
            require(n == self.program.arrays[array].size and not item.alias, "implicitly all of an array")
            map_ = "tofrom"
        copies = self.copies[array]
        entry = self.entry(item, lo, n)
        counted = mask(entry[0], entry[1]) if entry else bits  # whichever part is named, one count
        footprint.add("presence", array, reads=bits, writes=0 if temporary else counted)
        if entry is None and item.zero:
            below = temporary or all(other[0] < lo for other in copies.entries)
            require(below, "LIMIT: libomptarget counts an empty section in the entry behind it")
            behind = mask(lo, self.program.arrays[array].size - lo)
            footprint.add("presence", array, writes=behind)  # nor may another thread map something there for a moment
            return
        copy_in = map_ in ("to", "tofrom") and (entry is None or item.always) and not item.zero
        if entry is None:
            require(not item.present and map_ != "implicit", "present")
            copies.entries.append((lo, n, not item.hold, int(item.hold)))
            copies.clear(bits)
            if not temporary and not copy_in:
                self.discards = True  # what is undefined there would come to the host with what a kernel writes beside it
            if temporary:
                footprint.temporary.add((array, lo, n))
                if not copy_in:
                    footprint.add("device", array, writes=bits)
        else:
            copies.entries.remove(entry)
            copies.entries.append((entry[0], entry[1], entry[2] + (not item.hold), entry[3] + item.hold))
        if copy_in:
            require(not copies.stale & bits, "copies in what the device has newer")
            footprint.add("host", array, copies=bits)
            footprint.add("device", array, writes=bits if not temporary or entry else 0)
            copies.defined |= bits
            copies.pending &= ~bits
        require(not (temporary and copies.pending & bits), "LIMIT: kernel maps what awaits an update")

    def entry(self, item, lo, n):
        """The entry that an item is in. A pointer that no clause names is looked up by its own value."""
        array = self.program.arrays[item.section.array]
        entry = self.copies[item.section.array].find(lo, n)
        if item.map == "implicit" and array.kind == "heap" and not item.alias:
            require(entry is not None and entry[0] == 0, "the pointer is outside the present data")
        return entry

    def end(self, item, footprint, temporary, written=0):
        """A map item at the end of its construct; `written` are the blocks that a kernel wrote."""
        array, lo, n, bits = self.resolve(item.section)
        copies = self.copies[array]
        entry = self.entry(item, lo, n)
        counted = mask(entry[0], entry[1]) if entry else bits
        footprint.add("presence", array, reads=bits, writes=0 if temporary else counted)
        if entry is None:
            return
        count, holds = entry[2] - (not item.hold), entry[3] - item.hold
        if item.map == "delete" and count < float("inf"):
            count = 0
        count = max(count, 0)
        copies.entries.remove(entry)
        gone = count + holds <= 0
        if not gone:
            copies.entries.append((entry[0], entry[1], count, holds))
        implicit = item.map == "implicit" and self.program.arrays[array].kind in ("local", "scalar")
        if (item.map in ("from", "tofrom") or implicit) and (gone or item.always) and not item.zero:
            require(bits & ~copies.defined == 0, "copies back what is undefined")
            require(not copies.pending & bits, "copies back over what the host wrote")
            unchanged = bits & ~written if temporary else 0
            footprint.add("host", array, writes=bits & ~unchanged, backs=unchanged)
            footprint.add("device", array, reads=bits)
            copies.stale &= ~bits
        if gone:
            if not temporary:  # all of it, not only the section named
                footprint.add("presence", array, writes=mask(entry[0], entry[1]))
            require(not any(array == held for held, _, _ in sum(self.structs.values(), [])), "ends what is attached")
            self.discards = self.discards or bool(copies.stale & mask(entry[0], entry[1]))
            copies.clear(mask(entry[0], entry[1]))

    def is_foreign(self, array):
        held = array in self.foreign and self.copies[array].entries
        return bool(self.program.arrays[array].kind == "global" or array in self.associated or held)

    def is_mapped(self, item):
        kind = self.program.arrays[item.section.array].kind
        return kind != "device" and not (kind == "global" and item.map == "implicit" and not item.alias)

    def pass_through(self, items, opens, scratch=False):
        """Where libomptarget carries out a construct; it `opens` the data that are not present for longer."""
        arrays = {item.section.array for item in items if self.is_mapped(item)}
        passes = scratch or any(self.is_foreign(array) for array in arrays)
        for array in arrays:
            if array in self.foreign and opens:
                known = all(self.copies[array].find(*self.resolve(item.section)[1:3]) for item in items
                            if item.section.array == array)
                require(known or not self.copies[array].entries, "opens more of what libomptarget holds in part")
            if self.is_foreign(array):
                continue
            require(not passes or not self.copies[array].entries, "LIMIT: passes through with data of a region")
            if opens:
                (self.foreign.add if passes else self.foreign.discard)(array)

    def begin_all(self, items, device, footprint, temporary, shared=True):
        self.check_items(items, shared)
        self.pass_through(items, not temporary)
        for item in items:
            self.begin(item, device, footprint, temporary)

    def check_items(self, items, shared):
        """The order in which one construct's items are handled is the compiler's: it must not matter. Items in one
        entry are all right where nothing is copied and (`shared`) counts cannot reach zero."""
        seen = []
        for item in items:
            array, lo, n, bits = self.resolve(item.section)
            entry = self.copies[array].find(lo, n)
            for array2, bits2, entry2, item2 in seen:
                if array == array2:
                    same = entry is not None and entry is entry2
                    require(not bits & bits2 or same, "items overlap")
                    require(not same or shared and not item.always and not item2.always, "items share an entry")
            seen.append((array, bits, entry, item))

    def positions(self, code):
        """Each operation as (op, destination array and blocks, source array and blocks)."""
        for op in code.ops:
            dst = self.part(code.items, op.dst, op.at, 1 if op.kind in ("sum", "max") else op.n)
            src = self.part(code.items, op.src, op.src_at, op.n)
            require((dst is None) == (op.kind == "check"), "malformed")
            require(src is not None or op.kind in ("add", "set", "update"), "malformed")
            if dst and src:
                self.check_lengths(op, dst, src)
            yield op, dst, src

    def part(self, items, index, at, n):
        if index < 0:
            return None
        array, lo, size, _ = self.resolve(items[index].section)
        require(0 <= at and n >= 1 and at + n <= size, "outside the section")
        return array, mask(lo + at, n)

    def check_lengths(self, op, dst, src):
        elements = [self.program.arrays[side[0]].elements for side in (dst, src)]
        require(op.kind in ("sum", "max") or elements[0] == elements[1], "blocks of two sizes")
        require(dst[0] != src[0] or dst[1] == src[1] or not dst[1] & src[1], "source and destination overlap")

    def operate(self, code, footprint, private=frozenset()):
        """Operations on device copies, and on `private` arrays. Returns array -> blocks written."""
        written = {}
        for op, dst, src in self.positions(code):
            reads = [src] if src else []
            if dst and op.kind != "set":
                reads.append(dst)
            for array, bits in reads:
                if array in private:
                    continue
                require(not bits & ~self.copies[array].defined, "reads what is undefined")
                require(not bits & ~self.copies[array].present(), "reads what is not present")
                footprint.add("device", array, reads=bits)
                footprint.add("version", array, reads=bits)
            if dst:
                array, bits = dst
                require(array not in private, "writes a private copy")
                require(not bits & ~self.copies[array].present(), "writes what is not present")
                footprint.add("device", array, writes=bits)
                footprint.add("version", array, writes=bits)
                self.copies[array].defined |= bits
                self.copies[array].stale |= bits
                if code.items[op.dst].map == "to":
                    self.depend_mode = False  # where `to` is trusted to mean read only
                written[array] = written.get(array, 0) | bits
        return written

    def host_operate(self, code, footprint):
        """Operations on host memory."""
        for op, dst, src in self.positions(code):
            reads = [src] if src else []
            if dst and op.kind != "set":
                reads.append(dst)
            for array, bits in reads:
                require(not bits & self.copies[array].stale, "host reads what the device has newer")
                footprint.add("host", array, reads=bits)
            if dst:
                array, bits = dst
                copies = self.copies[array]
                footprint.add("host", array, writes=bits)
                copies.stale &= ~bits
                copies.pending |= bits & copies.present()
                self.overwrites = self.overwrites or bool(copies.pending)
        self.note_host(code.items)

    def note_host(self, items):
        context = self.context
        for item in items:
            array, lo, n, _ = self.resolve(item.section)
            context.hosted.add(array)
            if context.task is not None:
                named = any(d.array == array and d.lo.at(self.values) == lo and d.n == n for d in context.task.depends)
                self.depend_mode = self.depend_mode and named
        self.check_task(context)

    @staticmethod
    def check_task(context):
        both = context.hosted & context.offloaded
        require(context.task is None or not both, "LIMIT: a task offloads an array and uses it on the host")

    def note_offload(self, items):
        context = self.context
        context.offloaded.update(item.section.array for item in items)
        self.check_task(context)

    def commutative(self, code):
        """Arrays that it only adds to, each as a whole item that is mapped in and out."""
        adds, others = set(), set()
        for op, dst, src in self.positions(code):
            (adds if op.kind == "add" else others).add(dst[0] if dst else src[0])
            others.update({src[0]} if src else ())
        others.update(item.section.array for item in code.items if item.map not in ("", "tofrom"))
        return frozenset(adds - others)

    # --- statements

    def use_present(self, item, device, footprint):
        """An address on the device of something that is present there."""
        array, lo, n, bits = self.resolve(item.section)
        self.at_home(array, device)
        require(self.copies[array].find(lo, n) is not None, "absent")
        require(not self.copies[array].pending & bits, "LIMIT: kernel maps what awaits an update")
        footprint.add("presence", array, reads=bits)

    def run_devicecall(self, call):
        footprint = Footprint()
        self.note_offload(call.items)
        for item in call.items:
            if not item.map:
                self.use_present(item, call.device, footprint)
        self.pass_through(call.items, False)
        mapped = [item for item in call.items if item.map]
        self.note_memory(call.items)
        self.shows = True
        self.begin_all(mapped, call.device, footprint, True)
        written = self.operate(call, footprint)
        for item in mapped:
            self.end(item, footprint, True, written.get(item.section.array, 0))
        self.perform(footprint)

    def run_mapped(self, code):
        footprint = Footprint()
        self.note_offload(code.items)
        self.note_memory(code.items)
        self.shows = self.binds = True
        self.pass_through(code.items, False)
        for item in code.items:
            self.use_present(item, code.device, footprint)
        self.operate(code, footprint)
        self.perform(footprint)

    def run_memcpy(self, memcpy):
        footprint = Footprint()
        dst, src = memcpy.items
        sizes = [item.section.n * self.program.arrays[item.section.array].elements for item in memcpy.items]
        require(sizes[0] == sizes[1] and dst.section.array != src.section.array, "malformed")
        for item in memcpy.items:
            array, _, _, bits = self.resolve(item.section)
            require((item.map == "own") == (self.program.arrays[array].kind == "device"), "malformed")
            if item.map == "host":
                self.copy_host_side(array, bits, item is dst, footprint)
                continue
            self.shows = True
            self.binds = self.binds or item.map == "mapped"
            self.use_present(item, memcpy.device, footprint)
            self.note_offload([item])
            if item is dst:
                self.copies[array].defined |= bits
                self.copies[array].stale |= bits
            else:
                require(not bits & ~self.copies[array].defined, "reads what is undefined")
            footprint.add("device", array, **{"writes" if item is dst else "reads": bits})
            footprint.add("version", array, **{"writes" if item is dst else "reads": bits})
        self.note_host([item for item in memcpy.items if item.map == "host"])
        self.perform(footprint)

    def copy_host_side(self, array, bits, writes, footprint):
        copies = self.copies[array]
        if writes:
            copies.stale &= ~bits
            copies.pending |= bits & copies.present()
            self.overwrites = self.overwrites or bool(copies.pending)
        else:
            require(not bits & copies.stale, "host reads what the device has newer")
        footprint.add("host", array, **{"writes" if writes else "reads": bits})

    def run_present(self, present):
        footprint = Footprint()
        for item in present.items:
            array, lo, _, _ = self.resolve(item.section)
            self.at_home(array, present.device)
            require(self.program.arrays[array].kind == "heap", "malformed")
            footprint.add("presence", array, writes=mask(lo, 1))
        self.perform(footprint)

    def run_associate(self, associate):
        self.open_association(associate)
        self.run_body(associate.body)
        footprint, copies = Footprint(), self.copies[associate.array]
        footprint.add("presence", associate.array, writes=mask(0, self.program.arrays[associate.array].size))
        self.perform(footprint)
        self.discards = self.discards or bool(copies.stale)
        copies.entries = []
        copies.defined = copies.stale = copies.pending = 0
        self.associated.discard(associate.array)

    def open_association(self, associate):
        footprint, copies = Footprint(), self.copies[associate.array]
        array = self.program.arrays[associate.array]
        require(array.kind == "heap" and not copies.entries, "associates present data")
        footprint.add("presence", associate.array, writes=mask(0, array.size))
        self.perform(footprint)
        copies.entries = [(0, array.size, float("inf"), 0)]
        copies.defined = copies.stale = copies.pending = 0
        self.associated.add(associate.array)
        self.shows = True

    def run_renew(self, renew):
        """While nobody else is there who may know the old addresses."""
        require(len(self.stack) == 1 and not self.unfinished(0) and not self.structs, "others run")
        footprint = Footprint()
        for number in renew.arrays:
            array, copies = self.program.arrays[number], self.copies[number]
            require(array.kind == "device" or array.kind == "heap" and not copies.entries, "renews present data")
            footprint.add("presence", number, writes=mask(0, array.size))
            footprint.add("host", number, writes=mask(0, array.size))
            if array.kind == "device":
                self.always_present(number)
        self.perform(footprint)
