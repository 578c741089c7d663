// SPDX-License-Identifier: Apache-2.0
// The map of a fleet, the distribution of a test, and all tests of a GPU.
"use strict";
(async () => {
  const numbers = (bytes) => Float64Array.from(new Int16Array(bytes.buffer, 0, bytes.length >> 1), (each) => each === -32768 ? NaN : each / 1e4);
  const fleet = await jsonOf("data");
  const deviations = numbers(await unzipped(byId("deviations")));
  const links = await jsonOf("links");
  const linkDeviations = numbers(await unzipped(byId("link-deviations")));
  const size = fleet.gpus.length;
  const gpus = fleet.gpus.map(([node, local, id, uuid, rank, group, file], number) => ({node, local, id, uuid, rank, group, file, number, name: fleet.nodes[node] + " " + id}));
  const found = new Set(fleet.slow.map(([gpu, test]) => test * size + gpu)), slowGpus = new Set(fleet.slow.map(([gpu]) => gpu));
  const signed = (value) => Number.isFinite(value) ? (value > 0 ? "+" : "") + (100 * value).toFixed(2) + " %" : "not compared";
  const at = (test, gpu) => deviations[test * size + gpu];
  const testName = (test) => test.resource + ", " + test.phase;

  // The worst test of each GPU, and one test after the other.
  const worst = Float64Array.from({length: size}, (_, gpu) => {
    let low = NaN;
    for (let test = 0; test < fleet.tests.length; ++test) { const value = at(test, gpu); if (!(value >= low)) low = Number.isNaN(value) ? low : value; }
    return low;
  });
  const select = byId("test");
  select.append(make("option", {value: "-1"}, "the worst of all"), ...fleet.tests.map((test, number) => make("option", {value: String(number)}, testName(test))));
  select.value = fleet.slow.length ? String(fleet.slow[0][1]) : fleet.tests.length ? "0" : "-1";
  let chosen = Number(select.value), cursor = fleet.slow.length ? fleet.slow[0][0] : 0, hits = new Set();
  const valueOf = (gpu) => chosen < 0 ? worst[gpu] : at(chosen, gpu);
  const isFound = (gpu) => chosen < 0 ? slowGpus.has(gpu) : found.has(chosen * size + gpu);

  // Slower is orange, faster blue; the scale ends at the 98th percentile, or 2 %.
  let end = 0.02;
  const dark = () => root.dataset.theme === "dark";
  function colour(value) {
    if (!Number.isFinite(value)) return dark() ? "#2a323b" : "#e3e7ec";
    const share = Math.min(Math.abs(value) / end, 1), middle = dark() ? [38, 46, 55] : [247, 247, 244];
    const full = value < 0 ? (dark() ? [240, 128, 48] : [200, 80, 10]) : (dark() ? [80, 150, 230] : [30, 100, 190]);
    return "rgb(" + middle.map((part, i) => Math.round(part + share * (full[i] - part))).join(",") + ")";
  }
  /** A canvas of this size in pixels of the page, sharp on any screen. */
  function prepared(id, width, height) {
    const canvas = byId(id), ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px"; canvas.style.height = height + "px"; canvas.style.display = "block";
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return context;
  }
  const ink = (name) => getComputedStyle(root).getPropertyValue("--" + name);
  const room = (id) => Math.max(200, byId(id).parentElement.clientWidth - 40);

  const rows = new Map();  // of each node its GPUs, by their place
  for (const gpu of gpus) { if (!rows.has(gpu.node)) rows.set(gpu.node, []); rows.get(gpu.node).push(gpu.number); }
  const widest = Math.max(1, ...[...rows.values()].map((row) => row.length));
  const labelled = rows.size <= 160;
  let places = [], layout = {};
  function arrange() {
    const width = room("map"), label = labelled ? 92 : 0;
    const cell = rows.size <= 40 ? 18 : rows.size <= 400 ? 11 : 7, gap = labelled ? 26 : 6;
    const block = label + widest * cell + gap, across = Math.max(1, Math.min(Math.floor((width + gap) / block), rows.size)), down = Math.ceil(rows.size / across);
    layout = {width, cell, label, block, down, pitch: cell + (cell > 8 ? 2 : 1)};
    places = new Array(size);
    [...rows.values()].forEach((row, number) => row.forEach((gpu, i) => {
      places[gpu] = {x: Math.floor(number / down) * block + label + i * cell, y: (number % down) * layout.pitch};
    }));
  }
  function drawMap() {
    arrange();
    const {cell, pitch, down, width} = layout;
    const context = prepared("map", width, down * pitch + 4);
    if (labelled) {
      context.font = "11px system-ui, sans-serif"; context.fillStyle = ink("soft"); context.textBaseline = "middle";
      for (const [node, row] of rows) {
        const place = places[row[0]], name = fleet.nodes[node];
        context.fillText(name.length > 14 ? name.slice(0, 6) + "\u2026" + name.slice(-7) : name, place.x - layout.label, place.y + cell / 2, layout.label - 6);
      }
    }
    for (let gpu = 0; gpu < size; ++gpu) {
      const {x, y} = places[gpu];
      context.fillStyle = colour(valueOf(gpu));
      context.fillRect(x, y, cell - 1, cell - 1);
    }
    const outline = (gpu, look, wide) => { context.strokeStyle = look; context.lineWidth = wide; context.strokeRect(places[gpu].x - 0.5, places[gpu].y - 0.5, cell, cell); };
    for (let gpu = 0; gpu < size; ++gpu) {
      if (isFound(gpu)) outline(gpu, ink("bad"), 2);
      if (hits.has(gpu)) outline(gpu, ink("ink"), 2);
    }
    if (document.activeElement === byId("map") && size) outline(cursor, ink("accent"), 2);
  }
  function drawScale() {
    byId("scale").replaceChildren(...[[-end, "\u2212" + (100 * end).toFixed(1) + " % slower"], [0, "as its peers"], [end, "+" + (100 * end).toFixed(1) + " % faster"], [NaN, "not compared"]].map(([value, text]) => {
      const box = make("i", {});
      box.style.background = colour(value);
      return make("span", {}, box, text);
    }));
  }

  function drawDistribution() {
    const values = [];
    for (let gpu = 0; gpu < size; ++gpu) if (Number.isFinite(valueOf(gpu))) values.push([valueOf(gpu), gpu]);
    values.sort((a, b) => a[0] - b[0]);
    const name = chosen < 0 ? "The worst test of each GPU" : testName(fleet.tests[chosen]);
    byId("distribution-words").textContent = name + ": " + count(values.length) + " GPUs by how far they are from the median of their peers.";
    const outliers = values.filter(([, gpu]) => isFound(gpu));
    byId("outliers").textContent = outliers.length ? "Found: " + outliers.slice(0, 12).map(([value, gpu]) => gpus[gpu].name + " " + signed(value)).join("; ") + (outliers.length > 12 ? " and " + count(outliers.length - 12) + " more" : "") + "." : "";
    const width = room("distribution"), height = 170, context = prepared("distribution", width, height);
    if (!values.length) return;
    let low = values[0][0], high = values.at(-1)[0];
    if (high - low < 1e-4) { low -= 1e-3; high += 1e-3; }
    const bars = Math.max(10, Math.min(120, Math.floor(width / 9))), counts = new Array(bars).fill(0), hot = new Array(bars).fill(0);
    for (const [value, gpu] of values) {
      const bar = Math.min(bars - 1, Math.floor((value - low) / (high - low) * bars));
      ++counts[bar];
      if (isFound(gpu)) ++hot[bar];
    }
    // By the logarithm, so that one GPU beside thousands is seen.
    const top = Math.log1p(Math.max(...counts)), floor = height - 22;
    counts.forEach((each, i) => {
      if (!each) return;
      const tall = Math.max(2, Math.log1p(each) / top * (floor - 8));
      context.fillStyle = hot[i] ? ink("bad") : ink("accent");
      context.fillRect(i * width / bars, floor - tall, width / bars - 1.5, tall);
    });
    context.fillStyle = ink("soft"); context.font = "12px system-ui, sans-serif"; context.textBaseline = "bottom";
    for (const [share, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) { context.textAlign = align; context.fillText(signed(low + share * (high - low)), share * width, height - 2); }
    context.textAlign = "right"; context.textBaseline = "top"; context.fillText("most in a bar: " + count(Math.max(...counts)) + " (heights by logarithm)", width, 0);
  }

  const unitText = (value, unit) => unit === "s" ? seconds(value, 4) : withPrefix(value, unit, 4);
  const linked = new Set();
  for (let i = 0; i < linkDeviations.length; ++i) linked.add(links[3 * i]);
  if (byId("link-test")) {
    byId("link-test").append(...fleet.link_tests.map((name, number) => make("option", {value: String(number)}, name)));
    byId("link-test").addEventListener("change", () => drawLinks(cursor));
  }
  function drawLinks(gpu) {
    const figure = byId("gpu-links");
    if (!figure) return;
    const row = rows.get(gpus[gpu].node), place = new Map(row.map((each, i) => [each, i]));
    const cells = [];
    for (let i = 0; i < linkDeviations.length; ++i)
      if (place.has(links[3 * i]) && place.has(links[3 * i + 1]) && links[3 * i + 2] === Number(byId("link-test").value)) cells.push([place.get(links[3 * i]), place.get(links[3 * i + 1]), linkDeviations[i]]);
    figure.hidden = !row.some((each) => linked.has(each));
    const cell = 26, left = 60;
    const context = prepared("links-map", left + row.length * cell + 4, 20 + row.length * cell);
    context.fillStyle = ink("soft"); context.font = "12px system-ui, sans-serif"; context.textBaseline = "middle";
    row.forEach((each, i) => { context.fillText(gpus[each].id, 0, 20 + i * cell + cell / 2, left - 6); context.fillText(String(gpus[each].local), left + i * cell + 8, 10); });
    const kept = end;
    end = 0.05;
    for (const [from, to, value] of cells) { context.fillStyle = colour(value); context.fillRect(left + to * cell, 20 + from * cell, cell - 2, cell - 2); }
    end = kept;
  }
  function open(number) {
    const gpu = gpus[number];
    byId("gpu").hidden = false;
    byId("gpu-name").textContent = gpu.name;
    byId("gpu-words").textContent = gpu.uuid + ", rank " + gpu.rank + ", " + fleet.groups[gpu.group] + ". Its readings are in " + gpu.file + ".";
    const tests = fleet.tests.map((test, i) => ({test, i, value: at(i, number)})).sort((a, b) => (Number.isNaN(a.value) ? 1 : a.value) - (Number.isNaN(b.value) ? 1 : b.value));
    fillNames(tests.map(({test, i, value}) => {
      const median = test.medians[gpu.group], better = test.unit === "s" ? 1 / (1 + value) : 1 + value;
      return {name: testName(test) + (found.has(i * size + number) ? " \u2014 found slow" : ""), open: () => choose(i), numbers: [signed(value), Number.isFinite(value) && median ? "about " + unitText(median * better, test.unit) : ""]};
    }));
    drawLinks(number);
    byId("gpu").scrollIntoView({block: "nearest"});
  }
  function choose(test) {
    chosen = test;
    select.value = String(test);
    const sizes = [];
    for (let gpu = 0; gpu < size; ++gpu) if (Number.isFinite(valueOf(gpu))) sizes.push(Math.abs(valueOf(gpu)));
    sizes.sort((a, b) => a - b);
    end = Math.max(0.02, sizes[Math.floor(0.98 * (sizes.length - 1))] || 0);
    draw();
  }
  function draw() { drawMap(); drawScale(); drawDistribution(); if (!byId("gpu").hidden) drawLinks(cursor); }

  const map = byId("map");
  function under(event) {
    const box = map.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    return places.findIndex((place) => x >= place.x && x < place.x + layout.cell && y >= place.y && y < place.y + layout.cell);
  }
  const tell = (gpu, x, y) => showTip(x, y, gpus[gpu].name, [signed(valueOf(gpu)), gpus[gpu].uuid, "rank " + gpus[gpu].rank]);
  map.addEventListener("mousemove", (event) => { const gpu = under(event); if (gpu < 0) byId("tip").hidden = true; else tell(gpu, event.clientX, event.clientY); });
  map.addEventListener("mouseleave", () => { byId("tip").hidden = true; });
  map.addEventListener("click", (event) => { const gpu = under(event); if (gpu >= 0) { cursor = gpu; open(gpu); drawMap(); } });
  map.addEventListener("focus", drawMap);
  map.addEventListener("blur", () => { byId("tip").hidden = true; drawMap(); });
  map.addEventListener("keydown", (event) => {
    const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -widest, ArrowDown: widest};
    if (event.key === "Enter") { open(cursor); return; }
    if (!(event.key in steps) || !size) return;
    event.preventDefault();
    cursor = Math.min(size - 1, Math.max(0, cursor + steps[event.key]));
    drawMap();
    const box = map.getBoundingClientRect();
    tell(cursor, box.left + places[cursor].x, box.top + places[cursor].y);
  });
  select.addEventListener("change", () => choose(Number(select.value)));
  onSearch(() => {
    const word = byId("search").value.trim().toLowerCase();
    hits = new Set(word ? gpus.filter((gpu) => gpu.name.toLowerCase().includes(word) || gpu.uuid.toLowerCase().includes(word)).map((gpu) => gpu.number) : []);
    byId("found").textContent = word ? count(hits.size) + " found" : "";
    if (hits.size) { cursor = [...hits][0]; open(cursor); }
    drawMap();
  });
  themeListeners.push(draw);
  addEventListener("resize", draw);
  choose(chosen);
  if (fleet.slow.length) open(cursor);
  scrollTo(0, 0);
})();
