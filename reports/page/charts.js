// SPDX-License-Identifier: Apache-2.0
// Draws the specifications with Vega-Embed and keeps them in step with the theme, the regimes and the chosen operation.
"use strict";
{
  const embed = window.vegaEmbed && (window.vegaEmbed.embed || window.vegaEmbed);
  const figures = [...document.querySelectorAll("figure.chart")];
  const nameOf = (figure) => figure.id.replace(/^chart-/, "");
  if (!points.length) {  // ceilings alone: what shows points would be empty
    const empty = ["operation", "points", "boundaries", ...(report.devices.length > 1 ? [] : ["charts"])];
    for (const id of [...empty, "chart-roofline", "chart-strip"]) byId(id).hidden = true;
    for (const id of empty) for (const link of document.querySelectorAll(`nav a[href="#${id}"]`)) link.hidden = true;
  }
  const views = new Map();
  const many = points.length > 1500;  // beyond, a canvas draws faster than SVG
  const deviceIds = [...new Set([...report.devices.map((device) => device.id), ...points.map((row) => row.device)])];
  let device = (points.find((row) => row.seconds) || {}).device || deviceIds[0] || "";
  let line = "";
  const stripLines = 40;  // more would make a picture of many screens; a button shows them
  let wholeStrip = false;

  const lineSelect = byId("line");
  const linesOf = (id) => [...new Set(points.filter((row) => row.device === id && row.size > 0 && row.seconds).map((row) => row.line))];
  function fillLines() {
    const lines = linesOf(device);
    lineSelect.replaceChildren(...lines.map((name) => make("option", {value: name}, name)));
    line = lines.includes(line) ? line : lines[0] || "";
    lineSelect.value = line;
    byId("line-empty").hidden = lines.length > 0;
    document.querySelector("#operation .grid").hidden = lines.length === 0;
    document.querySelector("#operation .controls").hidden = lines.length === 0;
  }

  /** The rows that a chart can show: fewer rows, faster charts. */
  function rowsFor(figure) {
    const ofOperation = figure.dataset.scope === "operation";
    const data = {};
    for (const [name, rows] of Object.entries(report.datasets)) {
      const narrow = ofOperation && ["points", "bands", "boundaries"].includes(name);
      data[name] = rows.filter((row) => row.device === device && (!narrow || row.line === line));
    }
    if (nameOf(figure) === "strip") {
      const lines = [...new Set(data.points.filter((row) => row.cell_to).map((row) => row.line))];
      const button = byId("whole-strip");
      button.hidden = wholeStrip || lines.length <= stripLines;
      button.textContent = "These are the first " + stripLines + " operations: show all " + count(lines.length);
      if (!button.hidden) {
        const first = new Set(lines.slice(0, stripLines));
        data.points = data.points.filter((row) => first.has(row.line));
      }
    }
    return data;
  }
  const needs = {
    roofline: (data) => data.roofs.length || data.points.some((row) => row.intensity) ? "" : "Neither roofs nor operations with FLOPs: this device has no calibration.",
    strip: (data) => data.points.some((row) => row.cell_to) ? "" : "No operation declares the bytes it touches.",
    time: (data) => data.points.length ? "" : "No timed points.",
    rate: (data) => data.points.some((row) => row.bytes_per_second) ? "" : "This operation declares no bytes.",
    shares: (data) => data.points.some((row) => row.shares) ? "" : "No verdicts: this device has no calibration.",
    ladder: (data) => data.ladder.length ? "" : "This device's calibration has no working-set ladder.",
    latency: (data) => data.latencies.length ? "" : "This device's calibration has no latency curve: it was a quick one, or this is a CPU.",
    intensity: (data) => data.intensities.length ? "" : "This device's calibration has no sweep of intensities: it was a quick one, or this is a CPU.",
  };

  // Tooltips: text alone, built here, so that no name in a run can become markup.
  const tip = byId("tip");
  function showTip(handler, event, item, value) {
    if (!value || !event || event.vegaType === "mouseout") { tip.hidden = true; return; }
    const row = item && item.datum && item.datum.id !== undefined ? points[item.datum.id] : null;
    if (row) {
      tip.replaceChildren(make("div", {class: "head"}, make("span", {}, row.name), make("span", {class: "regime"}, sign(row.regime), row.regime)),
        make("p", {}, row.evidence || ""), pairs(facts(row)));
    } else {
      tip.replaceChildren(...(typeof value === "object" ? Object.values(value) : [value]).map((text, i) => make(i ? "p" : "div", i ? {} : {class: "head"}, String(text))));
    }
    tip.hidden = false;
    const margin = 12;
    const box = tip.getBoundingClientRect();
    const x = event.clientX + 18 + box.width > innerWidth - margin ? event.clientX - box.width - 18 : event.clientX + 18;
    const y = event.clientY + 18 + box.height > innerHeight - margin ? innerHeight - box.height - margin : event.clientY + 18;
    tip.style.left = Math.max(margin, x) + "px";
    tip.style.top = Math.max(margin, y) + "px";
  }
  addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});

  function specFor(figure, data) {
    const spec = structuredClone(report.specs[nameOf(figure)]);
    delete spec.$schema;
    const values = {device, line, regimes: [...shownRegimes]};
    for (const param of spec.params) param.value = values[param.name];
    spec.datasets = data;
    // A row a line, in pixels: Vega-Lite cannot fit the width while it steps the height.
    if (spec.height.step) spec.height = spec.height.step * new Set(data.points.filter((row) => row.cell_to).map((row) => row.line)).size;
    if (many) spec.layer = spec.layer.filter((layer) => layer.mark.style !== "whisker");  // unseen among so many points
    if (innerWidth < 600) spec.height = Math.min(spec.height, nameOf(figure) === "strip" ? Infinity : 340);
    const resources = new Set(data.points.flatMap((row) => row.shares || []).map(([name]) => name));
    for (const layer of spec.layer)
      for (const channel of [layer.encoding.color, layer.encoding.shape])
        if (channel && channel.legend) channel.legend.values = channel.field === "regime" ? regimesHere : channel.scale.domain.filter((name) => resources.has(name));
    const axis = (data.points.find((row) => row.axis) || {}).axis;
    if (figure.dataset.scope === "operation" && axis)
      for (const layer of spec.layer) if (layer.encoding.x && layer.encoding.x.title === "size") layer.encoding.x.title = axis;
    return spec;
  }
  function configFor() {
    const config = structuredClone(report.themes[isDark() ? "dark" : "light"]);
    if (innerWidth < 600) { config.axisX.tickCount = 4; config.style["roof-label"].fontSize = 9.5; config.legend.columns = 3; config.legend.labelFontSize = 10.5; config.style.measured.size = 26; }
    return config;
  }
  /** `wanted` guards against a slow drawing that ends after a newer one began. */
  const wanted = new Map();
  async function draw(figure) {
    const canvas = figure.querySelector(".canvas");
    const ticket = {};
    wanted.set(figure, ticket);
    const data = rowsFor(figure);
    const lack = needs[nameOf(figure)](data);
    if (views.has(figure)) { views.get(figure).finalize(); views.delete(figure); }
    if (lack) { canvas.replaceChildren(make("p", {class: "none"}, lack)); return; }
    const result = await embed(canvas, specFor(figure, data), {mode: "vega-lite", ast: true, actions: false, defaultStyle: false, logLevel: 1,
      renderer: many ? "canvas" : "svg", config: configFor(), tooltip: showTip});
    if (wanted.get(figure) !== ticket) { result.finalize(); return; }
    views.set(figure, result);
    result.view.addEventListener("click", (event, item) => {
      if (item && item.datum && item.datum.id !== undefined) { tip.hidden = true; showPoint(item.datum.id); }
    });
  }
  async function drawAll(scope) {
    for (const figure of figures) {
      if ((scope && figure.dataset.scope !== scope) || !figure.offsetParent) continue;
      try {
        await draw(figure);
      } catch (error) {
        trouble(nameOf(figure) + ": " + error);
        figure.querySelector(".canvas").replaceChildren(make("p", {class: "none"}, "This chart could not be drawn: " + error));
      }
      await new Promise((resume) => setTimeout(resume, 0));  // lets the page answer between charts
    }
    root.dataset.charts = String(views.size);
  }
  async function save(figure, format) {
    const result = views.get(figure);
    if (!result) return;
    const url = await result.view.toImageURL(format, 2);
    const link = make("a", {href: url, download: "gpubench-" + nameOf(figure) + "." + format});
    link.click();
  }

  fillLines();
  if (!embed) {
    const box = byId("chart-trouble");
    box.textContent = report.embedded ? "The charts cannot be drawn: the program that draws them did not start in this browser. All tables are below."
      : "No charts: this report was made by a build without the chart library, and its copy at cdn.jsdelivr.net could not be loaded (no network, or a copy that is not the expected one). All tables are below.";
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
    }
    const whole = make("button", {type: "button", id: "whole-strip", hidden: ""});
    whole.addEventListener("click", () => { wholeStrip = true; draw(byId("chart-strip")); });
    byId("chart-strip").append(make("p", {class: "more"}, whole));
    if (deviceIds.length > 1) {
      const select = byId("device");
      byId("device-control").hidden = false;
      select.append(...deviceIds.map((id) => make("option", {value: id}, id + "  " + ((report.devices.find((known) => known.id === id) || {}).name || ""))));
      select.value = device;
      select.addEventListener("change", () => { device = select.value; fillLines(); drawAll(); });
    }
    lineSelect.addEventListener("change", () => { line = lineSelect.value; drawAll("operation"); });
    const move = (by) => {
      const at = lineSelect.selectedIndex + by;
      if (at < 0 || at >= lineSelect.options.length) return;
      lineSelect.selectedIndex = at;
      line = lineSelect.value;
      drawAll("operation");
    };
    byId("previous").addEventListener("click", () => move(-1));
    byId("next").addEventListener("click", () => move(1));
    regimeListeners.push(() => drawAll());
    themeListeners.push(() => drawAll());
    let width = innerWidth;
    addEventListener("resize", () => {
      // Vega follows the width by itself; only crossing into or out of the narrow layout needs other settings.
      if ((width < 600) !== (innerWidth < 600)) drawAll();
      width = innerWidth;
    });
    drawAll();
  }
}
