// SPDX-License-Identifier: Apache-2.0
// Draws the specifications with Vega-Embed and keeps them in step with the theme, the regimes and the chosen operation.
"use strict";
Promise.all([ready, Promise.resolve(window.libraryReady).catch(trouble)]).then(() => {
  const embed = window.vegaEmbed && (window.vegaEmbed.embed || window.vegaEmbed);
  const figures = [...document.querySelectorAll("figure.chart")];
  const nameOf = (figure) => figure.id.replace(/^chart-/, "");
  if (!points.length) {  // ceilings alone: what shows points would be empty
    const empty = ["operation", "points", "boundaries", ...(report.devices.length > 1 ? [] : ["charts"])];
    for (const id of [...empty, "chart-roofline", "chart-overview", "chart-map", "chart-strip"]) byId(id).hidden = true;
    for (const id of empty) for (const link of document.querySelectorAll(`nav a[href="#${id}"]`)) link.hidden = true;
  }
  const views = new Map();
  const many = points.length > 1500;  // beyond, a canvas draws faster than SVG
  const deviceIds = [...new Set([...report.devices.map((device) => device.id), ...points.map((row) => row.device)])];
  let device = (points.find((row) => row.seconds) || {}).device || deviceIds[0] || "";
  let line = "";
  const fewLines = 40;  // more would make a picture of many screens; a button shows them
  const cellsOf = {strip: "cell_to", map: "size_to"};  // charts with a row of cells for each operation
  const whole = new Set();  // those of them that show all operations
  let overviewWanted = !many;

  const lineSelect = byId("line");
  const linesOf = (id) => [...new Set(points.filter((row) => row.device === id && row.size > 0 && row.seconds).map((row) => row.line))];
  function fillLines() {
    const lines = linesOf(device);
    lineSelect.replaceChildren(...lines.map((name) => make("option", {value: name}, name)));
    line = lines.includes(line) ? line : lines[0] || "";
    lineSelect.value = line;
    byId("operation").hidden = lines.length === 0;
    for (const link of document.querySelectorAll('nav a[href="#operation"]')) link.hidden = lines.length === 0;
  }

  /** The rows that a chart can show: fewer rows, faster charts. */
  function rowsFor(figure) {
    const scope = figure.dataset.scope;
    const ofOperation = scope.endsWith("operation");
    const ofRuns = scope.startsWith("runs");
    const data = {};
    for (const [name, rows] of Object.entries(report.datasets)) {
      const narrow = ofOperation && ["points", "bands", "boundaries"].includes(name);
      data[name] = rows.filter((row) => (ofRuns || row.device === device) && (!narrow || row.line === line));
    }
    const cells = cellsOf[nameOf(figure)];
    if (cells) {
      const lines = [...new Set(data.points.filter((row) => row[cells]).map((row) => row.line))];
      const button = byId("whole-" + nameOf(figure));
      button.hidden = whole.has(figure) || lines.length <= fewLines;
      button.textContent = "These are the first " + fewLines + " operations: show all " + count(lines.length);
      if (!button.hidden) {
        const first = new Set(lines.slice(0, fewLines));
        data.points = data.points.filter((row) => first.has(row.line));
        data.boundaries = data.boundaries.filter((row) => first.has(row.line));
      }
    }
    return data;
  }
  const some = (field) => (data) => data.points.some((row) => row[field]);
  const any = (name) => (data) => data[name].length;
  /** What each chart needs: a chart of nothing has no place on the page. */
  const needs = {
    roofline: (data) => some("intensity")(data) || (data.roofs.length && !report.program), overview: some("working_set"), map: some("size_to"), rooflines: some("intensity"),
    changes: any("changes"), times: any("points"), strip: some("cell_to"), time: any("points"), rate: some("bytes_per_second"),
    shares: some("shares"), kernels: some("kernel_shares"), ladder: any("ladder"), latency: any("latencies"), intensity: any("intensities"),
  };
  /** In a part of the page that is not shown. */
  const folded = (figure) => figure.parentElement.closest("[hidden], details:not([open])");

  // Tooltips: text alone, built here, so that no name in a run can become markup.
  const tip = byId("tip");
  /** A name and five lines: the rest opens by a click. */
  function shortFacts(row, datum) {
    const part = spread(row);
    const time = seconds(row.seconds, 4) + (row.course ? ", " + row.course : part === undefined ? "" : " \u00b1 " + percent(part))
      + (row.on_device && row.clock !== "device" ? ", on device " + seconds(row.on_device, 4) : "");
    const limit = [row.limiter, row.of_ceiling, row.confidence === undefined ? "" : confidence(row.confidence) + " sure"];
    const rates = [withPrefix(row.bytes_per_second, "B/s"), withPrefix(row.flops_per_second, "FLOP/s"),
      row.held ? withPrefix(row.clock_hz, "Hz") + " (" + row.held + ")" : ""];
    const list = (texts) => texts.filter(Boolean).join(", ");
    return [datum.ratio_text && datum.ratio_text + (datum.bounds ? ": " + datum.bounds : ""), time, list(limit), list(rates), row.evidence].filter(Boolean);
  }
  const tellPoint = (x, y, row, datum) =>
    showTip(x, y, make("div", {class: "head"}, make("span", {}, row.name), make("span", {class: "regime"}, sign(row.regime), row.regime)), shortFacts(row, datum));
  function onTip(handler, event, item, value) {
    if (!value || !event || event.vegaType === "mouseout") { tip.hidden = true; return; }
    const row = item && item.datum && item.datum.id !== undefined ? points[item.datum.id] : null;
    const [head, ...texts] = (typeof value === "object" ? Object.values(value) : [value]).slice(0, 6).map(String);
    if (row) tellPoint(event.clientX, event.clientY, row, item.datum); else showTip(event.clientX, event.clientY, head, texts);
  }
  addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});

  /** Calls `visit` with every layer of a specification, in all its panels. */
  function eachLayer(spec, visit) {
    for (const part of spec.layer || spec.concat || spec.hconcat || []) {
      if (part.layer) eachLayer(part, visit); else visit(part);
    }
  }
  // Direct labels: `patched` puts each beside its unseen anchor, which the specification has.
  const isAnchor = (layer) => layer.mark.style === "anchor";
  let colourBy = "regime";
  /** The compiled specification with its labels. */
  function patched(vega) {
    const ink = getComputedStyle(root).getPropertyValue("--ink");
    const visit = (marks, size) => {
      for (const mark of [...marks]) {
        // What lies on a mark and has no tooltip of its own lets the pointer through to it.
        if (["symbol", "text"].includes(mark.type) && !(mark.encode && mark.encode.update && mark.encode.update.tooltip)) mark.interactive = false;
        if (mark.type === "group" && mark.marks) {
          const {width, height} = (mark.encode && mark.encode.update) || {};
          visit(mark.marks, width && width.signal && height && height.signal ? `[${width.signal}, ${height.signal}]` : size);
        } else if (mark.type === "symbol" && [].concat(mark.style || []).includes("anchor")) {
          const others = marks.filter((each) => each !== mark && each.name && (each.type === "symbol" || each.type === "text"));
          marks.push({type: "text", style: "direct-label", aria: false, interactive: false, from: {data: mark.name}, encode: {enter: {
            text: {signal: "datum.datum.direct"}, fontSize: {value: innerWidth < 600 ? 9.5 : 10.5}, fontWeight: {value: 500}, limit: {value: 220},
            fill: {value: ink}}},
          transform: [{type: "label", size: {signal: size}, anchor: ["right", "left", "top", "bottom", "top-right", "bottom-right", "top-left", "bottom-left"],
            offset: [1, 1, 1, 1, 1, 1, 1, 1], padding: 0, avoidBaseMark: true, avoidMarks: others.map((each) => each.name)}]});
        }
      }
    };
    visit(vega.marks, "[width, height]");
    return vega;
  }
  /** What a screen reader says of a chart; Vega would put a text of its own in its place. */
  const descriptions = new Map(figures.map((figure) => [figure, figure.querySelector(".canvas").getAttribute("aria-label")]));
  function specFor(figure, data) {
    const name = nameOf(figure);
    const spec = structuredClone(report.specs[name]);
    delete spec.$schema;
    spec.description = descriptions.get(figure) + (figure.dataset.scope.endsWith("operation") ? " Operation: " + line + "." : "");
    // The map and the overview show all operations, or one: here all.
    const values = {device, line: figure.dataset.scope === "device" ? "" : line, regimes: [...shownRegimes]};
    for (const param of spec.params) if (param.name in values) param.value = values[param.name];
    spec.datasets = data;
    for (const part of spec.concat || [spec]) {
      if (!part.layer || !part.layer.some(isAnchor)) continue;
      // Vega's labels cannot avoid marks of nothing.
      part.layer = part.layer.filter((layer) => (layer.data.values || data[layer.data.name].length) && !(many && isAnchor(layer)));
    }
    if (spec.concat) {  // panels side by side have no container to fit: the room is shared out here
      const room = figure.querySelector(".canvas").clientWidth;
      spec.columns = room < 760 ? 1 : 2;
      for (const part of spec.concat) part.width = Math.max(160, Math.floor((room - 24 * (spec.columns - 1)) / spec.columns) - 100);
    }
    // A row a line, in pixels: Vega-Lite cannot fit the width while it steps the height.
    if (spec.height && spec.height.step) spec.height = spec.height.step * new Set(data.points.filter((row) => row[cellsOf[name]]).map((row) => row.line)).size;
    // Unseen among so many points: intervals, and numbers in cells too narrow for them.
    const cells = new Map();
    if (many) for (const row of data.points) cells.set(row.line, (cells.get(row.line) || 0) + 1);
    const crowded = Math.max(0, ...cells.values()) > 60;
    if (many && spec.layer) spec.layer = spec.layer.filter((layer) => layer.mark.style !== "whisker" && !(crowded && layer.mark.style === "cell-label"));
    if (innerWidth < 600 && spec.height && !cellsOf[name]) spec.height = Math.min(spec.height, 340);
    const resources = new Set(data.points.flatMap((row) => row.shares || []).map(([resource]) => resource));
    const axis = (data.points.find((row) => row.axis) || {}).axis;
    const ofOperation = figure.dataset.scope.endsWith("operation");
    // One panel keeps its regimes.
    if (colourBy === "operation" && spec.resolve) spec.resolve.scale = {color: "independent", shape: "independent"};
    eachLayer(spec, (layer) => {
      // The tooltip is built here from the point itself: texts that Vega would format for each are not needed.
      if (layer.encoding.tooltip && ["points", "changes"].includes(layer.data.name)) layer.encoding.tooltip = {value: "point"};
      for (const channel of [layer.encoding.color, layer.encoding.shape]) {
        if (!channel || !channel.legend) continue;
        if (channel.field === "regime" && colourBy === "operation" && figure.dataset.scope === "device" && ["measured", "whisker"].includes(layer.mark.style)) {
          Object.assign(channel, {field: "line", legend: null, scale: channel === layer.encoding.color ? {scheme: isDark() ? "set3" : "tableau20"} : {}});
          continue;
        }
        if (channel.field === "regime") channel.legend.values = regimesHere;
        if (channel.field === "resource") channel.legend.values = channel.scale.domain.filter((resource) => resources.has(resource));
      }
      if (ofOperation && axis && layer.encoding.x && layer.encoding.x.title === "size") layer.encoding.x.title = axis;
    });
    return spec;
  }
  function configFor() {
    const config = structuredClone(report.themes[isDark() ? "dark" : "light"]);
    if (innerWidth < 600) { config.axisX.tickCount = 4; config.style["roof-label"].fontSize = 9.5; config.legend.columns = 2; config.legend.labelFontSize = 10.5; config.style.measured.size = 26; }
    if (many) config.aria = false;  // a canvas has no elements that a text of each mark could be said of
    return config;
  }
  const options = {mode: "vega-lite", ast: true, actions: false, defaultStyle: false, logLevel: 1, tooltip: onTip, patch: patched};

  // The samples of points are packed in the page, and read when the first point is opened.
  let packedSamples = null;
  /** What the chart of samples shows of a point, or null: data sets, how many there are, how many the page carries. */
  window.samplesOf = (row) => {
    packedSamples = packedSamples || JSON.parse(byId("samples").textContent);
    const entry = packedSamples[row.id];
    if (!entry) return null;
    const [least, most, all, sizes, text] = entry;
    const octets = atob(text);
    const samples = [];
    for (let i = 0; 2 * i + 1 < octets.length; ++i) {
      const step = octets.charCodeAt(2 * i) | octets.charCodeAt(2 * i + 1) << 8;
      const value = least + (most - least) * step / 65535;
      samples.push({index: i + 1, seconds: value, text: seconds(value, 5)});
    }
    const blocks = [];
    let from = 0;
    for (const size of sizes.slice(0, -1)) {
      from += size;
      if (from < samples.length) blocks.push({block_from: from + 0.5});
    }
    const summary = [{median: row.seconds, low: row.low, high: row.high, text: "median " + seconds(row.seconds, 5)}];
    return {sets: {samples, blocks, summary}, all, carried: samples.length};
  };
  /** The samples of a point, in the panel. */
  window.drawSamples = async (box, row) => {
    const found = embed && row.seconds ? samplesOf(row) : null;
    if (!found) return;
    const text = found.carried < found.all ? "the first " + count(found.carried) + " of " + count(found.all) + " samples" : count(found.all) + " samples";
    const canvas = make("div", {class: "canvas", role: "img", "aria-label": "Samples of " + row.name + " in the order taken, and a histogram: "
      + text + ", median " + seconds(row.seconds, 4) + ", quartiles " + seconds(row.lower_quartile) + " to " + seconds(row.upper_quartile)});
    box.append(make("figure", {class: "samples"}, make("figcaption", {}, "In the order taken, and a histogram: " + text
      + ". The line is the median with its 95 % interval; dashed vertical lines separate blocks."), canvas));
    const spec = structuredClone(report.specs.samples);
    delete spec.$schema;
    spec.datasets = found.sets;
    spec.description = canvas.getAttribute("aria-label");
    const room = Math.min(canvas.clientWidth, 1000, innerWidth - 60);
    const [sequence, histogram] = spec.hconcat;
    histogram.width = room < 480 ? 60 : 150;
    sequence.width = Math.max(120, room - histogram.width - 110);
    await embed(canvas, spec, {...options, renderer: "svg", config: {...configFor(), aria: true}}).catch((error) => trouble("samples: " + error));
  };

  /** A click on a point: all about it in the panel, and its operation in the charts of one operation. */
  function choose(row) {
    tip.hidden = true;
    if (row.device === device && row.line !== line && linesOf(device).includes(row.line)) {
      line = lineSelect.value = row.line;
      drawAll("operation");
    }
    showPoint(row.id);
  }

  /** `wanted` guards against a slow drawing that ends after a newer one began. */
  const wanted = new Map();
  async function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const ticket = {};
    wanted.set(figure, ticket);
    const data = rowsFor(figure);
    if (views.has(figure)) { views.get(figure).finalize(); views.delete(figure); }
    figure.hidden = !needs[nameOf(figure)](data);
    if (figure.hidden) return;
    if (nameOf(figure) === "overview" && !overviewWanted) {
      const button = make("button", {type: "button"}, "Draw four panels of " + count(data.points.length) + " points");
      button.addEventListener("click", () => { overviewWanted = true; draw(figure); });
      canvas.replaceChildren(button);
      return;
    }
    const result = await embed(canvas, specFor(figure, data), {...options, renderer: many ? "canvas" : "svg", config: configFor()});
    if (wanted.get(figure) !== ticket) { result.finalize(); return; }
    views.set(figure, result);
    root.dataset.firstChart = root.dataset.firstChart || String(Math.round(performance.now()));  // ms since the page was asked for
    result.view.addEventListener("click", (event, item) => {
      const row = item && item.datum && points[item.datum.id];
      if (row) choose(row);
    });
  }
  /** The marks of a chart that stand for points, each once, from left to right, with their middles in the window. */
  function marksOf(figure) {
    const view = views.get(figure).view;
    const found = new Map();
    const walk = (item, x, y) => {
      if (item.marktype === "group") for (const group of item.items) for (const part of group.items || []) walk(part, x + (group.x || 0), y + (group.y || 0));
      else if (["symbol", "rect", "rule", "arc"].includes(item.marktype) && item.interactive !== false)
        for (const mark of item.items) if (mark.datum && mark.datum.id !== undefined && mark.tooltip && !found.has(mark.datum.id))
          found.set(mark.datum.id, {datum: mark.datum, x: x + (mark.bounds.x1 + mark.bounds.x2) / 2, y: y + (mark.bounds.y1 + mark.bounds.y2) / 2});
    };
    walk(view.scenegraph().root, ...view.origin());
    return [...found.values()].sort((a, b) => a.y === b.y || Math.abs(a.x - b.x) > 1 ? a.x - b.x : a.y - b.y);
  }
  /** Arrows go from mark to mark, Enter opens one. */
  const places = new Map();
  function onKey(event, figure) {
    const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity}[event.key];
    if ((!by && event.key !== "Enter") || !views.has(figure)) return;
    const marks = marksOf(figure);
    if (!marks.length) return;
    event.preventDefault();
    const before = marks.findIndex((mark) => mark.datum.id === places.get(figure));
    const at = marks[by ? Math.max(0, Math.min(marks.length - 1, before + by)) : Math.max(0, before)];
    const row = points[at.datum.id];
    places.set(figure, row.id);
    if (event.key === "Enter") { choose(row); return; }
    const drawing = figure.querySelector(".canvas svg, .canvas canvas");
    const box = drawing.getBoundingClientRect();
    const scale = box.width / (drawing.width && drawing.width.baseVal ? drawing.width.baseVal.value : box.width);
    const x = box.x + at.x * scale, y = box.y + at.y * scale;
    if (y < 60 || y > innerHeight - 20) { scrollBy({top: y - innerHeight / 2, behavior: "instant"}); }
    tip.hidden = true;
    const now = drawing.getBoundingClientRect();
    // A frame tells of scrolling, which hides it, before that.
    requestAnimationFrame(() => tellPoint(now.x + at.x * scale, now.y + at.y * scale, row, at.datum));
    byId("said").textContent = [row.name, row.regime, seconds(row.seconds, 3), row.limiter, row.of_ceiling].filter(Boolean).join(", ");
  }
  async function drawAll(scope) {
    for (const figure of figures) {
      if ((scope && !figure.dataset.scope.endsWith(scope)) || folded(figure)) continue;
      try {
        await draw(figure);
      } catch (error) {
        trouble(nameOf(figure) + ": " + error);
        figure.querySelector(".canvas").replaceChildren(make("p", {class: "none"}, "This chart could not be drawn: " + error));
      }
      await new Promise((resume) => setTimeout(resume, 0));  // lets the page answer between charts
    }
    if (deviceIds.length < 2) {  // else another device may have some
      const none = figures.filter((figure) => byId("charts").contains(figure)).every((figure) => figure.hidden);
      for (const part of [byId("charts"), document.querySelector('nav a[href="#charts"]')]) part.hidden = none;
    }
    root.dataset.charts = String(views.size);
  }
  /** As it stands, with a title and a ground of its own: where it is pasted has neither. */
  async function save(figure, format) {
    const spec = specFor(figure, rowsFor(figure));
    const style = getComputedStyle(root);
    const names = report.devices.filter((each) => figure.dataset.scope.startsWith("runs") || each.id === device).map((each) => each.name);
    const of = figure.dataset.scope.endsWith("operation") ? ": " + line : "";
    spec.title = {text: figure.querySelector("h3").textContent + of, subtitle: [...new Set(names)].join(", "), anchor: "start", offset: 12, subtitleColor: style.getPropertyValue("--soft")};
    spec.background = style.getPropertyValue("--paper");
    spec.padding = 14;
    if (spec.width === "container") spec.width = figure.querySelector(".canvas").clientWidth - 90;
    if (spec.autosize) delete spec.autosize;
    const box = make("div", {class: "unseen"});
    document.body.append(box);
    const result = await embed(box, spec, {...options, renderer: "svg", config: configFor()});
    make("a", {href: await result.view.toImageURL(format, 2), download: "gpubench-" + nameOf(figure) + "." + format}).click();
    result.finalize();
    box.remove();
  }

  fillLines();
  if (!embed) {
    const box = byId("chart-trouble");
    box.textContent = report.embedded ? "The charts cannot be drawn, because the chart library did not start in this browser. All tables are below."
      : "No charts: the chart library could not be loaded from cdn.jsdelivr.net (no network, or an unexpected copy). All tables are below. A gpubench built with the library embeds it.";
    box.hidden = false;
    for (const figure of figures) figure.hidden = true;
    byId("operation").hidden = true;
    root.dataset.charts = "0";
  } else {
    for (const figure of figures) {
      const buttons = ["svg", "png"].map((format) => {
        const button = make("button", {type: "button", "aria-label": "Save this chart as " + format.toUpperCase()}, format.toUpperCase());
        button.addEventListener("click", () => save(figure, format));
        return button;
      });
      figure.prepend(make("div", {class: "save"}, ...buttons));
      const canvas = figure.querySelector(".canvas");
      canvas.tabIndex = 0;
      canvas.addEventListener("keydown", (event) => onKey(event, figure));
      canvas.addEventListener("blur", () => { tip.hidden = true; });
    }
    for (const name of Object.keys(cellsOf)) {
      const figure = byId("chart-" + name);
      const button = make("button", {type: "button", id: "whole-" + name, hidden: ""});
      button.addEventListener("click", () => { whole.add(figure); draw(figure); });
      figure.append(make("p", {class: "more"}, button));
    }
    if (deviceIds.length > 1) {
      const select = byId("device");
      byId("device-control").hidden = false;
      select.append(...deviceIds.map((id) => make("option", {value: id}, id + "  " + ((report.devices.find((known) => known.id === id) || {}).name || ""))));
      select.value = device;
      select.addEventListener("change", () => { device = select.value; fillLines(); drawAll(); });
    }
    /** The chosen operation, or one so many places beside it. */
    const move = (by) => {
      const option = lineSelect.options[lineSelect.selectedIndex + by];
      if (!option) return;
      line = lineSelect.value = option.value;
      drawAll("operation");
    };
    for (const [id, event, by] of [["line", "change", 0], ["previous", "click", -1], ["next", "click", 1]])
      byId(id).addEventListener(event, () => move(by));
    byId("colours").addEventListener("change", () => { colourBy = byId("colours").value; drawAll("device"); });
    regimeListeners.push(() => drawAll());
    themeListeners.push(() => drawAll());
    for (const fold of document.querySelectorAll("details"))
      fold.addEventListener("toggle", () => { if (fold.open && figures.some((figure) => fold.contains(figure) && !views.has(figure))) drawAll(); });
    let width = innerWidth;
    let resized = 0;
    addEventListener("resize", () => {
      // Vega follows the width by itself; only crossing into or out of the narrow layout needs other settings.
      if ((width < 600) !== (innerWidth < 600)) drawAll();
      else if (width !== innerWidth && overviewWanted) {
        clearTimeout(resized);
        resized = setTimeout(() => { if (byId("chart-overview").offsetParent) draw(byId("chart-overview")); }, 150);
      }
      width = innerWidth;
    });
    drawAll();
  }
  // After the browser's own jump to the fragment, which takes the focus away.
  const linked = () => { if (location.hash) showLinked(); };
  if (document.readyState === "complete") linked(); else addEventListener("load", () => setTimeout(linked, 0));
});
