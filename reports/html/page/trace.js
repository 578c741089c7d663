// SPDX-License-Identifier: Apache-2.0
// The page of a trace's timeline: unpacks the bars, and finds names among them.
"use strict";
(async () => {
  const page = await jsonOf("data");
  const {names, kinds} = page;  // a name's kind stands beside it
  const figure = byId("view"), pane = figure.querySelector(".pane"), status = byId("found");
  const data = await unzipped(byId("bars"));

  let at = 0;
  /** A whole number in groups of seven bits, the lowest first. */
  function number() {
    let value = 0, factor = 1;
    for (;;) {
      const byte = data[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }
  const signed = () => { const value = number(); return value % 2 ? -(value + 1) / 2 : value / 2; };
  const totals = new Float64Array(names.length), counts = new Float64Array(names.length);
  const of = new Map();  // by process and correlation, its bars
  const rows = page.rows.map(({label, track, process, bars, joined, linked}) => {
    const starts = new Float64Array(bars), ends = new Float64Array(bars), name = new Uint32Array(bars), filled = new Float64Array(bars + 1);
    const slices = joined ? new Uint32Array(bars) : null, ids = linked ? new Uint32Array(bars) : null;
    const row = {label, track, process, starts, ends, filled, ids, slices, names: name, matches: null,
      name: (i) => (slices && slices[i] > 1 ? count(slices[i]) + " slices, the longest " : "") + names[name[i]], kind: (i) => kinds[name[i]]};
    let last = 0;
    for (let i = 0; i < bars; ++i) starts[i] = last += number();
    for (let i = 0; i < bars; ++i) ends[i] = starts[i] + number();
    for (let i = 0; i < bars; ++i) name[i] = number();
    for (let i = 0; i < bars; ++i) filled[i + 1] = filled[i] + ends[i] - starts[i];
    if (joined) {
      for (let i = 0; i < bars; ++i) slices[i] = number() + 1;
      for (let i = 0, idle = 0; i < bars; ++i) filled[i + 1] -= idle += number();
    }
    let id = 0;
    for (let i = 0; linked && i < bars; ++i) {
      ids[i] = id += signed();
      if (!id) continue;
      const key = process * 4294967296 + id;
      const known = of.get(key);
      if (known) known.push({row, i}); else of.set(key, [{row, i}]);
    }
    for (let i = 0; i < bars; ++i) { totals[name[i]] += filled[i + 1] - filled[i]; counts[name[i]] += slices ? slices[i] : 1; }
    return row;
  });

  const partners = (row, i) => row.ids && row.ids[i] ? of.get(row.process * 4294967296 + row.ids[i]).filter((other) => other.row !== row || other.i !== i) : [];
  const length = (row, i) => seconds((row.ends[i] - row.starts[i]) * 1e-9, 4);
  const about = (row, i) => {
    const lines = partners(row, i).slice(0, 3).map((other) => "linked with " + other.row.name(other.i) + ", " + length(other.row, other.i));
    return row.slices && row.slices[i] > 1 ? ["busy " + percent((row.filled[i + 1] - row.filled[i]) / (row.ends[i] - row.starts[i]))] : lines;
  };
  function chosen(row, i) {
    byId("chosen").replaceChildren(pairs([["name", row.name(i), true], ["kind", row.kind(i)], ["length", length(row, i)], ["start", seconds(row.starts[i] * 1e-9, 9)], ["on", row.track],
      ...partners(row, i).slice(0, 3).map((other) => ["linked with", other.row.name(other.i) + " on " + other.row.track + ", " + length(other.row, other.i) + ", starts " +
        seconds(Math.abs(other.row.starts[other.i] - row.starts[i]) * 1e-9, 4) + (other.row.starts[other.i] < row.starts[i] ? " before it" : " after it"), true])]));
  }
  const levels = byId("levels");
  const visible = () => rows.filter((row, place) => page.rows[place].level < Number(levels.value));
  const view = timelineView(figure, {rows: visible(), wall: page.wall, unit: 1e-9, lane: 18, pane, partners, about, chosen});
  function fit() {
    figure.querySelector(".room").style.height = view.height() + "px";
    view.redraw();
  }
  levels.addEventListener("change", () => { view.setRows(visible()); fit(); });
  fit();

  // Search: names that hold the text, and the bars that bear them.
  const search = byId("search");
  let hits = [], place = -1;
  const byTotal = Array.from(names.keys()).sort((a, b) => totals[b] - totals[a]);
  function find() {
    const text = search.value.trim().toLowerCase();
    const wanted = names.map((name) => text !== "" && name.toLowerCase().includes(text));
    const shown = byTotal.filter((name) => (text === "" || wanted[name]) && counts[name] > 0);
    hits = [];
    for (const row of rows) {
      row.matches = text === "" ? null : new Uint32Array(row.starts.length + 1);
      if (row.matches) for (let i = 0; i < row.starts.length; ++i) {
        row.matches[i + 1] = row.matches[i] + (wanted[row.names[i]] ? 1 : 0);
        if (wanted[row.names[i]] && hits.length < 100000) hits.push({row, i});
      }
    }
    hits.sort((a, b) => a.row.starts[a.i] - b.row.starts[b.i]);
    place = -1;
    const sum = shown.reduce((all, name) => all + counts[name], 0);
    status.textContent = text === "" ? count(names.length) + " names" : count(sum) + (sum === 1 ? " slice of " : " slices of ") + count(shown.length) + (shown.length === 1 ? " name" : " names");
    fillNames(shown.slice(0, 200).map((name) => ({name: names[name], kind: kinds[name],
      open: () => { search.value = names[name]; find(); next(1); figure.scrollIntoView({block: "nearest"}); },
      numbers: [seconds(totals[name] * 1e-9), count(counts[name]), seconds(totals[name] / counts[name] * 1e-9)]})));
    view.redraw();
  }
  function next(way) {
    if (!hits.length) return;
    place = (place + way + hits.length) % hits.length;
    const {row, i} = hits[place];
    if (!visible().includes(row)) { levels.value = "128"; view.setRows(visible()); fit(); }
    view.choose(row, i);
  }
  const stop = onSearch(find);
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") { stop(); if (place < 0) find(); next(event.shiftKey ? -1 : 1); } });
  byId("previous").addEventListener("click", () => next(-1));
  byId("next").addEventListener("click", () => next(1));
  find();
  root.dataset.opened = performance.now();
  root.dataset.charts = 1;
})();
