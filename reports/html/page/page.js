// SPDX-License-Identifier: Apache-2.0
// What all pages share: a record of errors, numbers as text, elements made without markup, the theme.
"use strict";
const root = document.documentElement;
const byId = (id) => document.getElementById(id);
function trouble(text) {
  root.dataset.errors = root.dataset.errors ? root.dataset.errors + " | " + text : String(text);
}
addEventListener("error", (event) => { if (event.message) trouble(event.message); });
addEventListener("unhandledrejection", (event) => trouble(event.reason));
addEventListener("securitypolicyviolation", (event) => trouble("blocked by policy: " + event.violatedDirective + " " + event.blockedURI));
for (const name of ["error", "warn"]) {
  const original = console[name].bind(console);
  console[name] = (...args) => { trouble(args.join(" ")); original(...args); };
}

/** An element with attributes and children; a string child becomes text, never markup. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
/** Three significant digits without an exponent. */
function digits(value, count = 3) {
  const whole = Math.floor(Math.log10(Math.abs(value) || 1)) + 1;
  return value.toFixed(Math.max(0, Math.min(count - whole, 6)));
}
/** In the first of the steps, [factor, prefix], that the value fills. */
function scaled(value, unit, steps, count) {
  if (!Number.isFinite(value)) return "";
  const [factor, prefix] = steps.find(([size]) => Math.abs(value) >= size * 0.9995) || steps.at(-1);
  return digits(value / factor, count) + " " + prefix + unit;
}
const withPrefix = (value, unit, count = 3) =>
  scaled(value, unit, [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]], count);
const seconds = (value, count = 3) => scaled(value, "s", [[1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]], count);
function bytes(value) {
  if (!Number.isFinite(value)) return "";
  let power = 0;
  while (value >= 1023.5 && power < 4) { value /= 1024; ++power; }
  return (value < 9.95 ? String(Number(value.toFixed(1))) : String(Math.round(value))) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][power];
}
function percent(value) {
  if (!Number.isFinite(value)) return "";
  return (value >= 0.0995 ? (100 * value).toFixed(0) : value === 0 ? "0" : value < 0.001 ? "<0.1" : (100 * value).toFixed(1)) + " %";
}
const count = (value) => Number.isFinite(value) ? value.toLocaleString("en-US").replace(/,/g, "\u2009") : "";
const pairs = (list) => make("dl", {class: "pairs"},
  ...list.map(([name, text, wide]) => make("div", wide ? {class: "wide"} : {}, make("dt", {}, name), make("dd", {}, text))));
/** What of a gzip member stands in an element as base64. */
const unzipped = async (element) => new Uint8Array(await new Response(new Blob([Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0))])
  .stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
const jsonOf = async (id) => JSON.parse(byId(id).type === "application/json" ? byId(id).textContent : new TextDecoder().decode(await unzipped(byId(id))));
/** The tooltip beside a place of the window: a head and further lines, texts or elements. */
function showTip(x, y, head, lines) {
  const tip = byId("tip");
  tip.replaceChildren(typeof head === "string" ? make("div", {class: "head"}, head) : head, ...lines.map((line) => make("p", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(10, Math.min(x + 14, innerWidth - box.width - 10)) + "px";
  tip.style.top = Math.max(10, y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16) + "px";
}
/** What keys do while an element has the focus; those with Ctrl, Alt and the like are the browser's. */
function onKeys(element, actionOf) {
  element.addEventListener("keydown", (event) => {
    const act = actionOf(event.key);
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
}
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
/** How many rows of a table are shown, and the button for more: so many at once. */
function tellShown(shown, all) { byId("shown").textContent = (shown === all ? "" : count(shown) + " of ") + count(all) + " points"; }
function offerMore(left, step) {
  byId("more").hidden = left === 0;
  byId("more").textContent = "Show " + count(Math.min(left, step)) + " more of " + count(left);
}
/** Rows of a table of names, 20 unless all are asked for: the name to click on, its numbers, the first of which phones show. */
function fillNames(rows) {
  const made = rows.map(({name, short, kind, open, numbers}) => {
    const button = make("button", {type: "button", title: name}, short || name);
    button.addEventListener("click", open);
    return make("tr", {}, make("th", {scope: "row"}, button), kind === undefined ? null : make("td", {class: "detail"}, kind),
      ...numbers.map((text, i) => make("td", {class: i ? "number detail" : "number"}, text)));
  });
  const list = byId("names"), first = 20;
  list.replaceChildren(...made.slice(0, first));
  if (made.length <= first) return;
  const more = make("button", {type: "button"}, "Show " + count(made.length - first) + " more");
  more.addEventListener("click", () => list.replaceChildren(...made));
  list.append(make("tr", {}, make("td", {colspan: "5"}, more)));
}
/** Finds a moment after the last letter, unless stopped by what this returns; "/" leads to the search. */
function onSearch(find) {
  const search = byId("search");
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(find, 120); });
  addEventListener("keydown", (event) => { if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); } });
  return () => clearTimeout(timer);
}
/** Leaves out details of a table that is too wide for its box, the last column first; its caption names them. On paper there is all. */
function fitTable(box, all) {
  const table = box.querySelector("table.stacks"), heads = table && table.tHead ? [...table.tHead.rows[0]?.cells || []] : [];
  if (!heads.length) return;
  const rows = [...table.rows].filter((row) => row.cells.length === heads.length), left_out = [];
  const show = (i, shown) => { for (const row of rows) row.cells[i].hidden = !shown; };
  heads.forEach((head, i) => show(i, true));
  table.caption.querySelector("small")?.remove();
  for (let i = heads.length - 1; !all && i > 0 && box.scrollWidth > box.clientWidth; --i) {
    if (!rows[1]?.cells[i].classList.contains("detail")) continue;
    show(i, false);
    left_out.unshift(heads[i].textContent);
  }
  if (left_out.length) table.caption.append(make("small", {}, " Left out, for the page is narrow: " + left_out.join(", ") + "."));
}
const boxes = [...document.querySelectorAll(".scroll")];
// In the next frame: what an observer resizes itself would be an error of the page.
const widths = new ResizeObserver((changes) => requestAnimationFrame(() => {
  for (const {target, contentRect} of changes) {
    if (target.dataset.width === String(contentRect.width)) continue;  // its height alone
    target.dataset.width = contentRect.width;
    fitTable(target);
  }
}));
for (const box of boxes) widths.observe(box);
addEventListener("beforeprint", () => { for (const box of boxes) fitTable(box, true); });
addEventListener("afterprint", () => { for (const box of boxes) fitTable(box); });

// Theme: the system's, unless chosen; "#theme=dark" in the address chooses as well.
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let theme = (/theme=(dark|light)/.exec(location.hash) || [])[1] || "auto";
try { if (theme === "auto") theme = localStorage.getItem("gpubench-theme") || "auto"; } catch { /* storage may be forbidden for files */ }
const isDark = () => theme === "dark" || (theme !== "light" && systemDark.matches);
const themeListeners = [];
function applyTheme() {
  root.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").textContent = "Theme: " + theme;
  for (const listener of themeListeners) listener();
}
byId("theme").addEventListener("click", () => {
  theme = {auto: "light", light: "dark", dark: "auto"}[theme] || "auto";
  try { localStorage.setItem("gpubench-theme", theme); } catch { /* the choice lasts as long as the page */ }
  applyTheme();
});
systemDark.addEventListener("change", applyTheme);
applyTheme();
