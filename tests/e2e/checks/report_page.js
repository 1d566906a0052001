/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Put at the end of a report by report.sh: uses the page as a person would, and leaves what it found in the body's attribute
 * data-test, for --dump-dom to show. */
"use strict";
(async () => {
  const found = [];
  const expect = (condition, text) => { if (!condition) found.push(text); };
  const all = selector => [...document.querySelectorAll(selector)];
  const timelineOf = () => document.querySelector("canvas.timeline");
  const viewOf = () => [Number(timelineOf().dataset.from), Number(timelineOf().dataset.to)];
  const width = view => view[1] - view[0];
  const press = key => timelineOf().dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const painted = canvas => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3]) seen.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    return seen.size;
  };
  try {
    const runs = JSON.parse(document.getElementById("runs").textContent);
    const tabs = all("[role=tab]");
    expect(tabs.length === (runs.length > 1 ? runs.length : 0), `${tabs.length} tabs for ${runs.length} runs`);
    for (let i = 0; i < runs.length; i++) {
      if (tabs.length) tabs[i].click();
      const run = runs[i], titles = all("h2").map(node => node.textContent);
      for (const title of ["Summary", "Timeline", "Memory over time", "Bytes per link", "Distance to the lower bounds", "Loads per datum", "Order of tasks"])
        expect(titles.includes(title), `no '${title}'`);
      expect(titles.includes("Comparison") === runs.length > 1, "comparison");
      expect(all(".findings li").length >= 1, "no findings");
      expect(all("svg.memory path").length === run.devices.length, "memory charts");
      for (const name of ["timeline", "heat", "order"]) expect(painted(document.querySelector(`canvas.${name}`)) >= 3, `${name} is empty`);
      /* Zoom by keys, wheel and buttons; what is shown stays inside the run. */
      const whole = viewOf();
      expect(whole[0] === 0 && whole[1] >= run.end, `the view begins as ${whole}`);
      press("+");
      press("+");
      expect(width(viewOf()) < .5 * width(whole), "+ does not zoom in");
      const before = viewOf();
      press("ArrowRight");
      expect(viewOf()[0] > before[0] && Math.abs(width(viewOf()) - width(before)) < 1, "the right arrow does not move");
      press("-");
      expect(width(viewOf()) > width(before), "- does not zoom out");
      for (let n = 0; n < 80; n++) press("+");
      expect(width(viewOf()) >= .49, "the view has become empty");
      for (let n = 0; n < 80; n++) press("ArrowLeft");
      expect(viewOf()[0] >= 0, "the view has left the run");
      press("0");
      expect(width(viewOf()) === width(whole), "0 does not show all");
      const box = timelineOf().getBoundingClientRect();
      timelineOf().dispatchEvent(new WheelEvent("wheel", {deltaY: -100, clientX: box.left + box.width / 2, clientY: box.top + 40, bubbles: true, cancelable: true}));
      expect(width(viewOf()) < width(whole), "the wheel does not zoom");
      all(".tools button").find(node => node.textContent === "All").click();
      expect(width(viewOf()) === width(whole), "the button 'All' does nothing");
      expect(timelineOf().tabIndex === 0 && timelineOf().getAttribute("aria-label"), "the timeline cannot be reached by keyboard");
      /* Somewhere on the first track a span tells what it is. */
      let told = false;
      for (let x = 95; x < box.width && !told; x += 3) {
        timelineOf().dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + 30, bubbles: true}));
        told = /task \d+: /.test(document.querySelector(".detail").textContent);
      }
      expect(told, "no task tells what it is");
    }
    expect(document.documentElement.scrollWidth <= innerWidth, "the page is wider than the window");
    expect(performance.getEntriesByType("resource").length === 0, "the page has loaded something");
  } catch (error) {
    found.push(String(error.stack));
  }
  document.body.dataset.test = found.length ? found.join("; ") : "all right";
})();
