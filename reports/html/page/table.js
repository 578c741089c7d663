// SPDX-License-Identifier: Apache-2.0
// The table of points: search, sort, and what is known about each on demand. Rows are made a page at a time.
"use strict";
ready.then(() => {
  const step = 25;
  const severalDevices = report.devices.length > 1;
  const nameOf = (row) => row.name + (severalDevices ? "@" + row.device : "");
  const addressOf = (row) => "#" + encodeURIComponent(nameOf(row)).replace(/%(2F|3A|2C|3D|40)/g, decodeURIComponent);
  let opened = null;  // the id of the point in the panel
  const number = (title, key, text) => ({title, key, text, numeric: true});
  const columns = [
    {title: "point", key: (row) => row.name},
    ...(severalDevices ? [{title: "device", key: (row) => row.device, text: (row) => row.device}] : []),
    {title: "regime", key: (row) => row.regime || row.status, cell: (row) =>
      row.regime ? make("span", {class: "regime"}, sign(row.regime), row.regime) : make("span", {class: "regime"}, row.status)},
    {title: "limiter", key: (row) => row.limiter || "", text: (row) => row.limiter || ""},
    number("of ceiling", (row) => row.achieved),
    number("confidence", (row) => row.confidence, (row) => confidence(row.confidence)),
    number("time", (row) => row.seconds, (row) => seconds(row.seconds)),
    number("\u00b1 95 %", spread, (row) => {
      if (row.course) return row.course_word;
      const part = spread(row);
      return part === undefined ? "" : percent(part);
    }),
    ...(points.some((row) => row.sustained) ? [number("at first", (row) => row.at_first, (row) => seconds(row.at_first)), number("sustained", (row) => row.sustained, (row) => seconds(row.sustained))] : []),
    ...(points.some((row) => row.as_called) ? [number("as called", (row) => row.as_called, (row) => seconds(row.as_called))] : []),
    ...(points.some((row) => row.on_device && row.clock !== "device") ? [number("on device", (row) => row.on_device, (row) => seconds(row.on_device))] : []),
    number("bandwidth", (row) => row.bytes_per_second, (row) => withPrefix(row.bytes_per_second, "B/s")),
    number("speed", (row) => row.flops_per_second, (row) => withPrefix(row.flops_per_second, "FLOP/s")),
    ...(points.some((row) => row.clock_hz) ? [{title: "clock", key: (row) => row.clock_hz, numeric: true, cell: (row) =>
      make("span", row.held ? {class: "held"} : {}, withPrefix(row.clock_hz, "Hz"), row.held ? make("small", {}, row.held) : null)}] : []),
    number("working set", (row) => row.working_set, (row) => bytes(row.working_set)),
  ];
  const main = new Set(["device", "regime", "limiter", "of ceiling", "time"]);  // on a phone
  // A column that says nothing of any point has no place.
  columns.splice(1, columns.length, ...columns.slice(1).filter((column) => points.some((row) => ![undefined, null, ""].includes(column.key(row)))));
  const reach = columns.find((column) => column.title === "of ceiling");
  if (reach) reach.cell = (row) => {
    if (row.achieved === undefined) return "";
    const fill = make("i", {class: regimeNames.includes(row.regime) ? row.regime : "unknown"});
    fill.style.width = Math.min(100, 100 * row.achieved) + "%";
    const [reached, what] = /^(\S+ %) (.*)$/.exec(row.of_ceiling || "")?.slice(1) || [percent(row.achieved), ""];
    return make("span", {}, make("span", {class: "meter", "aria-hidden": "true"}, fill), reached, make("small", {}, what));
  };

  const table = byId("points-table");
  const body = table.tBodies[0];
  let sorted = null;
  let ascending = true;
  let visible = [];
  let made = 0;
  /** What the row shows, made when the first search asks for it. */
  const haystack = [];
  const shownText = (row) => haystack[row.id] ??= [row.name, row.regime || row.status, row.of_ceiling, row.held, row.reason,
    ...columns.map((column) => column.text && row.status === "timed" ? column.text(row) : ""),
    withPrefix(row.clock_hz, "Hz")].join(" ").toLowerCase();

  const heads = columns.map((column) => {
    const button = make("button", {type: "button"}, column.title);
    const head = make("th", {scope: "col", "aria-sort": "none", ...(column.numeric ? {class: "number"} : {})}, button);
    button.addEventListener("click", () => {
      // Numbers start with the largest: that is what one looks for.
      ascending = sorted === column ? !ascending : !column.numeric;
      sorted = column;
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      refresh();
    });
    return head;
  });
  table.tHead.append(make("tr", {}, ...heads));

  function rowOf(row) {
    const marks = [row.limiter === "power" || row.course ? "marked" : "", row.id === opened ? "target" : ""].filter(Boolean).join(" ");
    const tr = make("tr", {id: "p" + row.id, ...(marks ? {class: marks} : {})});
    tr.append(make("th", {scope: "row"}, make("a", {href: addressOf(row)}, ...row.name.split(/(?<=\/)/).flatMap((part) => [part, make("wbr")]))));
    const failed = row.status !== "timed";
    for (const column of columns.slice(1)) {
      tr.append(make("td", {class: (column.numeric ? "number" : "") + (main.has(column.title) ? "" : " detail"), "data-title": column.title}, column.cell ? column.cell(row) : column.text(row)));
      if (failed && column.title === "regime") {
        tr.append(make("td", {class: "why", colspan: String(Math.max(1, columns.length - 1 - columns.indexOf(column)))}, row.reason || ""));
        break;
      }
    }
    return tr;
  }
  function extend(to) {
    const part = document.createDocumentFragment();
    for (; made < Math.min(to, visible.length); ++made) part.append(rowOf(visible[made]));
    body.append(part);
    offerMore(visible.length - made, 20 * step);
    fitTable(table.parentElement);
  }
  function refresh() {
    const words = wordsOf(byId("search").value);
    const operation = only.value;
    visible = points.filter((row) => (!row.regime || shownRegimes.has(row.regime)) && (!operation || row.line === operation) && words.every((word) => shownText(row).includes(word)));
    if (sorted) {
      const keys = new Map(visible.map((row) => [row, sorted.key(row)]));
      const turn = ascending ? 1 : -1;
      const missing = (key) => key === undefined || key === null || key === "";
      visible.sort((a, b) => {
        const x = keys.get(a), y = keys.get(b);
        if (missing(x) || missing(y)) return missing(x) - missing(y);
        return turn * (typeof x === "string" ? x.localeCompare(y, "en", {numeric: true}) : x - y);
      });
    }
    body.textContent = "";
    made = 0;
    tellShown(visible.length, points.length);
    extend(step);
  }
  const only = byId("only");
  only.append(make("option", {value: ""}, "all"), ...[...new Set(points.map((row) => row.line))].map((name) => make("option", {value: name}, name)));
  only.addEventListener("change", refresh);
  let waiting = 0;
  byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 80); });
  byId("more").addEventListener("click", () => extend(made + 20 * step));
  let unfolded = [];  // paper has no clicks
  addEventListener("beforeprint", () => {
    extend(2000);
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const each of unfolded) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of unfolded) each.open = false; });
  regimeListeners.push(refresh);
  refresh();

  // The panel: all that is known about one point, at an address of its own. The table stays as it is.
  const panel = byId("panel");
  let cameFrom = null;  // takes the focus back
  function fillPanel(row) {
    byId("panel-title").textContent = row.name;
    const about = make("div", {class: "know"},
      make("p", {class: "regime"}, sign(row.regime), [row.regime || row.status, row.limiter].filter(Boolean).join(", ")),
      row.evidence || row.reason ? make("p", {}, row.evidence || row.reason) : null, pairs(facts(row)));
    byId("panel-body").replaceChildren(about);
    byId("panel-body").scrollTop = 0;
    if (window.drawSamples) drawSamples(about, row);
    const place = visible.indexOf(row);
    byId("panel-before").disabled = place <= 0;
    byId("panel-after").disabled = place < 0 || place + 1 >= visible.length;
  }
  function mark() {
    for (const old of body.querySelectorAll(".target")) old.classList.remove("target");
    const tr = opened === null ? null : byId("p" + opened);
    if (tr) tr.classList.add("target");
  }
  function show(row) {
    if (panel.hidden && document.activeElement !== document.body) cameFrom = document.activeElement;
    opened = row.id;
    panel.hidden = false;
    fillPanel(row);
    mark();
    byId("panel-title").focus({preventScroll: true});
  }
  function hide() {
    if (panel.hidden) return;
    panel.hidden = true;
    const back = cameFrom && cameFrom.isConnected ? cameFrom : byId("p" + opened)?.querySelector("a");
    opened = cameFrom = null;
    mark();
    if (back) back.focus({preventScroll: true});
  }
  /** Opens a point as a link to it would: Back closes it again. */
  window.showPoint = (id) => {
    if (!points[id]) return;
    if (location.hash === addressOf(points[id])) show(points[id]);
    else location.hash = addressOf(points[id]);
  };
  function close() {
    history.replaceState(null, "", location.pathname + location.search);
    hide();
  }
  function step_by(by) {
    const row = visible[visible.findIndex((each) => each.id === opened) + by];
    if (!row) return;
    history.replaceState(null, "", addressOf(row));
    show(row);
  }
  byId("panel-close").addEventListener("click", close);
  byId("panel-before").addEventListener("click", () => step_by(-1));
  byId("panel-after").addEventListener("click", () => step_by(1));
  addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) close(); });

  // "#saxpy/n:1024": the same in every run that has such a point. "#p3" is the point at a place.
  const places = new Map(points.map((row) => [nameOf(row), row.id]).reverse());
  window.showLinked = () => {
    const numbered = /^#p(\d+)$/.exec(location.hash);
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { /* not an address of ours */ }
    const row = points[numbered ? Number(numbered[1]) : places.get(name)];
    if (row) show(row); else hide();
  };
  addEventListener("hashchange", showLinked);
  addEventListener("popstate", showLinked);
});
