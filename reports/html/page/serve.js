// SPDX-License-Identifier: Apache-2.0
// The page of a folder: lists what lies in it, shows one at a time, and looks every two seconds whether something changed.
"use strict";
{
  const lists = byId("lists"), frame = byId("frame"), status = byId("state"), search = byId("search");
  /** Chooses two files of a kind and shows what changed between them; stands above the list of these. */
  function chooser(id, words, path, question) {
    const before = make("select", {}), after = make("select", {}), button = make("button", {type: "button"}, question);
    button.addEventListener("click", () => { show(path, {base: before.value, new: after.value}, after.value + " against " + before.value); byId("shown").scrollIntoView({block: "start"}); });
    const box = make("div", {class: "controls", id}, words, make("label", {}, "before ", before), make("label", {}, "after ", after), button);
    return {box, fill(mine) {
      box.hidden = mine.length < 2;
      fill(before, mine, 1);  // the newest is what changed
      fill(after, mine, 0);
    }};
  }
  const choosers = {trace: chooser("diff", "Two traces: ", "/diff", "What changed between the traces"),
    run: chooser("compare", "Two runs: ", "/compare", "Compare the runs")};
  const titles = {run: "Runs", trace: "Traces", calibration: "Calibrations", gate: "Gate history", compile: "torch.compile reports"};
  const views = {run: [["Report", "/report"]], calibration: [["Show", "/report"]], gate: [["History", "/history"]],
    trace: [["Timeline", "/timeline"], ["Flame graph", "/flame"]], compile: []};
  let files = [], known = "", shown = null;
  const stampOf = (entries) => Object.values(entries).map((file) => (files.find((other) => other.path === file) || {}).stamp).join();
  const query = (path, entries) => path + "?" + new URLSearchParams(entries);

  function show(path, entries, title) {
    shown = {path, entries, title, stamp: stampOf(entries)};
    byId("shown").hidden = false;
    byId("shown-title").textContent = title;
    const address = query(path, entries);
    byId("alone").href = address;
    byId("compile").replaceChildren();
    frame.hidden = path === "/api/profiler/compile";
    if (frame.hidden) compile(address); else frame.src = query(path, {...entries, v: shown.stamp}) + "#theme=" + (isDark() ? "dark" : "light");
    location.hash = new URLSearchParams({show: path, ...entries}).toString();
  }
  async function compile(address) {
    const report = await (await fetch(address)).json();
    const plain = Object.entries(report).filter(([, value]) => typeof value !== "object" || value === null).map(([name, value]) => [name, String(value)]);
    const items = Object.entries(report).filter(([, value]) => Array.isArray(value) && value.length).map(([name, list]) => make("div", {}, make("h3", {}, name),
      make("ul", {}, ...list.map((one) => make("li", {}, typeof one === "object" ? Object.entries(one).map(([key, value]) => key + ": " + (typeof value === "object" ? JSON.stringify(value) : value)).join("; ") : String(one))))));
    byId("compile").replaceChildren(pairs(plain), ...items);
  }
  function actions(file) {
    const entries = {file: file.path};
    const cell = make("td", {class: "look-at"});
    for (const [text, path] of views[file.kind]) {
      const button = make("button", {type: "button"}, text);
      button.addEventListener("click", () => { show(path, entries, file.path + ": " + text.toLowerCase()); byId("shown").scrollIntoView({block: "start"}); });
      cell.append(button, " ");
    }
    if (file.kind === "compile") {
      const button = make("button", {type: "button"}, "Show");
      button.addEventListener("click", () => { show("/api/profiler/compile", entries, file.path); byId("shown").scrollIntoView({block: "start"}); });
      cell.append(button);
    }
    return cell;
  }
  function fill(select, traces, first) {
    const old = select.value || (traces[first] || {path: ""}).path;
    select.replaceChildren(...traces.map((file) => make("option", {value: file.path}, file.path)));
    if (traces.some((file) => file.path === old)) select.value = old;
  }
  /** What is wrong with a file, which has its name beside it already. */
  const troubleOf = (file) => (file.trouble || "").split(file.path + ": ").pop();
  function render() {
    const text = search.value.trim().toLowerCase();
    const parts = [];
    for (const [kind, title] of Object.entries(titles)) {
      const mine = files.filter((file) => file.kind === kind && (text === "" || (file.path + " " + (file.about || "")).toLowerCase().includes(text)));
      if (!mine.length) continue;
      parts.push(make("section", {}, make("h2", {}, title), ...(choosers[kind] ? [choosers[kind].box] : []), make("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": title}, make("table", {class: "stacks"},
        make("thead", {}, make("tr", {}, ...["name", "look", "what", "changed", "size"].map((name) => make("th", {scope: "col", ...(name === "size" ? {class: "number"} : {})}, name)))),
        make("tbody", {}, ...mine.slice(0, 500).map((file) => make("tr", {}, make("th", {scope: "row"}, file.path), file.trouble ? make("td") : actions(file), make("td", {"data-title": "what"}, file.about || troubleOf(file)),
          make("td", {class: "when", "data-title": "changed"}, file.modified_utc.replace("T", " ").replace("Z", "")), make("td", {class: "number", "data-title": "size"}, bytes(file.bytes)))))))));
    }
    if (!parts.length) parts.push(make("p", {class: "empty"}, text ? "Nothing here has this name." : "Nothing here yet: no run, calibration, trace or gate store. What appears in the folder appears here."));
    lists.replaceChildren(...parts);
    for (const [kind, one] of Object.entries(choosers)) one.fill(files.filter((file) => file.kind === kind && !file.trouble));
  }
  /** A file that is shown and has changed is shown anew. */
  function refresh() {
    if (shown && stampOf(shown.entries) !== shown.stamp) show(shown.path, shown.entries, shown.title);
  }
  async function look() {
    try {
      const response = await fetch("/api/runs", {cache: "no-cache"});
      if (!response.ok) throw new Error(response.statusText);
      const now = await response.text();
      if (now !== known) {
        files = JSON.parse(now).files;
        known = now;
        render();
        refresh();
        root.dataset.looks = Number(root.dataset.looks || 0) + 1;
      }
      status.textContent = "";
    } catch { status.textContent = "The server does not answer: it was stopped, or cannot be reached."; }
  }
  search.addEventListener("input", render);
  byId("close").addEventListener("click", () => { shown = null; byId("shown").hidden = true; frame.src = "about:blank"; location.hash = ""; });
  look().then(() => {
    const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const {show: path, ...entries} = wanted;
    if (path && path.startsWith("/") && !path.startsWith("//")) show(path, entries, Object.values(entries).join(", "));
    root.dataset.charts = 1;
  });
  setInterval(() => { if (!document.hidden) look(); }, 2000);
}
