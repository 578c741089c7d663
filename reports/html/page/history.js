// SPDX-License-Identifier: Apache-2.0
// The page of a history: a line a point, its levels and what changed on demand. Rows are made a page at a time.
"use strict";
(async () => {
  const data = await jsonOf("data");
  const octets = Uint8Array.from(atob(data.values), (letter) => letter.charCodeAt(0));
  const {entries, columns, width} = data, per = data.entries_a_column;
  const points = data.points.map(([name, device, clock, low, high, first, last], id) => ({id, name, device: data.devices[device], clock, low, high, first, last, changes: []}));
  const changes = data.changes.map((change) => ({...change, point: points[change.point]}));
  for (const change of changes) change.point.changes.unshift(change);  // the oldest first
  const severalDevices = data.devices.length > 1, several = new Set(points.map((point) => point.clock)).size > 1;
  const nameOf = (point) => point.name + (severalDevices ? "@" + point.device : "");
  const encoded = (text) => encodeURIComponent(text).replace(/%(2F|3A|2C|3D|40)/g, decodeURIComponent);
  const addressOf = (point) => "#" + encoded(nameOf(point));
  const addressOfChange = (change) => addressOf(change.point) + "@entry:" + entries[change.place].number;

  const ratioText = (ratio) => ratio >= 1 ? ratio.toFixed(ratio < 10 ? 3 : 1).replace(/(\.\d\d)0$/, "$1") + "x slower" : (1 / ratio).toFixed(1 / ratio < 10 ? 3 : 1).replace(/(\.\d\d)0$/, "$1") + "x faster";
  const look = (ratio) => ratio >= 1 ? "slower" : "faster";
  const entryText = (entry) => "entry " + entry.number + (entry.label ? " (" + (entry.commit ? entry.label.slice(0, 10) : entry.label) + ")" : "");
  const dayOf = (entry) => entry.added.slice(0, 10);

  const svgNamespace = "http://www.w3.org/2000/svg";
  function shape(tag, attributes) {
    const element = document.createElementNS(svgNamespace, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  /** The value of a column as a part of the range, 0 at the bottom; absent without one. */
  function valueAt(point, column) {
    const octet = octets[point.id * columns + column];
    return octet ? (octet - 1) / 254 : undefined;
  }
  const secondsAt = (point, part) => Math.exp(point.low + part * (point.high - point.low));
  const partOf = (point, time) => point.high > point.low ? (Math.log(time) - point.low) / (point.high - point.low) : 0.5;

  /** The values as a line, over x from 0 to `across` and y from `height` up; where entries lack the point the line breaks. */
  function path(point, across, height) {
    let d = "", drawn = false;
    for (let column = 0; column < columns; ++column) {
      const part = valueAt(point, column);
      if (part === undefined) { drawn = false; continue; }
      const x = columns > 1 ? across * column / (columns - 1) : across / 2, y = height - (point.high > point.low ? part : 0.5) * height;
      d += (drawn ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
      if (!drawn) d += "h.01";  // a lone value is a dot
      drawn = true;
    }
    return d;
  }
  const columnOf = (place) => Math.min(columns - 1, Math.floor(place / per));
  const xOf = (place, across) => columns > 1 ? across * columnOf(place) / (columns - 1) : across / 2;
  function sparkline(point) {
    const svg = shape("svg", {viewBox: "-3 -3 126 30", class: "spark", role: "img", "aria-label": point.changes.length ? point.changes.map((change) => ratioText(change.ratio)).join(", ") : "no change"});
    svg.append(shape("path", {d: path(point, 120, 24)}));
    for (const change of point.changes)
      svg.append(shape("circle", {class: look(change.ratio), cx: xOf(change.until ?? change.place, 120).toFixed(1), cy: (24 - Math.min(1, Math.max(0, partOf(point, change.after))) * 24).toFixed(1), r: 2.5}));
    return svg;
  }

  function commitLine(commit) {
    const short = commit.hash.slice(0, 10);
    return make("li", {}, data.commit_address ? make("a", {href: data.commit_address + commit.hash, rel: "noopener"}, short) : make("code", {}, short),
      " " + commit.subject + " (" + commit.author + ", " + commit.date + ")");
  }
  function changeText(change) {
    const at = entries[change.place], until = change.until === undefined ? "" : ", a drift until " + entryText(entries[change.until]);
    const parts = [make("a", {href: addressOfChange(change), class: look(change.ratio)}, ratioText(change.ratio)),
      " at " + entryText(at) + " of " + dayOf(at) + until + (change.once ? ", seen once so far" : "") + ": " + seconds(change.before, 4) + " to " + seconds(change.after, 4) + "; by chance " + (change.p < 1e-6 ? "below 1 in a million" : change.p.toPrecision(1)) +
      (change.code === "not known" ? "" : "; code " + (change.code === "same" ? "is the same" : change.code)) + "."];
    return parts;
  }
  function changeItem(change) {
    const item = make("li", {id: "change-" + change.point.id + "-" + entries[change.place].number}, ...changeText(change));
    if (change.commits) {
      const list = make("ul", {}, ...change.commits.map(commitLine));
      if (change.more_commits) list.append(make("li", {}, "and more"));
      item.append(make("p", {class: "words"}, "Commits since " + entryText(entries[change.place_before]) + ":"), list);
    }
    return item;
  }

  /** The large picture: values, levels, and which entry is under the pointer. */
  function picture(point) {
    const across = 1000, height = 200;
    const svg = shape("svg", {viewBox: "-8 -8 1016 216", preserveAspectRatio: "none", class: "levels", role: "img", "aria-label": "Time of " + point.name + " over the entries"});
    svg.append(shape("path", {d: path(point, across, height)}));
    let from = 0, level = point.first;
    const y = (time) => (height - Math.min(1, Math.max(0, partOf(point, time))) * height).toFixed(1);
    for (const change of [...point.changes, {place: entries.length - 1, before: point.last}]) {
      svg.append(shape("line", {class: "level", x1: xOf(from, across), x2: xOf(change.place, across), y1: y(change.before ?? level), y2: y(change.before ?? level)}));
      if (change.after === undefined) break;
      const end = change.until ?? change.place;
      svg.append(shape("line", {class: "level " + look(change.ratio), x1: xOf(change.place, across), x2: xOf(end, across), y1: y(change.before), y2: y(change.after)}));
      from = end;
    }
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const column = Math.round(((event.clientX - box.left) / box.width * 1016 - 8) / across * (columns - 1));
      const part = column >= 0 && column < columns ? valueAt(point, column) : undefined;
      if (part === undefined) { byId("tip").hidden = true; return; }
      const entry = entries[Math.min(entries.length - 1, column * per)];
      showTip(event.clientX, event.clientY, seconds(secondsAt(point, part), 4), [entryText(entry) + (per > 1 ? " and " + (per - 1) + " more" : "") + ", " + dayOf(entry), ...(entry.commit ? [entry.commit.subject] : [])]);
    });
    svg.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
    const axis = make("div", {class: "axis"}, make("span", {}, seconds(Math.exp(point.high))), make("span", {}, seconds(Math.exp(point.low))));
    const along = make("div", {class: "axis across"}, make("span", {}, dayOf(entries[0])), make("span", {}, dayOf(entries.at(-1))));
    return make("div", {class: "live"}, axis, svg, along);
  }

  // The table.
  const body = byId("points").tBodies[0], step = 25;
  let visible = [], made = 0, opened = null;
  function detail(point) {
    const list = point.changes.length ? make("ul", {class: "findings"}, ...[...point.changes].reverse().map(changeItem)) : make("p", {class: "empty"}, "No change was found.");
    return make("tr", {class: "opened"}, make("td", {colspan: "5"}, picture(point), list));
  }
  function rowOf(point) {
    const link = make("a", {href: addressOf(point)}, ...point.name.split(/(?<=\/)/).flatMap((part) => [part, make("wbr")]));
    const head = make("th", {scope: "row"}, link, severalDevices || several ? make("small", {}, [severalDevices ? point.device : "", several ? point.clock + " time" : ""].filter(Boolean).join(", ")) : null);
    const whole = point.last / point.first;
    const row = make("tr", {id: "p" + point.id}, head, make("td", {"data-title": "over the entries"}, sparkline(point)),
      make("td", {class: "number", "data-title": "time now"}, seconds(point.last, 4)),
      make("td", {class: "number", "data-title": "since the first"}, point.changes.length ? make("span", {class: look(whole)}, ratioText(whole)) : "same"),
      make("td", {class: "number", "data-title": "changes"}, String(point.changes.length)));
    return row;
  }
  function extend(to) {
    for (; made < Math.min(to, visible.length); ++made) body.append(rowOf(visible[made]));
    offerMore(visible.length - made, 20 * step);
  }
  const kinds = {all: () => true, changed: (point) => point.changes.length > 0, slower: (point) => point.last > point.first && point.changes.length > 0,
    faster: (point) => point.last < point.first && point.changes.length > 0, drift: (point) => point.changes.some((change) => change.until !== undefined)};
  const size = (point) => point.changes.length ? Math.abs(Math.log(point.last / point.first)) : -1;
  const newest = (point) => point.changes.length ? point.changes.at(-1).place : -1;
  const orders = {size: (a, b) => size(b) - size(a), newest: (a, b) => newest(b) - newest(a) || size(b) - size(a), slowest: (a, b) => b.last - a.last,
    name: (a, b) => a.name.localeCompare(b.name, "en", {numeric: true})};
  function passes(name, device) {
    const words = wordsOf(byId("search").value);
    const text = (name + " " + device).toLowerCase();
    return words.every((word) => text.includes(word));
  }
  function refresh() {
    const least = Math.log1p((Number(byId("least").value) || 0) / 100);
    visible = points.filter((point) => point.first > 0 && kinds[byId("kind").value](point) && (least === 0 || size(point) >= least) && passes(point.name, point.device)).sort(orders[byId("order").value]);
    body.textContent = "";
    made = 0;
    tellShown(visible.length, points.length);
    opened = null;
    extend(step);
  }
  for (const id of ["kind", "order", "least"]) byId(id).addEventListener("input", refresh);
  onSearch(refresh);
  byId("more").addEventListener("click", () => extend(made + 20 * step));

  // What changed, the newest first.
  const news = byId("changes");
  let told = 0;
  const tellMore = byId("more-changes");
  function tell(to) {
    for (; told < Math.min(to, changes.length); ++told) {
      const change = changes[told];
      news.append(make("li", {}, ...changeText(change).toSpliced(1, 0, " ", make("a", {href: addressOf(change.point)}, nameOf(change.point)))));
    }
    tellMore.hidden = told === changes.length;
    tellMore.textContent = "Show " + count(changes.length - told) + " more";
  }
  tellMore.addEventListener("click", () => tell(told + 200));
  tell(8);

  function close() {
    if (opened) opened.remove();
    opened = null;
  }
  /** "#name" opens a point, "#name@entry:9" a change of it: the same in every page that has such a point. */
  function showLinked() {
    let address = "";
    try { address = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const [, name, number] = /^(.*?)(?:@entry:(\d+))?$/.exec(address);
    const point = points.find((each) => nameOf(each) === name);
    close();
    if (!point) return;
    if (!visible.includes(point)) { byId("search").value = ""; byId("kind").value = "all"; byId("least").value = "0"; refresh(); }
    extend(visible.indexOf(point) + 1);
    opened = detail(point);
    byId("p" + point.id).after(opened);
    const change = number && byId("change-" + point.id + "-" + number);
    if (change) change.classList.add("target");
    (change || byId("p" + point.id)).scrollIntoView({block: change ? "center" : "start"});
  }
  body.addEventListener("click", (event) => {
    const link = event.target.closest("th a");
    if (!link || link.hash !== location.hash) return;  // once more on an open one closes it
    event.preventDefault();
    history.replaceState(null, "", location.pathname + location.search);
    close();
  });
  addEventListener("hashchange", showLinked);
  if (changes.length) byId("kind").value = "changed";
  refresh();
  showLinked();
  root.dataset.ready = "yes";
})();
