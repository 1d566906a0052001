/* --- several runs --- */

const ofDevices = (run, value) => sum(run.figures.device, value);
const ofTime = (run, i) => 100 * ofDevices(run, d => d.share[i]) / Math.max(run.figures.makespan * run.devices.length, 1);
const share = n => `${n.toFixed(1)}%`;
/* [title, value, text, whether less (-1) or more (1) is better, 0: neither] */
const COMPARED = [["time", run => run.figures.makespan, time, -1], ["tasks", run => run.figures.tasks, grouped, 0],
  ["moved", run => run.figures.moved, bytes, -1],
  ["into the devices / at least", run => ofDevices(run, d => d.in + d.peer) / run.figures.leastIn, n => Number.isFinite(n) ? n.toFixed(2) : "–", -1],
  ["loads", run => ofDevices(run, d => d.loads), grouped, -1], ["reloads", run => ofDevices(run, d => d.reloads), grouped, -1],
  ["evictions", run => ofDevices(run, d => d.evictions), grouped, -1], ["busy", run => ofTime(run, 0), share, 1],
  ["waits for loads", run => ofTime(run, 1), share, -1], ["waits for memory", run => ofTime(run, 2), share, -1]];

/* The value, and its difference to the first run's. */
function compared([, value, text, better], run, i) {
  const values = runs.map(value), own = values[i], first = values[0];
  const best = better && values.some(other => other !== own) && values.every(other => better * other <= better * own);
  const node = make("span", best ? {class: "best", title: "the best"} : {}, `${best ? "★ " : ""}${text(own)}`);
  if (!i || !better || own === first || !(first > 0) || !Number.isFinite(own)) return node;
  const points = text === share, by = points ? own - first : 100 * (own / first - 1);
  return make("span", {}, node, make("span", {class: `delta ${better * (own - first) > 0 ? "better" : "worse"}`},
    `${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(Math.abs(by) < 10 ? 1 : 0)}${points ? "" : "%"}`));
}

function comparison() {
  const ordered = [...runs].sort((a, b) => a.figures.makespan - b.figures.makespan), [first] = ordered, last = ordered[ordered.length - 1];
  const different = runs.some(run => run.program !== runs[0].program || run.figures.tasks !== runs[0].figures.tasks);
  const plain = (title, of) => [title, ...runs.map(of)];
  const winner = first.figures.makespan === last.figures.makespan ? ["All runs took the same time."] :
    [make("strong", {}, `★ ${first.label} (${first.policy}) is the fastest`),
      `: ${time(first.figures.makespan)}, ${(last.figures.makespan / Math.max(first.figures.makespan, .1)).toFixed(2)} times as fast as ${last.label}.`];
  return section("Comparison", "", make("p", {class: "winner"}, ...winner),
    ...(different ? [make("p", {class: "cut"}, "These are not runs of the same work: programs or numbers of tasks differ.")] : []),
    table(["", ...runs.map(run => run.label)], [plain("policy, eviction", run => `${run.policy}, ${run.eviction}`),
      plain("memory per device", run => bytes(run.memory)), plain("devices", run => `${run.devices.length}`),
      ...COMPARED.map(row => [row[0], ...runs.map((run, i) => compared(row, run, i))])]),
    make("p", {class: "note"}, "Differences are to the first run; ★ marks the best."));
}

/* --- the page --- */

const lines = timeline();

function showRun(run, between) {
  const parts = [heat(run), order(run)];
  const node = make("div", {class: "run"}, summary(run), ...between, criticalPath(run), kernels(run), ...arrays(run), memory(run), links(run), bounds(run),
    make("div", {class: "two"}, parts[0].node, parts[1].node));
  return {node, paint: () => parts.forEach(part => part.paint())};
}

let current = null;
function select(i, tabs) {
  tabs.forEach((tab, j) => tab.setAttribute("aria-selected", String(i === j)));
  if (current) current.node.remove();
  current = showRun(runs[i], runs.length > 1 ? [] : [lines.node]);
  main.append(current.node);
  current.paint();
}

function repaint() {
  readPalette();
  lines.paint();
  current.paint();
}

readPalette();
document.title = `${runs.map(run => run.label).join(", ")} – ompdarts report`;
if (runs.length > 1) main.append(comparison(), lines.node);
const tabs = runs.map((run, i) => make("button", {type: "button", role: "tab", "aria-selected": "false", onclick: () => select(i, tabs)}, run.label));
if (runs.length > 1) main.append(make("div", {class: "tabs", role: "tablist", "aria-label": "Runs"}, ...tabs));
select(0, tabs);
lines.paint();
addEventListener("resize", repaint);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
/* On paper it is light. */
for (const [event, printed] of [["beforeprint", true], ["afterprint", false]])
  addEventListener(event, () => {
    document.documentElement.classList.toggle("printed", printed);
    repaint();
  });
