/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Put at the end of a report by report.sh: uses the page as a person would, and leaves what it found in the body's attribute
 * data-test, for --dump-dom to show. It runs beside the page's own scripts and compares what they make with what they got. */
"use strict";
(() => {
  const found = [];
  const expect = (condition, text) => { if (!condition) found.push(text); };
  const all = selector => [...document.querySelectorAll(selector)];
  const one = selector => document.querySelector(selector);
  const frame = () => lines.paint(); /* --dump-dom does not wait for frames */
  const timelineOf = () => one("canvas.timeline");
  const viewOf = () => [Number(timelineOf().dataset.from), Number(timelineOf().dataset.to)];
  const width = view => view[1] - view[0];
  const press = (key, options) => timelineOf().dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...options}));
  const pixelsOf = canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const painted = canvas => {
    const pixels = pixelsOf(canvas), seen = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3]) seen.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    return seen.size;
  };
  const differ = (a, b) => a.length !== b.length || a.some((byte, i) => byte !== b[i]);
  const near = (a, b, by) => Math.abs(a - b) <= by;

  /* What came through the columns is what the figures say. */
  function checkTracks(run) {
    const rows = makeRows(run), last = 1.1 * run.figures.makespan + 1;
    for (const [k, device] of run.figures.device.entries()) {
      const tracks = rows.find(row => row.name === run.devices[k]).tracks.filter(t => t.kind === "tasks");
      const count = sum(tracks, t => sum([...t.index], i => run.tasks.count ? run.tasks.at("count", i) : 1));
      expect(count >= device.tasks, `${run.devices[k]}: ${count} tasks, not ${device.tasks}`);
      for (const t of tracks)
        for (let i = 0; i < t.n; i++)
          if (t.to[i] < t.from[i] || !near(t.to[i] - t.from[i], t.source.at("time", t.index[i]) * TENTH, 1e-3) || t.to[i] > last || (i && t.from[i] < t.to[i - 1] - .3)) {
            expect(false, `${run.devices[k]}: span ${i} from ${t.from[i]} to ${t.to[i]} after one to ${t.to[i - 1]}`);
            break;
          }
      if (tracks.length === 1) {
        const busy = sum([...tracks[0].to], to => to) - sum([...tracks[0].from], from => from);
        expect(near(busy, device.share[0], .01 * device.share[0] + .2 * count), `${run.devices[k]}: busy for ${busy}, not ${device.share[0]}`);
      }
    }
  }

  /* The share of each pixel, counted span by span and by sums, is what a simple count says. */
  function checkCover(run) {
    const [t] = makeRows(run).flatMap(row => row.tracks).sort((a, b) => b.n - a.n);
    if (!t) return;
    const whole = Math.max(run.figures.makespan, 1), pixels = 40;
    for (const view of [{from: 0, to: whole}, {from: .3 * whole, to: .4 * whole}]) {
      const step = (view.to - view.from) / pixels, expected = new Float64Array(pixels);
      for (let i = 0; i < t.n; i++)
        for (let x = 0; x < pixels; x++)
          expected[x] += Math.max(0, Math.min(t.to[i], view.from + (x + 1) * step) - Math.max(t.from[i], view.from + x * step)) / step;
      const bySpans = new Map(t.colours.map(colour => [colour, new Float32Array(pixels)])), bySums = new Map(bySpans);
      coverBySpans(t, view, pixels, bySpans);
      makeSums(t, whole);
      for (const colour of t.colours) {
        bySums.set(colour, new Float32Array(pixels));
        coverBySums(t.sums.get(colour), view, pixels, whole, bySums.get(colour));
      }
      for (const [way, shares] of [["spans", bySpans], ["sums", bySums]])
        for (let x = 0; x < pixels; x++) {
          const share = sum([...shares.values()], list => list[x]);
          expect(near(share, expected[x], .01 + .001 * t.n / pixels), `by ${way} pixel ${x} is covered for ${share}, not ${expected[x]}`);
        }
      delete t.sums;
    }
  }

  /* A device that is busy for 11% of the time looks so. */
  function checkShading() {
    const canvas = timelineOf(), pen = canvas.getContext("2d"), y = Math.round(36 * devicePixelRatio), panel = palette["--panel"].rgb, task = palette["--c0"].rgb;
    let covered = 0, n = 0;
    for (let x = Math.round(canvas.width / 2); x < .9 * canvas.width; x++, n++) {
      const [r, g, b, alpha] = pen.getImageData(x, y, 1, 1).data;
      if (alpha) covered += (Math.abs(r - panel[0]) + Math.abs(g - panel[1]) + Math.abs(b - panel[2])) /
        (Math.abs(task[0] - panel[0]) + Math.abs(task[1] - panel[1]) + Math.abs(task[2] - panel[2]));
    }
    expect(near(covered / n, .12, .03), `busy for 11% of the time, and shaded with ${covered / n}`);
  }

  /* Each rank comes before its devices, with their sums. */
  function checkRanks(run) {
    const tables = all("section").filter(part => ["Summary", "Bytes per link"].includes(part.querySelector("h2").textContent));
    for (const node of tables) {
      const names = [...node.querySelectorAll("tbody tr")].map(row => row.firstChild.textContent).filter(name => name !== "host");
      const expected = run.ranks.length ? run.ranks.flatMap(rank => [rankName(rank), ...rank.devices.map(k => run.devices[k])]) : run.devices;
      expect(names.join() === expected.join(), `rows are ${names}`);
    }
    for (const rank of run.ranks)
      for (const figure of ["tasks", "in", "out", "peer", "remote", "evictions"])
        expect(sum(rank.devices, k => run.figures.device[k][figure]) === rank.sum[figure], `${figure} of ${rankName(rank)} is ${rank.sum[figure]}`);
    expect(all("h3").map(node => node.textContent).join() === run.ranks.map(rankName).join(), "memory is not grouped");
    expect(makeRows(run).filter(row => row.name !== "host").map(row => row.rank).every((rank, i, list) => !i || !rank || list[i - 1].rank <= rank.rank),
      "the timeline is not grouped");
  }

  function checkMoves(end) {
    const whole = viewOf();
    expect(whole[0] === 0 && whole[1] >= end, `the view begins as ${whole}`);
    press("+");
    press("+");
    expect(width(viewOf()) < .5 * width(whole), "+ does not zoom in");
    const before = viewOf();
    press("ArrowRight");
    expect(viewOf()[0] > before[0] && near(width(viewOf()), width(before), 1), "the right arrow does not move");
    press("-");
    expect(width(viewOf()) > width(before), "- does not zoom out");
    for (let n = 0; n < 80; n++) press("+");
    expect(width(viewOf()) >= .49, "the view has become empty");
    frame();
    for (let n = 0; n < 80; n++) press("ArrowLeft");
    expect(viewOf()[0] >= 0, "the view has left the run");
    press("End");
    expect(near(viewOf()[1], whole[1], .01), "End does not show the end");
    press("0", {ctrlKey: true});
    expect(width(viewOf()) < width(whole), "the browser's own Ctrl 0 is taken");
    press("0");
    expect(width(viewOf()) === width(whole), "0 does not show all");
    const box = timelineOf().getBoundingClientRect();
    const wheel = options => {
      const event = new WheelEvent("wheel", {clientX: box.left + box.width / 2, clientY: box.top + 40, bubbles: true, cancelable: true, ...options});
      timelineOf().dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect(!wheel({deltaY: -100}) && width(viewOf()) === width(whole), "the wheel alone does not scroll the page");
    expect(wheel({deltaY: -100, ctrlKey: true}) && width(viewOf()) < width(whole), "Ctrl and the wheel do not zoom");
    all(".tools button").find(node => node.textContent === "All").click();
    expect(width(viewOf()) === width(whole), "the button 'All' does nothing");
    expect(timelineOf().tabIndex === 0 && timelineOf().getAttribute("aria-label"), "the timeline cannot be reached by keyboard");
  }

  function checkTips() {
    const box = timelineOf().getBoundingClientRect();
    let told = "";
    for (let x = 70; x < box.width && !/task/.test(told); x += 1) {
      timelineOf().dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + 36 + (runs.length > 1 ? 20 : 0) + (runs[0].ranks.length ? 18 : 0), bubbles: true}));
      told = one(".tip").hidden ? "" : one(".tip").innerText;
    }
    if (!sum(runs, run => run.tasks.n)) return;
    expect(/tasks?\b.*\n/.test(told) && /[0-9.]+ (µs|ms|s), from [0-9.-]+ (µs|ms|s) to/.test(told), `no task tells what it is: ${told}`);
    if (runs.every(run => run.tasks.detailed && !run.tasks.resolution && run.data.n))
      expect(/did not wait|waited [0-9.]+ (µs|ms|s) for/.test(told) && /(reads|writes|updates) \S+.*, [0-9.]+ [kMG]?B/.test(told), `no waits or data: ${told}`);
    press("n");
    const first = one(".detail").textContent;
    press("n");
    expect((first && one(".detail").textContent !== first) || !makeRows(runs[0])[0].tracks.some(t => t.n > 1), "n does not go to the next span");
    press("ArrowDown");
    press("Escape");
    expect(one(".tip").hidden, "Escape does not close what is told");
    frame();
  }

  function checkPath() {
    const button = one("button.paths");
    expect(!button === runs.every(run => !run.path.n), "the button for the critical path");
    if (!button) return;
    const before = pixelsOf(timelineOf());
    button.click();
    frame();
    expect(button.getAttribute("aria-pressed") === "true" && differ(before, pixelsOf(timelineOf())), "the critical path is not drawn");
    button.click();
    frame();
  }

  function checkKernels() {
    const node = all("section").find(part => part.querySelector("h2").textContent === "Kernels");
    const column = () => [...node.querySelectorAll("tbody tr")].map(row => Number(row.children[1].textContent.replace(/,/g, "")) || row.children[1].textContent);
    const button = node.querySelectorAll("thead button")[1], inOrder = (list, sign) => list.every((value, i) => !i ||
      (typeof value === "string" ? sign * list[i - 1].localeCompare(value) <= 0 : sign * (list[i - 1] - value) <= 0));
    for (const state of ["descending", "ascending"]) {
      button.click();
      expect(button.parentNode.getAttribute("aria-sort") === state && inOrder(column(), state === "ascending" ? 1 : -1), `kernels are not ${state}: ${column()}`);
    }
  }

  function checkComparison() {
    const fastest = runs.reduce((best, run) => run.figures.makespan < best.figures.makespan ? run : best);
    expect(one(".winner strong").textContent.includes(fastest.label), "another run is the fastest");
    const row = all("tbody tr").find(node => node.firstChild.textContent === "time");
    runs.forEach((run, i) => expect(Boolean(row.children[i + 1].querySelector(".best")) === (run === fastest), `the mark of run ${i}`));
    const delta = row.children[2].textContent.match(/[−+][0-9.]+%/);
    expect(delta && near(Number(delta[0].replace("−", "-").slice(0, -1)), 100 * (runs[1].figures.makespan / runs[0].figures.makespan - 1), .6), `a difference of ${delta}`);
    expect(new Set(runs.map(run => makeRows(run).length)).size && Number(timelineOf().dataset.to) >= Math.max(...runs.map(run => run.figures.makespan)), "no common axis");
  }

  try {
    const tabs = all("[role=tab]");
    frame();
    expect(tabs.length === (runs.length > 1 ? runs.length : 0), `${tabs.length} tabs for ${runs.length} runs`);
    for (let i = 0; i < runs.length; i++) {
      if (tabs.length) tabs[i].click();
      frame();
      const run = runs[i], titles = all("h2").map(node => node.textContent);
      for (const title of ["Summary", "Timeline", "Critical path", "Kernels", "Memory over time", "Bytes per link", "Distance to the lower bounds",
        "Loads per datum", "Order of tasks"])
        expect(titles.filter(text => text === title).length === 1, `'${title}' is not there once`);
      expect(titles.includes("Comparison") === runs.length > 1, "comparison");
      expect(all(".findings li").length >= 1, "no findings");
      expect(all("svg.memory path").length === run.devices.length, "memory charts");
      for (const fact of [run.program, run.command, run.host, run.version, run.policy])
        expect(one("dl.head").textContent.includes(fact), `no '${fact}' in the head`);
      expect(!run.date || run.date > 1e11 || one("dl.head").textContent.includes(new Date(1000 * run.date).toISOString().slice(0, 10)), "no date");
      const least = {timeline: run.tasks.n ? 3 : 2, heat: run.data.column("loads").some(n => n) ? 1 : 0, order: Math.min(run.figures.device.filter(d => d.tasks).length, 2)};
      for (const [name, colours] of Object.entries(least)) expect(painted(one(`canvas.${name}`)) >= colours, `${name} is empty`);
      checkTracks(run);
      checkCover(run);
      checkKernels();
      checkRanks(run);
    }
    if (runs[0].program === "sparse" && runs[0].tasks.n) checkShading();
    expect(Boolean(one(".joined")) === runs.some(run => run.tasks.resolution || run.transfers.resolution || !run.tasks.detailed), "what has been joined is not said");
    if (runs.length > 1) checkComparison();
    if (sum(runs, run => run.tasks.n)) checkMoves(Math.max(...runs.map(run => run.figures.makespan)));
    checkTips();
    checkPath();
    const before = palette["--back"].text;
    dispatchEvent(new Event("beforeprint"));
    expect(palette["--back"].text === "#ffffff", "it is not printed on white");
    dispatchEvent(new Event("afterprint"));
    expect(palette["--back"].text === before, "printing changes the page");
    expect(document.documentElement.scrollWidth <= innerWidth, `the page is ${document.documentElement.scrollWidth} pixels wide`);
    expect(performance.getEntriesByType("resource").length === 0, "the page has loaded something");
  } catch (error) {
    found.push(String(error.stack));
  }
  document.body.dataset.test = found.length ? found.slice(0, 12).join("; ") : "all right";
})();
