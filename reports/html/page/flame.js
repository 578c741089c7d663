// SPDX-License-Identifier: Apache-2.0
// The page of a flame graph, or of the difference of two. Vega lays out and draws; this chooses what.
"use strict";
(async () => {
  const page = await jsonOf("data");
  const {names, parents, tones} = page, isDiff = "base" in page.self, size = parents.length;
  const figure = byId("view"), canvas = figure.querySelector(".canvas"), search = byId("search"), found = byId("found"), tip = byId("tip");
  const name = (i) => names[page.names_of[i]], short = (i) => page.short[page.names_of[i]];
  const sums = (own) => {
    const total = own.slice();
    for (let i = size - 1; i > 0; --i) total[parents[i]] += total[i];
    return total;
  };
  const time = (value) => seconds(value * 1e-9);
  const self = {}, total = {};
  for (const weight of Object.keys(page.self)) { self[weight] = page.self[weight]; total[weight] = sums(self[weight]); }
  let weight = page.weight, view = null, from = 0, to = 1, focus = 0, chosen = 0, places = [];
  const children = Array.from({length: size}, () => []), depths = [0];
  for (let i = 1; i < size; ++i) { children[parents[i]].push(i); depths.push(depths[parents[i]] + 1); }

  /** Before and after as text; what was not there before has no ratio. */
  const change = (i) => { const a = total.base[i], b = total.new[i]; return a > 0 ? b / a - 1 : b > 0 ? Infinity : 0; };
  const changeText = (i) => { const part = change(i); return part === Infinity ? "new" : total.new[i] === 0 && total.base[i] > 0 ? "gone" : (part > 0 ? "+" : "") + (100 * part).toFixed(1) + " %"; };
  function lines(i) {
    if (isDiff) return [time(total.base[i]) + " before, " + time(total.new[i]) + " after: " + changeText(i), "itself " + time(self.base[i]) + " before, " + time(self.new[i]) + " after",
      count(page.counts.base[i]) + " times before, " + count(page.counts.new[i]) + " after"];
    return [time(total[weight][i]) + (i > 0 ? ", " + percent(total[weight][i] / total[weight][0]) + " of all" : "") + (self[weight][i] > 0 ? ", itself " + time(self[weight][i]) : ""),
      ...(page.counts.host[i] > 0 ? [count(page.counts.host[i]) + (page.counts.host[i] === 1 ? " time" : " times")] : []),
      ...Object.keys(total).filter((other) => other !== weight && total[other][i] > 0).map((other) => page.titles[other] + " " + time(total[other][i]))];
  }

  function values() {
    const rows = [];
    for (let i = 0; i < size; ++i) {
      const value = isDiff ? Math.max(self.base[i], self.new[i]) : self[weight][i];
      const all = isDiff ? Math.max(total.base[i], total.new[i]) : total[weight][i];
      if (i > 0 && all <= 0) continue;
      rows.push({id: i, parent: i > 0 ? parents[i] : null, name: name(i), label: short(i), value, fill: isDiff ? Math.max(-1, Math.min(1, change(i))) : tones[i]});
    }
    return rows;
  }

  function signal(entries) {
    for (const [key, value] of Object.entries(entries)) view.signal(key, value);
    view.runAsync();
  }
  function show(i) {
    focus = i;
    [from, to] = i > 0 && places[i] ? places[i] : [0, 1];
    signal({from, to});
    figure.dataset.focus = name(i);
    byId("back").hidden = i === 0;
  }
  function choose(i) {
    chosen = i;
    byId("chosen").textContent = name(i) + ": " + lines(i).join("; ");
    signal({chosen: i});
  }
  function find() {
    const text = search.value.trim().toLowerCase();
    const hit = (i) => name(i).toLowerCase().includes(text);
    let sum = 0, number = 0;
    const inside = new Uint8Array(size), main = isDiff ? total.new : total[weight];
    for (let i = 0; i < size; ++i) {
      inside[i] = i > 0 && inside[parents[i]] ? 1 : 0;
      if (text === "" || !hit(i)) continue;
      ++number;
      if (!inside[i]) { sum += main[i]; inside[i] = 1; }
    }
    found.textContent = text === "" ? "" : count(number) + (number === 1 ? " frame, " : " frames, ") + time(sum) + ", " + percent(main[0] > 0 ? sum / main[0] : 0) + " of all";
    signal({query: text});
    table();
  }

  /** Frames by name, the largest first: the picture as text. */
  function table() {
    const text = search.value.trim().toLowerCase();
    const groups = new Map();
    for (let i = 1; i < size; ++i) {
      const group = groups.get(name(i)) || {name: name(i), own: 0, base: 0, times: 0, frame: i};
      group.own += isDiff ? self.new[i] : self[weight][i];
      group.base += isDiff ? self.base[i] : 0;
      group.times += isDiff ? page.counts.new[i] : page.counts.host[i];
      groups.set(group.name, group);
    }
    const order = isDiff ? (group) => Math.abs(group.own - group.base) : (group) => group.own;
    const shown = [...groups.values()].filter((group) => (group.own > 0 || group.base > 0) && (text === "" || group.name.toLowerCase().includes(text))).sort((a, b) => order(b) - order(a)).slice(0, 200);
    const all = isDiff ? total.new[0] : total[weight][0];
    fillNames(shown.map((group) => ({name: group.name, short: short(group.frame), open: () => { search.value = group.name; find(); choose(group.frame); },
      numbers: isDiff ? [(group.own >= group.base ? "+" : "\u2212") + time(Math.abs(group.own - group.base)), time(group.base), time(group.own)] : [time(group.own), percent(all > 0 ? group.own / all : 0), count(group.times)]})));
  }

  async function draw() {
    if (view) view.finalize();
    const spec = structuredClone(page.spec), rows = values();
    spec.data[0].values = rows;
    spec.width = Math.max(canvas.clientWidth, 240);
    spec.height = 19 * (1 + depths.reduce((a, b) => Math.max(a, b)));
    if (!isDiff) spec.legends[0].values = spec.scales[1].domain.filter((tone) => tones.includes(tone));
    const dark = isDark();
    const result = await vegaEmbed(canvas, spec, {mode: "vega", ast: true, actions: false, defaultStyle: false, logLevel: 1, renderer: "canvas", tooltip: () => {}});
    view = result.view;
    places = [];
    for (const datum of view.data("tree")) places[datum.id] = [datum.x0, datum.x1];
    signal({from, to, dark, chosen, query: search.value.trim().toLowerCase()});
    view.addEventListener("click", (event, item) => { if (item && item.datum && item.datum.id !== undefined) { choose(item.datum.id); show(item.datum.id); } });
    view.addEventListener("mousemove", (event, item) => {
      const i = item && item.datum ? item.datum.id : undefined;
      if (i === undefined) tip.hidden = true; else showTip(event.clientX, event.clientY, name(i), lines(i));
    });
    await view.runAsync();
  }
  const step = (way) => {
    const large = (list) => list.filter((i) => places[i]).sort((a, b) => places[a][0] - places[b][0]);
    const beside = chosen > 0 ? large(children[parents[chosen]]) : [0];
    const at = beside.indexOf(chosen);
    const to = {ArrowDown: () => large(children[chosen]).sort((a, b) => (places[b][1] - places[b][0]) - (places[a][1] - places[a][0]))[0], ArrowUp: () => parents[chosen], ArrowLeft: () => beside[at - 1],
      ArrowRight: () => beside[at + 1]}[way]();
    if (to !== undefined && to >= 0) choose(to);
  };
  onKeys(canvas, (key) => ({Enter: () => show(chosen), Escape: () => show(0), 0: () => show(0)})[key] || (key.startsWith("Arrow") ? () => step(key) : null));
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  byId("back").addEventListener("click", () => show(0));
  let wide = 0;
  onSearch(find);
  const select = byId("weight");
  if (select) select.addEventListener("change", async () => { weight = select.value; from = 0; to = 1; await draw(); choose(chosen); show(0); find(); });
  Promise.resolve(window.libraryReady).catch(trouble).then(() => window.vegaEmbed ? draw() : null).then(() => {
    if (!view) {
      canvas.replaceChildren(make("p", {class: "none"}, "No picture: the chart library could not be loaded. The table below holds the same frames."));
      table();
      root.dataset.charts = 0;
      return;
    }
    choose(0);
    show(0);
    find();
    new ResizeObserver(() => { if (canvas.clientWidth !== wide) { wide = canvas.clientWidth; view.width(Math.max(wide, 240)).runAsync(); } }).observe(canvas);
    themeListeners.push(() => signal({dark: isDark()}));
    root.dataset.opened = performance.now();
    root.dataset.charts = 1;
  });
})();
