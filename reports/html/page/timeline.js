// SPDX-License-Identifier: Apache-2.0
// Rows of bars over one axis of time on a canvas, with zoom, tooltips and keys. Bars of a row do not overlap. Where they
// are thinner than a pixel, a pixel is as strong as the share of it that they fill.
"use strict";
/**
 * `model`: rows of {label, starts, ends, kind(i), name(i)}, further {filled} (sums of busy time, one more than bars) and
 * {matches} (likewise of bars to be stressed); wall, the length of all; unit, the seconds of one step of time.
 * Optional: lane, a row's height; pane, an element that scrolls the rows; about(row, i), lines for the tooltip;
 * partners(row, i), bars to draw lines to; chosen(row, i), called when a bar is selected.
 */
function timelineView(figure, model) {
  const canvas = figure.querySelector("canvas"), tip = byId("tip"), pen = canvas.getContext("2d");
  const {pane, unit = 1} = model;
  const wall = model.wall > 0 ? model.wall : 1;
  const head = 22, lane = model.lane || 22, bar = Math.min(lane - 2, 14);
  let rows = model.rows, from = 0, to = wall, width = 0, height = 0, labels = 0, labelled = 0, drag = null, chosen = null, frame = 0;

  const x = (time) => labels + (time - from) / (to - from) * (width - labels);
  const time = (place) => from + (place - labels) / (width - labels) * (to - from);
  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const looks = {compute: "compute", kernel: "compute", memory: "memory", copy: "memory", fill: "memory", communication: "latency", launch: "unknown", transfer: "unknown",
    call: "unknown", wait: "overhead", synchronization: "overhead", range: "accent", overhead: "bad", other: "op"};
  const top = (place) => head + place * lane + (lane - bar) / 2 - (pane ? pane.scrollTop : 0);
  /** The first bar of those from `low` on that starts (or ends) at a time or later. */
  function find(list, at, low = 0) {
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < at) low = middle + 1; else high = middle;
    }
    return low;
  }

  function axis(ink, line) {
    const rough = (to - from) / Math.max(2, (width - labels) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      pen.fillStyle = line;
      pen.fillRect(x(at), head - 6, 1, height - head + 6);
      pen.fillStyle = ink;
      const places = Math.min(12, 3 + Math.max(0, Math.ceil(Math.log10(Math.max(Math.abs(at) / step / 100, 1)))));
      const name = Math.abs(at) < step / 2 ? "0 s" : seconds(at * unit, places);
      if (x(at) + 3 + pen.measureText(name).width <= width) pen.fillText(name, x(at) + 3, 11);
    }
  }
  function text(row, i, left, wide, y, paper) {
    let name = row.name(i);
    const fits = Math.floor((wide - 8) / 6.2);
    if (name.length > fits) name = name.slice(0, Math.max(1, fits - 1)) + "\u2026";
    pen.globalAlpha = 1;
    pen.fillStyle = paper;
    pen.fillText(name, left + 4, y + bar / 2 + 0.5);
  }
  function drawRow(row, y, fill, paper) {
    const {starts, ends, filled, matches} = row;
    const share = (to - from) / (width - labels);  // time of a pixel
    let painted = -1, run = null;
    const flush = () => {
      if (!run) return;
      pen.globalAlpha = run.strength;
      pen.fillStyle = fill[run.kind];
      pen.fillRect(run.left, y, run.right - run.left, bar);
      run = null;
    };
    for (let i = find(ends, from); i < starts.length && starts[i] <= to;) {
      const left = Math.max(x(starts[i]), labels), right = Math.min(x(ends[i]), width);
      let next = i + 1;
      if (right - left >= 1.5 || !filled) {
        flush();
        if (right >= painted) {
          const wide = Math.max(right - left, 1);
          const part = filled ? (filled[next] - filled[i]) / (ends[i] - starts[i]) : 1;
          pen.globalAlpha = matches && matches[next] === matches[i] ? 0.15 : Math.max(0.3, Math.min(1, part || 1));
          pen.fillStyle = fill[row.kind(i)];
          pen.fillRect(left, y, wide, bar);
          painted = left + wide;
          if (wide > 40 && bar >= 11) text(row, i, left, wide, y, paper);
        }
      } else {
        const pixel = Math.floor(left);
        next = find(starts, time(pixel + 1), next);
        if (next > i + 1 && x(ends[next - 1]) - pixel > 2.5) --next;  // it is wide enough for itself
        const strength = matches && matches[next] === matches[i] ? 0.1 : Math.ceil(4 * Math.max(0.3, Math.min(1, (filled[next] - filled[i]) / share))) / 4;
        const kind = row.kind(i);
        if (run && run.kind === kind && run.strength === strength && pixel <= run.right) run.right = pixel + 1;
        else { flush(); run = {left: pixel, right: pixel + 1, kind, strength}; }
      }
      i = next;
    }
    flush();
    pen.globalAlpha = 1;
  }
  function links(ink) {
    const place = ({row, i}) => rows.indexOf(row) < 0 ? null : [Math.min(Math.max(x(row.starts[i]), labels), width), top(rows.indexOf(row)) + bar / 2];
    const start = place(chosen);
    if (!start) return;
    pen.strokeStyle = ink;
    const left = x(chosen.row.starts[chosen.i]), right = x(chosen.row.ends[chosen.i]);
    pen.lineWidth = 2;
    pen.strokeRect(Math.max(left, labels - 4), start[1] - bar / 2, Math.max(Math.min(right, width + 4) - Math.max(left, labels - 4), 2), bar);
    pen.lineWidth = 1;
    pen.beginPath();
    for (const end of (model.partners ? model.partners(chosen.row, chosen.i) : []).slice(0, 200).map(place))
      if (end) { pen.moveTo(...start); pen.bezierCurveTo((start[0] + end[0]) / 2, start[1], (start[0] + end[0]) / 2, end[1], ...end); }
    pen.stroke();
  }

  function draw() {
    frame = 0;
    const scale = devicePixelRatio || 1;
    const box = pane || canvas.parentElement;
    const style = getComputedStyle(box);
    width = Math.max(box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight), 200);
    height = pane ? pane.clientHeight : head + rows.length * lane + 4;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    labelled = labelled || rows.reduce((most, row) => Math.max(most, pen.measureText(row.label).width), 0);
    labels = Math.min(width < 600 ? 100 : 220, 12 + labelled);
    pen.textBaseline = "middle";
    const ink = color("ink"), soft = color("soft"), paper = color("paper");
    const fill = Object.fromEntries(Object.entries(looks).map(([kind, name]) => [kind, color(name)]));
    const first = pane ? Math.floor(pane.scrollTop / lane) : 0, last = Math.min(rows.length, first + Math.ceil(height / lane) + 1);
    pen.save();
    pen.beginPath();
    pen.rect(labels, 0, width - labels, height);
    pen.clip();
    axis(soft, color("line"));
    pen.beginPath();
    pen.rect(labels, head, width - labels, height);
    pen.clip();
    for (let place = first; place < last; ++place) drawRow(rows[place], top(place), fill, paper);
    if (chosen) links(ink);
    if (drag) {
      pen.fillStyle = ink;
      pen.globalAlpha = 0.15;
      pen.fillRect(Math.min(drag.start, drag.now), 0, Math.abs(drag.now - drag.start), height);
    }
    pen.restore();
    pen.save();
    pen.beginPath();
    pen.rect(0, head, labels - 6, height);
    pen.clip();
    pen.fillStyle = soft;
    for (let place = first; place < last; ++place) {
      let label = rows[place].label;
      for (let cut = 1; pen.measureText(label).width > labels - 8; ++cut) label = "\u2026" + rows[place].label.slice(cut);  // its end tells it apart
      pen.fillText(label, 0, top(place) + bar / 2);
    }
    pen.restore();
    canvas.dataset.from = from;
    canvas.dataset.to = to;
    canvas.dataset.labels = labels;
  }
  const redraw = () => { frame = frame || requestAnimationFrame(draw); };

  function show(start, end) {
    const min = Math.max(wall * 1e-7, 1e-9);
    if (end - start < min) { const middle = (start + end) / 2; start = middle - min / 2; end = middle + min / 2; }
    const span = Math.min(end - start, wall);
    from = Math.min(Math.max(start, 0), wall - span);
    to = from + span;
    canvas.dataset.from = from;
    canvas.dataset.to = to;
    redraw();
  }
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const move = (part) => show(from + part * (to - from), to + part * (to - from));
  const all = () => show(0, wall);
  /** Selects a bar and brings it into view. */
  function choose(row, i) {
    chosen = row ? {row, i} : null;
    if (chosen && model.chosen) model.chosen(row, i);
    if (chosen && (row.ends[i] < from || row.starts[i] > to)) {
      const middle = (row.starts[i] + row.ends[i]) / 2, half = Math.max((to - from) / 2, row.ends[i] - row.starts[i]);
      show(middle - half, middle + half);
    }
    const place = rows.indexOf(row);
    if (chosen && pane && place >= 0 && (place * lane < pane.scrollTop || (place + 1) * lane + head > pane.scrollTop + pane.clientHeight))
      pane.scrollTop = Math.max(place * lane - pane.clientHeight / 2, 0);
    redraw();
  }
  function step(rowStep, barStep) {
    if (!rows.length) return;
    const place = chosen ? rows.indexOf(chosen.row) : -1;
    const row = rows[Math.min(Math.max(place + (place < 0 ? 1 : rowStep), 0), rows.length - 1)];
    const i = chosen && row === chosen.row ? chosen.i + barStep : find(row.ends, chosen ? Math.min(Math.max(chosen.row.starts[chosen.i], from), to) : from);
    choose(row, Math.min(Math.max(i, 0), row.starts.length - 1));
  }
  /** What lies under the pointer: {row, i}, {row} for a label, or null. */
  function under(event) {
    const row = event.offsetY < head ? null : rows[Math.floor((event.offsetY - head + (pane ? pane.scrollTop : 0)) / lane)];
    if (!row) return null;
    if (event.offsetX < labels) return {row};
    const slack = (to - from) / (width - labels) * 2, at = time(event.offsetX);
    const i = find(row.ends, at - slack);
    return i >= row.starts.length || row.starts[i] > at + slack ? null : {row, i};
  }

  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;  // else the page scrolls
    if (pane && event.altKey) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(Math.sign(event.deltaX || event.deltaY) * 0.1);
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, time(Math.max(event.offsetX, labels)));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType !== "touch") { drag = {start: Math.max(event.offsetX, labels), now: Math.max(event.offsetX, labels)}; canvas.setPointerCapture(event.pointerId); }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) { drag.now = Math.max(event.offsetX, labels); redraw(); return; }
    const found = under(event);
    tip.hidden = true;
    if (!found) return;
    const {row, i} = found;
    const title = row.track || row.label;
    showTip(event.clientX, event.clientY, i === undefined ? title : row.name(i), i === undefined ? [] : [
      row.kind(i) + ", " + seconds((row.ends[i] - row.starts[i]) * unit) + " from " + seconds(row.starts[i] * unit, 6) + " on",
      ...(model.about ? model.about(row, i) : []), title]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const [start, end] = [Math.min(drag.start, drag.now), Math.max(drag.start, drag.now)].map(time);
    const dragged = Math.abs(drag.now - drag.start) > 4;
    drag = null;
    if (dragged) return show(start, end);
    const found = under(event);
    if (found && found.i !== undefined) choose(found.row, found.i); else redraw();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; redraw(); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", all);
  onKeys(canvas, (key) => ({ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), 0: all, ...(pane ? {
      ArrowUp: () => step(-1, 0), ArrowDown: () => step(1, 0), ".": () => step(0, 1), ",": () => step(0, -1), Escape: () => choose(null),
      Enter: () => { if (chosen) { const {row, i} = chosen, room = (row.ends[i] - row.starts[i]) * 0.1; show(row.starts[i] - room, row.ends[i] + room); } },
      l: () => { const other = chosen && model.partners ? model.partners(chosen.row, chosen.i)[0] : null; if (other) choose(other.row, other.i); }} : {})})[key]);
  for (const button of figure.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => ({in: () => zoom(0.5), out: () => zoom(2), all})[button.dataset.zoom]());
  if (pane) pane.addEventListener("scroll", redraw, {passive: true});
  new ResizeObserver(redraw).observe(pane || canvas.parentElement);
  themeListeners.push(redraw);
  addEventListener("beforeprint", draw);
  draw();
  return {choose, redraw, show, chosen: () => chosen, setRows: (list) => { rows = list; redraw(); }, height: () => head + rows.length * lane + 4};
}
