# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C text of kernels, host code and what is about data."""


class DataText:
    """A base of Emitter."""

    def emit_host(self, host):
        names = self.with_aliases(host)
        self.operations(host, names)
        if names:
            self.close()

    def emit_target(self, target):
        if target.through is not None:
            names, maps = self.members_of(target)
        else:
            names = self.with_aliases(target)
            maps = self.maps(target, names)
        text = f"#pragma omp {target.form}" + self.clauses(target) + maps
        if target.defaultmap:
            text += " defaultmap(tofrom: scalar)"
        if target.condition is not None:
            text += f" if(target: {'yes' if target.condition else '!yes'})"
        folds = [op for op in target.ops if op.kind in ("sum", "max")]
        if target.form != "target" and folds:
            sign = "+" if folds[0].kind == "sum" else "max"
            text += f" reduction({sign}: {self.array(target.items[folds[0].dst]).name})"
        extra = self.extra_member(target)
        if extra:
            self.put(f"{extra}k = {len(target.items)};")
        self.put(text)
        if target.form == "target":
            self.open()
            self.operations(target, names)
            if extra:
                self.put(f"{extra}k += 5;")
            self.close()
        else:
            self.operations(target, names)
        if extra:
            self.put(f"remember({self.slot()}, (uint64_t){extra}k);")
            for number in names:
                array = self.array(target.items[number])
                if array.kind != "device":
                    self.put(f"remember({self.slot()}, {names[number]} == {array.name} + "
                             f"{self.index(target.items[number].section.lo, array.elements)});")
        if names and target.through is None:
            self.close()

    def extra_member(self, target):
        """C text before a member that the kernel changes and the host looks at, where the struct is copied back."""
        mapped_back = target.shape in ("parent", "variable") or target.shape == "mapper" and all(
            item.map == "tofrom" for item in target.items if item.alias)
        if target.nowait or target.form != "target" or target.through is not None or not mapped_back:
            return ""
        return self.structure_of.get(id(target)) or ""

    def members_of(self, target):
        """Names for the items of a kernel that goes through the struct of a region around it, and its clauses."""
        structure, names_of, items = self.labels[target.through]
        names, own = {}, []
        for number, item in enumerate(target.items):
            array = self.array(item)
            if array.kind in ("device", "scalar") or item.map == "firstprivate":
                own.append(item)
                continue
            offset = (f"({self.index(item.section.lo, array.elements)}) - "
                      f"({self.index(items[item.member].section.lo, array.elements)})")
            names[number] = f"({names_of[item.member]} + {offset})"
        text = "".join(f" is_device_ptr({self.array(item).name})" for item in own if self.array(item).kind == "device")
        text += "".join(f" firstprivate({self.array(item).name})" for item in own if item.map == "firstprivate")
        if target.parent:
            text += f" map(alloc: {structure}[0:1])"
        return names, text

    def directive(self, name, statement, motion=False):
        names = self.with_aliases(statement)
        maps = self.maps(statement, names, motion)
        self.put(f"#pragma omp {name}" + self.clauses(statement) + maps)
        if names:
            self.close()

    def emit_enter(self, enter):
        self.directive("target enter data", enter)

    def emit_exit(self, statement):
        self.directive("target exit data", statement)

    def emit_update(self, update):
        self.directive("target update", update, motion=True)

    def emit_data(self, data):
        names = self.with_aliases(data)
        device = f" device({data.device})" if data.device is not None else ""
        maps = self.maps(data, names)
        if data.label is not None:
            self.labels[data.label] = (self.structure_of[id(data)].rstrip("->."), names, data.items)
        self.put(f"#pragma omp target data{device}" + maps)
        self.block(data.body)
        if names:
            self.close()

    def emit_devicecall(self, call):
        """Every item has an alias, but for local arrays whose address is shown."""
        names = self.with_aliases(call)
        device = f" device({call.device})" if call.device is not None else ""
        shown = ", ".join(names.get(number, self.array(item).name) for number, item in enumerate(call.items))
        use, has = "use_device_ptr", "is_device_ptr"
        if call.how == "address":
            shown = ", ".join(self.section(number, item, names) for number, item in enumerate(call.items))
            use, has = "use_device_addr", "has_device_addr"
        self.put("#pragma omp target data" + device + self.maps(call, names) + f" {use}({shown})")
        self.open()
        if call.how == "call":
            self.call(call, names)
        else:
            self.put(f"#pragma omp target{device} {has}({shown})")
            self.open()
            self.operations(call, names)
            self.close()
        self.close()
        if names:
            self.close()

    def emit_mapped(self, code):
        device = f" device({code.device})" if code.device is not None else ""
        self.open()
        names = {}
        for number, item in enumerate(code.items):
            names[number] = self.fresh("t")
            self.put(f"{self.type} *{names[number]} = ({self.type} *){self.mapped_address(item, code.device)};")
        self.put(f"#pragma omp target{device} is_device_ptr({', '.join(names.values())})")
        self.open()
        self.operations(code, names)
        self.close()
        self.close()

    def address(self, item):
        array = self.array(item)
        return f"{array.name} + {self.index(item.section.lo, array.elements)}"

    def mapped_address(self, item, device):
        return f"omp_get_mapped_ptr({self.address(item)}, {self.device(device)})"

    def emit_memcpy(self, memcpy):
        addresses, devices = [], []
        for item in memcpy.items:
            mapped = item.map == "mapped"
            addresses.append(self.mapped_address(item, memcpy.device) if mapped else self.address(item))
            devices.append("omp_get_initial_device()" if item.map == "host" else self.device(memcpy.device))
        size = memcpy.items[0].section.n * self.array(memcpy.items[0]).elements
        self.put(f"omp_target_memcpy({addresses[0]}, {addresses[1]}, {size} * sizeof({self.type}), 0, 0, "
                 f"{', '.join(devices)});")

    def emit_present(self, present):
        for item in present.items:
            self.put(f"remember({self.slot()}, 1u + (uint64_t)!!omp_target_is_present({self.address(item)}, "
                     f"{self.device(present.device)}));")

    def emit_associate(self, associate):
        array, memory = self.program.arrays[associate.array], self.fresh("memory")
        size, device = f"{array.size * array.elements} * sizeof({self.type})", self.device(array.device)
        self.open()
        self.put(f"void *{memory} = omp_target_alloc({size}, {device});")
        self.put(f"omp_target_associate_ptr({array.name}, {memory}, {size}, 0, {device});")
        self.body(associate.body)
        self.put(f"omp_target_disassociate_ptr({array.name}, {device});")
        self.put(f"omp_target_free({memory}, {device});")
        self.close()

    def emit_renew(self, renew):
        arrays = [self.program.arrays[number] for number in renew.arrays]
        for array in sorted(arrays, key=lambda array: array.name):
            if array.kind == "device":
                self.put(f"omp_target_free({array.name}, {self.device(array.device)});")
            else:
                self.put(f"free({array.name}_all);")
        for array in arrays:
            elements = array.size * array.elements
            if array.kind == "device":
                self.put(f"{array.name} = ({self.type} *)omp_target_alloc({elements} * sizeof({self.type}), "
                         f"{self.device(array.device)});")
            else:
                self.put(f"{array.name}_all = ({self.type} *)malloc({elements + array.offset} * sizeof({self.type}));")
                self.put(f"{array.name} = {array.name}_all + {array.offset};")
                self.fill(array, 17)

    def call(self, call, names):
        """Each operation in a function of its own, which the compiler must not look into."""
        pointers = ", ".join(f"{self.type} *{name}" for name in names.values())
        variables = sorted({name for op in call.ops for name, _ in op.k.steps})
        parameters = pointers + "".join(f", int {name}" for name in variables)
        name = self.fresh(self.prefix + "call")
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 1
        self.operations(call, names)
        self.functions.append(f"static __attribute__((noinline)) void {name}({parameters})\n{{\n" +
                              "\n".join(self.lines) + "\n}\n")
        self.lines, self.indent = lines, indent
        self.put(f"{name}({', '.join(list(names.values()) + variables)});")
