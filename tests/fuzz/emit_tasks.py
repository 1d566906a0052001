# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C text of tasks, loops, waits, teams and root threads."""

from program import WITH_BARRIER


class TaskText:
    """A base of Emitter."""

    def emit_task(self, task):
        flags = f" {task.flags}" if task.flags else ""
        self.put(f"#pragma omp task{flags}{self.shared()}{self.depends(task)}")
        self.block(task.body)

    def shared(self):
        """Variables that a task outside a parallel region would get copies of."""
        names = [array.name for array in self.program.arrays if array.kind in ("local", "scalar")]
        return f" shared({', '.join(names)})" if names else ""

    def emit_detached(self, statement):
        """The second task fulfils the first one's event."""
        event = self.fresh("event")
        self.open()
        self.put(f"omp_event_handle_t {event};")
        self.put(f"#pragma omp task detach({event}){self.shared()}{self.depends(statement.first)}")
        self.block(statement.first.body)
        self.put(f"#pragma omp task firstprivate({event}){self.shared()}{self.depends(statement.second)}")
        self.open()
        self.body(statement.second.body)
        self.put(f"omp_fulfill_event({event});")
        self.close()
        self.close()

    def emit_cancelled(self, cancelled):
        self.put("#pragma omp taskgroup")
        self.open()
        self.body(cancelled.body)
        self.put("#pragma omp taskwait")
        self.put(f"#pragma omp task{self.shared()}")
        self.open()
        self.body(cancelled.before)
        self.put("#pragma omp cancel taskgroup")
        self.body(cancelled.dead[:1])
        self.close()
        self.put("#pragma omp taskwait")
        for statement in cancelled.dead[1:]:
            self.put(f"#pragma omp task{self.shared()}")
            self.block([statement])
        self.close()

    def emit_taskwait(self, wait):
        if wait.instead:
            self.put(f"#pragma omp {wait.instead}")
            self.put(WITH_BARRIER[wait.instead])
            return
        self.put("#pragma omp taskwait" + (" nowait" if wait.nowait else "") + self.depends(wait))

    def emit_taskgroup(self, group):
        self.put("#pragma omp taskgroup")
        self.block(group.body)

    def emit_loop(self, loop):
        self.put(f"for (int {loop.variable} = 0; {loop.variable} < {loop.count}; {loop.variable}++)")
        self.block(loop.body)

    def emit_taskloop(self, loop):
        self.put("#pragma omp taskloop grainsize(1)" + (" " + loop.flags if loop.flags else "") + self.shared())
        self.emit_loop(loop)

    def emit_parallel(self, parallel):
        self.put(f"#pragma omp parallel num_threads({parallel.threads})")
        self.open()
        for number, phase in enumerate(parallel.phases):
            if number:
                self.put("#pragma omp barrier")
            if parallel.kind != "threads":
                self.put(f"#pragma omp {parallel.kind}")
                self.block(phase[0])
                continue
            # Right with any number of threads: a nested region may have one.
            thread = self.fresh("thread")
            self.put(f"for (int {thread} = omp_get_thread_num(); {thread} < {len(phase)}; {thread} += "
                     "omp_get_num_threads())")
            self.open()
            for which, body in enumerate(phase):
                self.put(f"{'else ' if which else ''}if ({thread} == {which})")
                self.block(body)
            self.close()
        self.close()

    def emit_roots(self, roots):
        """Threads of pthread_create; the arrays reach them through static pointers."""
        handles = self.fresh("thread")
        heads = []
        for body in roots.threads:
            heads.append(self.root_function(body))
        self.open()
        for array in self.shared_arrays():
            self.put(f"{self.prefix}at_{array.name} = {array.name};")
        self.put(f"pthread_t {handles}[{len(heads)}];")
        for number, head in enumerate(heads):
            self.put(f"pthread_create(&{handles}[{number}], NULL, {head}, NULL);")
        for number in range(len(heads)):
            self.put(f"pthread_join({handles}[{number}], NULL);")
        self.close()

    def shared_arrays(self):
        return [array for array in self.program.arrays if array.kind in ("heap", "device")]

    def root_function(self, body):
        name = self.fresh(self.prefix + "root")
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 1
        for array in self.shared_arrays():
            pointer = f"static {self.type} *{self.prefix}at_{array.name};\n"
            if pointer not in self.functions:
                self.functions.insert(0, pointer)
            self.put(f"{self.type} *{array.name} = {self.prefix}at_{array.name};")
        self.put(f"char token[{max(self.program.tokens, 1)}]; (void)token;")
        self.body(body)
        self.put("#pragma omp taskwait")
        self.put("return NULL;")
        self.functions.append(f"static void *{name}(void *unused)\n{{\n    (void)unused;\n" + "\n".join(self.lines) +
                              "\n}\n")
        self.lines, self.indent = lines, indent
        return name
