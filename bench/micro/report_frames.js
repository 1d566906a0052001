/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Put at the end of a report by report_frames.sh: zooms, moves and scrolls for some seconds each, frame by frame, and tells the
 * times between frames, and what painting alone takes. */
"use strict";
(() => {
  const canvas = document.querySelector("canvas.timeline"), frames = 240;
  const box = canvas.getBoundingClientRect(), at = {clientX: box.left + .6 * box.width, clientY: box.top + 40, bubbles: true, cancelable: true};
  const wheel = options => canvas.dispatchEvent(new WheelEvent("wheel", {...at, ...options}));
  const key = name => canvas.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
  const phases = {
    "nothing": () => {},
    "zoom in": n => wheel({deltaY: -20 - n % 5, ctrlKey: true}),
    "zoom out": () => wheel({deltaY: 22, ctrlKey: true}),
    "move, all shown": n => { if (!n) { key("0"); key("+"); } wheel({deltaX: n % 120 < 60 ? 10 : -10}); },
    "move, 1/100 shown": n => { if (!n) { key("0"); for (let i = 0; i < 9; i++) key("+"); } wheel({deltaX: n % 120 < 60 ? 40 : -40}); },
    "critical path": n => { if (!n) { key("0"); document.querySelector(".paths")?.click(); } wheel({deltaY: n % 120 < 60 ? -20 : 20, ctrlKey: true}); },
    "scroll": n => scrollTo(0, (n % 120 < 60 ? n % 60 : 60 - n % 60) * 30),
  };
  const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  const tell = (name, times) => {
    const sorted = [...times].sort((a, b) => a - b);
    return `${name} median ${quantile(sorted, .5).toFixed(1)} 99% ${quantile(sorted, .99).toFixed(1)} worst ${sorted[sorted.length - 1].toFixed(1)}`;
  };
  const paint = lines.paint, all = [];
  async function measure(name, act) {
    const between = [];
    let before = await new Promise(requestAnimationFrame);
    for (let n = 0; n < frames; n++) {
      act(n);
      const now = await new Promise(requestAnimationFrame);
      between.push(now - before);
      before = now;
    }
    all.push(...between);
    console.log(`FRAMES ${tell(name, between)} ms`);
  }
  addEventListener("load", () => setTimeout(async () => {
    console.log(`FRAMES loaded in ${performance.now().toFixed(0)} ms, ${plural(runs[0].figures.tasks, "task")}, ${innerWidth} pixels`);
    for (let n = 0; n < 20; n++) await new Promise(requestAnimationFrame);
    for (const [name, act] of Object.entries(phases)) await measure(name, act);
    console.log(`FRAMES ${tell("all", all)} ms`);
    const paints = [];
    for (let n = 0; n < 60; n++) {
      key(n % 20 < 10 ? "+" : "-");
      const begin = performance.now();
      paint();
      paints.push(performance.now() - begin);
    }
    console.log(`FRAMES ${tell("paint alone", paints)} ms`);
    console.log("FRAMES end");
  }, 500));
})();
