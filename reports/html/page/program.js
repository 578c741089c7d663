// SPDX-License-Identifier: Apache-2.0
// The timeline of a profiled program: tracks of stretches on a canvas, with zoom and tooltips.
"use strict";
if (report.program && document.querySelector("#timeline canvas")) {
  const {wall, tracks, names, kinds} = report.program;
  const canvas = document.querySelector("#timeline canvas");
  const tip = byId("tip");
  const pen = canvas.getContext("2d");
  const head = 22, lane = 22, bar = 14;
  let from = 0, to = wall > 0 ? wall : 1;
  let width = 0, labels = 0, drag = null;

  const x = (time) => labels + (time - from) / (to - from) * (width - labels);
  const time = (place) => from + (place - labels) / (width - labels) * (to - from);
  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const colors = () => ({compute: color("compute"), memory: color("memory"), communication: color("latency"), launch: color("unknown"), wait: color("overhead"), range: color("accent")});
  /** The first stretch that ends after a time. */
  function first(track, after) {
    let low = 0, high = track.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track.starts[middle] + track.lengths[middle] < after) low = middle + 1; else high = middle;
    }
    return low;
  }
  const nameOf = (track, i) => track.names[i] < 0 ? "several, " + kinds[track.kinds[i]] + " mostly" : names[track.names[i]];

  function axis(ink, line) {
    const rough = (to - from) / Math.max(2, (width - labels) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      pen.fillStyle = line;
      pen.fillRect(x(at), head - 6, 1, canvas.clientHeight - head + 6);
      pen.fillStyle = ink;
const places = Math.min(12, 3 + Math.max(0, Math.ceil(Math.log10(Math.max(Math.abs(at) / step / 100, 1)))));
      pen.fillText(Math.abs(at) < step / 2 ? "0 s" : seconds(at, places), x(at) + 3, 11);
    }
  }

  function draw() {
    const scale = devicePixelRatio || 1;
    const height = head + tracks.length * lane + 4;
    width = canvas.parentElement.clientWidth - parseFloat(getComputedStyle(canvas.parentElement).paddingLeft) - parseFloat(getComputedStyle(canvas.parentElement).paddingRight);
    labels = width < 600 ? 90 : 220;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const ink = color("ink"), soft = color("soft"), paper = color("paper"), fill = colors();
    pen.save();
    pen.beginPath();
    pen.rect(labels, 0, width - labels, height);
    pen.clip();
    axis(soft, color("line"));
    tracks.forEach((track, row) => {
      const top = head + row * lane + (lane - bar) / 2;
      let painted = -1;
      for (let i = first(track, from); i < track.starts.length && track.starts[i] <= to; ++i) {
        const left = Math.max(x(track.starts[i]), labels), right = Math.min(x(track.starts[i] + track.lengths[i]), width);
        if (right < painted) continue;
        const wide = Math.max(right - left, 1);
        pen.fillStyle = fill[kinds[track.kinds[i]]];
        pen.fillRect(left, top, wide, bar);
        painted = left + wide;
        if (wide > 40) {
          pen.fillStyle = paper;
          let text = nameOf(track, i);
          const fits = Math.floor((wide - 8) / 6.2);
          if (text.length > fits) text = text.slice(0, Math.max(1, fits - 1)) + "\u2026";
          pen.fillText(text, left + 4, top + bar / 2 + 0.5);
        }
      }
    });
    if (drag) {
      pen.fillStyle = ink;
      pen.globalAlpha = 0.15;
      pen.fillRect(Math.min(drag.start, drag.now), 0, Math.abs(drag.now - drag.start), height);
    }
    pen.restore();
    pen.fillStyle = soft;
    const letters = Math.floor(labels / 5.8);
    tracks.forEach((track, row) => {
      const text = track.name.length > letters ? "\u2026" + track.name.slice(1 - letters) : track.name;
      pen.fillText(text, 0, head + row * lane + lane / 2);
    });
    canvas.dataset.from = from;
    canvas.dataset.to = to;
  }

  function show(start, end) {
    const min = Math.max(wall * 1e-7, 1e-9);
    if (end - start < min) { const middle = (start + end) / 2; start = middle - min / 2; end = middle + min / 2; }
    const span = Math.min(end - start, wall);
    from = Math.min(Math.max(start, 0), wall - span);
    to = from + span;
    draw();
  }
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const move = (part) => show(from + part * (to - from), to + part * (to - from));
  const all = () => show(0, wall);

  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;  // else the page scrolls
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(Math.sign(event.deltaX || event.deltaY) * 0.1);
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, time(Math.max(event.offsetX, labels)));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType !== "touch") { drag = {start: Math.max(event.offsetX, labels), now: Math.max(event.offsetX, labels)}; canvas.setPointerCapture(event.pointerId); }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) { drag.now = Math.max(event.offsetX, labels); draw(); return; }
    const track = tracks[Math.floor((event.offsetY - head) / lane)];
    tip.hidden = true;
    if (!track) return;
    const slack = (to - from) / (width - labels) * 2;
    const at = time(event.offsetX);
    const i = first(track, at - slack);
    if (event.offsetX >= labels && (i >= track.starts.length || track.starts[i] > at + slack)) return;
    tip.replaceChildren(...(event.offsetX < labels ? [make("div", {class: "head"}, track.name)] : [
      make("div", {class: "head"}, nameOf(track, i)),
      make("p", {}, kinds[track.kinds[i]] + ", " + seconds(track.lengths[i]) + " from " + seconds(track.starts[i], 6) + " on"), make("p", {}, track.name)]));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(10, Math.min(event.clientX + 14, innerWidth - box.width - 10)) + "px";
    tip.style.top = Math.max(10, event.clientY + 16 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
  });
  canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const [start, end] = [Math.min(drag.start, drag.now), Math.max(drag.start, drag.now)].map(time);
    const dragged = Math.abs(drag.now - drag.start) > 4;
    drag = null;
    if (dragged) show(start, end); else draw();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", all);
  canvas.addEventListener("keydown", (event) => {
    const act = {ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), 0: all}[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  for (const button of document.querySelectorAll("#timeline [data-zoom]"))
    button.addEventListener("click", () => ({in: () => zoom(0.5), out: () => zoom(2), all})[button.dataset.zoom]());
  new ResizeObserver(draw).observe(canvas.parentElement);
  themeListeners.push(draw);
  addEventListener("beforeprint", draw);
  draw();
}
