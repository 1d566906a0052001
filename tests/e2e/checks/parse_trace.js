/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* usage: parse_trace.js NODE_MODULES SCHEMA TRACE...
 *
 * Traces as others read them: against the schema (ajv), and by a parser of Chrome's trace events (@tracerbench/trace-model), whose model of
 * processes, threads and nested spans must be ours: spans have no parents, counters stay below the limit. */
"use strict";
const fs = require("fs");
const path = require("path");
const [modules, schemaFile, ...traces] = process.argv.slice(2);
const Ajv = require(path.join(modules, "ajv"));
const {buildModel} = require(path.join(modules, "@tracerbench", "trace-model"));

let failures = 0;
const expect = (condition, text) => {
  if (!condition && ++failures <= 20) console.log(text);
};
const validate = new Ajv({strict: false, allErrors: false}).compile(JSON.parse(fs.readFileSync(schemaFile, "utf8")));

for (const file of traces) {
  const events = JSON.parse(fs.readFileSync(file, "utf8"));
  expect(validate(events), `${file}: against the schema: ${JSON.stringify((validate.errors || []).slice(0, 3))}`);
  const run = events[0].args;
  /* The parser wants members that viewers fill in themselves: pid, tid, ts and cat of every event. */
  const model = buildModel(events.map(event => ({tid: 0, ts: 0, cat: "__metadata", args: {}, ...event})));
  const named = model.processes.filter(process => process.name !== undefined);
  expect(named.length === run.devices + 1, `${file}: ${named.length} processes with a name, for ${run.devices} devices`);
  let spans = 0;
  for (const process of model.processes) {
    for (const thread of process.threads) {
      for (const event of thread.events) {
        if (!event.isComplete()) continue;
        spans++;
        expect(thread.name !== undefined, `${file}: thread ${thread.id} of ${process.name} has no name`);
        expect(!event.parent || !event.parent.isComplete(), `${file}: ${event.name} at ${event.start} lies in ${event.parent && event.parent.name}`);
        expect(event.end >= event.start && event.end <= model.end, `${file}: ${event.name} ends at ${event.end}`);
      }
    }
  }
  expect(spans === events.filter(event => event.ph === "X").length && spans > 10, `${file}: ${spans} spans`);
  const counters = model.events.filter(event => event.isCounter() && event.name === "memory");
  expect(counters.length > 0, `${file}: no memory counters`);
  for (const counter of counters)
    expect(counter.args.bytes <= run.memory_bytes, `${file}: ${counter.args.bytes} bytes of ${run.memory_bytes} at ${counter.start}`);
  console.log(`${file}: ${events.length} events, ${spans} spans, ${named.length} processes`);
}
/* The schema refuses what is not a trace. */
const good = JSON.parse(fs.readFileSync(traces[0], "utf8"));
const spoil = [
  events => { events[0].args.schema = 2; },
  events => { delete events[0].args.policy; },
  events => { events.find(event => event.ph === "X").dur = -1; },
  events => { events.find(event => event.cat === "task").args.data = "none"; },
  events => { events.find(event => event.cat === "transfer").name = "copy"; },
  events => { delete events.find(event => event.ph === "C").ts; },
  events => { events.push({ph: "Z", pid: 1, name: "z"}); },
];
spoil.forEach((change, i) => {
  const events = JSON.parse(JSON.stringify(good));
  change(events);
  expect(!validate(events), `the schema takes fault ${i}`);
});
process.exit(failures ? 1 : 0);
