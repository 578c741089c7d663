# SPDX-License-Identifier: Apache-2.0
"""Opens the report of synthetic runs in a real browser. Usage: browser_test.py PAGE_WRITER [SCREENSHOT_FOLDER [TEST...]]

Exit code 77: skipped, because there is no browser."""
import base64
import concurrent.futures
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import browser as headless

WIDTHS = (390, 1000, 1440)
REAL_RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "results", "h200", "run.json")
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def quiet(page, what):
    errors = page.evaluate("document.documentElement.dataset.errors")
    expect(f"{what}: no errors in the page, got {errors}", not errors)
    expect(f"{what}: no errors in the browser, got {page.complaints()}", not page.complaints())


# Tables and other boxes that one would have to scroll sideways.
TOO_WIDE = """[...document.querySelectorAll('.scroll')].filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.getAttribute('aria-label') + ': ' + box.scrollWidth)"""


def fits(page, what):
    spare = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(f"{what}: nothing sticks out sideways, {spare} px do", spare <= 0)
    found = page.evaluate(TOO_WIDE)
    expect(f"{what}: no table is cut off, not {found}", not found)


def narrow_tables(page, what, where):
    expect(f"{what}: tables of few columns do not stretch over the page", page.evaluate(
        f"[...document.querySelectorAll('{where}')].filter((e) => e.querySelectorAll('thead th').length < 6).every((e) => e.offsetWidth < 900)"))


def marks(page, chart, selector):
    return page.evaluate(f"document.querySelectorAll('#chart-{chart} {selector}').length")


# Texts beside the drawings: those that lie on one another by more than 2 px, and those that a box without a scroll bar cuts off.
TEXTS = """(() => { const found = [], boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement; if (!node.data.trim() || e.closest('svg,script,style,option,[hidden],.skip,caption,#said') || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    for (const r of range.getClientRects()) { if (r.width < 2 || r.height < 2) continue;
      let clipped = false, scrolls = false, unseen = false;
      for (let p = e; p && p !== document.body; p = p.parentElement) { const s = getComputedStyle(p), c = p.getBoundingClientRect();
        if (s.clipPath.startsWith('inset(50%')) unseen = true;  // for screen readers alone
        if (s.position === 'fixed' || s.position === 'sticky') scrolls = true;
        if (s.overflowX === 'auto' || s.overflowX === 'scroll' || s.overflowY === 'auto' || s.overflowY === 'scroll') { scrolls = true; break; }
        if (['hidden', 'clip'].includes(s.overflowX) && s.textOverflow !== 'ellipsis' && (r.right > c.right + 1 || r.left < c.left - 1)) clipped = true; }
      if (unseen) continue;
      if (clipped) found.push('cut off: ' + node.data.trim().slice(0, 60));
      if (!scrolls && (r.right > innerWidth + 1 || r.left < -1)) found.push('outside: ' + node.data.trim().slice(0, 60));
      if (!scrolls) boxes.push([r.left, r.top + 0.15 * r.height, r.right, r.bottom - 0.15 * r.height, node.data.trim().slice(0, 40), e]); } }
  boxes.sort((a, b) => a[1] - b[1]);
  boxes.forEach((a, i) => { for (let k = i + 1; k < boxes.length && boxes[k][1] < a[3] - 2; k++) { const b = boxes[k];
    if (Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 2 && Math.min(a[3], b[3]) - b[1] > 2 && a[5] !== b[5]) found.push(a[4] + ' / ' + b[4]); } });
  return found.slice(0, 5); })()"""

# Page, width, theme or paper.
TEN_PAGES = (("single", 390, "light"), ("single", 1440, "dark"), ("one", 390, "dark"), ("one", 1440, "light"), ("one", 794, "print"), ("large", 390, "light"),
             ("large", 1400, "dark"), ("runs", 390, "dark"), ("five", 1280, "light"), ("five", 794, "print"))


def test_ten_pages(page, folder, pictures):
    """One, 200 and 10 000 points, one, two and five runs; wide, narrow, dark and on paper."""
    for kind, width, look in TEN_PAGES:
        what, dark = f"{kind}, {width} px, {look}", look == "dark"
        page.open(f"{folder}/{kind}.html", width, dark=dark)
        if look == "print":
            page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "light"}])
        quiet(page, what)
        fits(page, what)
        expect(f"{what}: the theme follows the system", page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light"))
        expect(f"{what}: charts fit", page.evaluate(
            "[...document.querySelectorAll('.canvas :is(svg, canvas)')].every(s => s.getBoundingClientRect().right <= innerWidth + 1)"))
        for texts, where in ((headless.OVERLAPS, "charts"), (TEXTS, "page")):
            found = page.evaluate(texts)
            expect(f"{what}: texts of the {where} apart and whole, not {found}", not found)
        if kind == "one":
            all_of_one(page, what)
            tables_of_one(page, width)
        if pictures:
            page.screenshot(f"{pictures}/{kind}-{width}-{look}.png")
        page.call("Emulation.setEmulatedMedia", media="", features=[])


def all_of_one(page, what):
    expect(f"{what}: ten charts", page.evaluate("document.documentElement.dataset.charts") == "10")
    for chart, selector, least in (("map", ".mark-rect.role-mark path", 101), ("overview", ".mark-symbol.role-mark path", 301), ("roofline", ".mark-symbol.role-mark path", 101),
                                   ("roofline", ".mark-line.role-mark path", 9), ("strip", ".mark-rect.role-mark path", 101), ("time", ".mark-symbol.role-mark path", 17),
                                   ("shares", ".mark-rect.role-mark path", 18), ("ladder", ".mark-symbol.role-mark path", 21), ("latency", ".mark-symbol.role-mark path", 11)):
        expect(f"{what}: marks of {chart}", marks(page, chart, selector) >= least)
    expect(f"{what}: four panels", marks(page, "overview", ".mark-text.role-title-text") == 4)
    expect(f"{what}: points of the intensity sweep", marks(page, "intensity", ".mark-symbol.role-mark path") == 9)


def test_table(page, folder):
    page.open(folder + "/one.html", 1000)
    rows = "document.querySelectorAll('#points-table tbody tr').length"
    expect("names break at slashes, not within words", page.evaluate("[...document.querySelectorAll('#points-table tbody th a')].every((a) => a.querySelector('wbr'))"))
    expect("a page of rows at first", page.evaluate(rows) == 25)
    page.evaluate("document.getElementById('more').click()")
    whole = page.evaluate(rows)
    expect("all rows on demand", whole == page.evaluate("points.length"))
    page.evaluate("(() => { const box = document.getElementById('search'); box.value = 'saxpy'; box.dispatchEvent(new Event('input')); })()")
    page.until(f"{rows} === 17")
    page.evaluate("[...document.querySelectorAll('#points-table thead button')].find(b => b.textContent === 'time').click()")
    names = page.evaluate("[...document.querySelectorAll('#points-table tbody th a')].map(b => b.textContent)")
    expect(f"sorted by time, the longest first: {names[:2]}", names[0] == "saxpy/268435456")
    expect("the heading says so", page.evaluate("document.querySelectorAll('th[aria-sort=descending]').length") == 1)
    page.evaluate("[...document.querySelectorAll('.regimes')[1].children].find(c => c.textContent.startsWith('overhead')).click()")
    expect("a regime can be hidden", page.evaluate(rows) < 17)
    expect("chips are alike wherever they stand", page.evaluate(
        "[...document.querySelectorAll('.chip[aria-pressed=false]')].map((c) => c.textContent.split(' ')[0]).join() === 'overhead,overhead'"))
    search = lambda text: page.evaluate(f"(() => {{ const box = document.getElementById('search'); box.value = {json.dumps(text)}; box.dispatchEvent(new Event('input')); }})()")
    search("event pairs")
    page.until(f"{rows} === 0")
    search(page.evaluate("seconds(points.find((row) => row.line === 'saxpy' && row.size === 268435456).seconds)"))
    page.until(f"{rows} > 0")
    expect("search finds what is shown, a time", "saxpy/268435456" in page.evaluate("document.querySelector('#points-table tbody').textContent"))
    quiet(page, "table")


def test_panel(page, folder):
    """All about one point, at an address of its own. Back returns; the table, its search and its filters stay."""
    page.open(folder + "/one.html", 1000, fragment="#p3")
    page.until("!!document.querySelector('#panel .samples svg')")
    samples = "document.querySelectorAll('#panel .samples svg .mark-symbol.role-mark path').length"
    expect("a link opens its point with its samples", page.evaluate(samples) == page.evaluate("samplesOf(points[3]).all"))
    expect("and a histogram", page.evaluate("document.querySelectorAll('#panel .samples svg .mark-rect.role-mark path').length") > 2)
    expect("the panel has the focus", page.evaluate("document.activeElement.id") == "panel-title")
    expect("samples are as in the run: their median", page.evaluate(
        "(() => { const list = samplesOf(points[3]).sets.samples.map((s) => s.seconds).sort((a, b) => a - b);"
        " return Math.abs(list[(list.length - 1) / 2] / points[3].seconds - 1); })()") < 1e-4)
    page.open(folder + "/one.html", 1000)
    page.evaluate("(() => { const box = document.getElementById('search'); box.value = 'saxpy'; box.dispatchEvent(new Event('input')); })()")
    page.until("document.querySelectorAll('#points-table tbody tr').length === 17")
    page.evaluate("[...document.querySelectorAll('.chip')].find(c => c.textContent.startsWith('overhead')).click()")
    table = "document.getElementById('points-table').tBodies[0].textContent + scrollY"
    page.evaluate("document.querySelector('#points').scrollIntoView({behavior: 'instant'})")
    before = page.evaluate(table)
    title, hidden = "document.getElementById('panel-title').textContent", "document.getElementById('panel').hidden"
    page.evaluate("(() => { const links = document.querySelectorAll('#points-table tbody th a'); links[2].focus(); links[2].click(); })()")
    page.until(f"!{hidden}")
    name = page.evaluate(title)
    text = page.evaluate("document.getElementById('panel').textContent")
    expect("a name opens all that is known", "event pairs around 20 executions" in text and "working set" in text)
    expect(f"the address names the point, got {page.evaluate('location.hash')}", page.evaluate(f"decodeURIComponent(location.hash.slice(1)) === {title}"))
    expect("the row is marked", page.evaluate("document.querySelector('tr.target th').textContent") == name)
    page.evaluate("document.getElementById('panel-after').click()")
    expect("the next point of the table", page.evaluate(title) == page.evaluate("document.querySelectorAll('#points-table tbody th a')[3].textContent"))
    page.evaluate("history.back()")
    page.until(hidden)
    expect("Back leaves the table as it was", page.evaluate(table) == before)
    expect("and gives the focus back", page.evaluate("document.activeElement.textContent") == name)
    page.evaluate("history.forward()")
    page.until(f"!{hidden}")
    page.evaluate("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    expect("Escape closes", page.evaluate(hidden) and page.evaluate("location.hash") == "")
    page.evaluate("location.hash = '#p0'")
    page.until(f"!{hidden}")
    counted = page.evaluate("points.find((row) => row.name === 'saxpy/268435456').id")
    page.evaluate(f"showPoint({counted})")
    page.until(f"{title} === points[{counted}].name")
    facts = page.evaluate("document.getElementById('panel-body').textContent")
    expect("the facts hold what was counted", all(part in facts for part in (
        "dram_read_bytes 6.442 GB", "occupancy 87.5 %", "moves 3.0x the bytes", "l1_bytes, l2_bytes: no counter")))
    for width in (390, 1400):
        page.open(folder + "/one.html", width, fragment="#saxpy/4096")
        page.until(f"!{hidden} && !!document.querySelector('#panel .samples svg')")
        fits(page, f"panel at {width} px")
        expect(f"panel at {width} px lies in the window", page.evaluate(
            "(() => { const box = document.getElementById('panel').getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth"
            " && box.bottom <= innerHeight && [...document.querySelectorAll('#panel *')].every((e) => e.getBoundingClientRect().right <= innerWidth + 1); })()"))
    quiet(page, "panel")


def middle_of(page, chart, which):
    """Where a mark of a chart that stands for a point is in the window, scrolled into it."""
    page.evaluate(f"document.querySelector('#chart-{chart}').scrollIntoView({{block: 'center', behavior: 'instant'}})")
    return page.evaluate(f"(() => {{ const all = [...document.querySelectorAll('#chart-{chart} :is(.mark-symbol,.mark-rect).role-mark path')]"
                         f".filter((e) => e.__data__ && e.__data__.tooltip && e.__data__.datum && e.__data__.datum.id !== undefined), mark = all.at({which});"
                         "const middle = () => { const box = mark.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 4]; };"
                         "if (middle()[1] < 60 || middle()[1] > innerHeight - 20) scrollBy({top: middle()[1] - innerHeight / 2, behavior: 'instant'}); return middle(); })()")


def hover(page, place):
    """Whether the pointer at a place brings up a tooltip. Scrolling hides it, and its event comes when the browser pleases."""
    for step in range(50):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0] + step % 2, y=place[1])
        if page.evaluate("!document.getElementById('tip').hidden"):
            return True
        time.sleep(0.05)
    return False


def test_click(page, folder):
    """A click on a point of a chart opens it, and changes no filter."""
    page.open(folder + "/one.html", 1000)
    place = middle_of(page, "map", 20)
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    page.until("!document.getElementById('panel').hidden")
    name = page.evaluate("document.getElementById('panel-title').textContent")
    line = page.evaluate(f"points.find((row) => row.name === {json.dumps(name)}).line")
    expect("the charts of one operation follow", page.evaluate("document.getElementById('line').value") == line)
    expect("no filter changes", page.evaluate("document.getElementById('only').value === '' && document.getElementById('shown').textContent.startsWith(count(points.length))"))
    quiet(page, "click")


def test_keyboard_and_readers(page, folder):
    page.open(folder + "/runs.html", 1000)
    press = lambda key, code: [page.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code) for kind in ("keyDown", "keyUp")]
    press("Tab", 9)
    expect("the first stop leads to the table", page.evaluate("document.activeElement.className") == "skip")
    expect("and is seen", page.evaluate("document.activeElement.getBoundingClientRect().left >= 0"))
    expect("every button and field has a name", page.evaluate(
        "[...document.querySelectorAll('button,select,input')].filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label')"
        " || (e.labels && e.labels.length))).length") == 0)
    expect("every chart has a text", page.evaluate(
        "[...document.querySelectorAll('.canvas')].every((e) => e.getAttribute('role') && e.getAttribute('aria-label').length > 60)"))
    expect("every heading of a table says its direction", page.evaluate(
        "[...document.querySelectorAll('.scroll th, #points-table th')].every((e) => e.scope === 'col' || e.scope === 'row')"))
    expect("every table has a caption", page.evaluate("[...document.querySelectorAll('.scroll table')].every((e) => e.caption)"))
    expect("one main, no level of headings left out", page.evaluate(
        "document.querySelectorAll('main').length === 1 && [...document.querySelectorAll('h1,h2,h3')].every((h, i, all) =>"
        " i === 0 ? h.tagName === 'H1' : Number(h.tagName[1]) - Number(all[i - 1].tagName[1]) <= 1)"))
    page.evaluate("document.querySelector('#points-table tbody th a').focus()")
    press("Enter", 13)
    page.call("Input.dispatchKeyEvent", type="char", text="\r")
    page.until("!document.getElementById('panel').hidden")
    press("Escape", 27)
    page.evaluate("document.querySelector('#chart-map .canvas').focus()")
    for key, code in (("ArrowRight", 39), ("ArrowRight", 39), ("End", 35), ("ArrowLeft", 37)):
        press(key, code)
        page.until("!document.getElementById('tip').hidden")
        name = page.evaluate("document.querySelector('#tip .head span').textContent")
        expect(f"{key} names a point: {name}", page.evaluate("document.getElementById('said').textContent").startswith(name))
        expect(f"{key}: the tooltip is in the window", page.evaluate(IN_WINDOW))
    press("Enter", 13)
    page.until(f"document.getElementById('panel-title').textContent === {json.dumps(name)}")
    press("Escape", 27)
    expect("the focus is back in the chart", page.evaluate("document.activeElement.closest('figure').id") == "chart-map")
    quiet(page, "keyboard")


def test_runs(page, folder, pictures):
    for width in (1400,):
        page.open(folder + "/runs.html", width)
        quiet(page, f"runs at {width} px")
        fits(page, f"runs at {width} px")
        expect("thirteen charts", page.evaluate("document.documentElement.dataset.charts") == "13")
        expect("points of both runs on the rooflines", marks(page, "rooflines", ".mark-symbol.role-mark path") > 200)
        expect("a change for each point", marks(page, "changes", ".mark-symbol.role-mark path") > 100)
        expect("two lines", marks(page, "times", ".mark-line.role-mark path") == 2)
        expect("both are named", page.evaluate("['old', 'new'].every((name) => document.querySelector('#runs table').textContent.includes(name))"))
        if pictures:
            page.screenshot(f"{pictures}/runs-{width}.png")
    page.open(folder + "/hostile-runs.html", 1000)
    expect("labels of runs stay text", page.evaluate("document.documentElement.dataset.hacked") is None
           and page.evaluate("document.querySelectorAll('img').length") == 0)
    quiet(page, "hostile runs")


def test_comparison(page, folder, pictures):
    """What changed comes first under the files' names, nothing else is open, and no word is broken."""
    for width in (390, 1440):
        page.open(folder + "/comparison.html", width)
        quiet(page, f"comparison at {width} px")
        fits(page, f"comparison at {width} px")
        expect("one heading", page.evaluate("[...document.querySelectorAll('h1')].map((h) => h.textContent).join()") == "new against old")
        heads = page.evaluate("[...document.querySelectorAll('#comparison table thead')][0].textContent")
        expect(f"the sides have their names, not {heads}", "oldnew" in heads)
        rows = "document.querySelectorAll('#comparison table')[0].tBodies[0].rows"
        expect("at most 20 rows are open, what got slower first", page.evaluate(f"{rows}.length") == 20 and page.evaluate(f"[...{rows}].every((row) => row.querySelector('.slower'))"))
        expect("what is the same in all rows stands above them, once", "device" not in heads and "on cuda:0" in page.evaluate("document.querySelector('#comparison caption').textContent"))
        expect("the comparison comes first", page.evaluate("document.querySelector('nav a').textContent") == "Comparison")
        expect("the rest is folded", page.evaluate("!document.querySelector('.rest').open && document.querySelectorAll('.rest .canvas svg').length === 0"))
        broken = page.evaluate("""[...document.querySelectorAll('#comparison td')].filter((cell) => !/\\s/.test(cell.textContent) && cell.firstChild && cell.offsetParent
            && (() => { const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects().length > 1; })()).map((cell) => cell.textContent)""")
        expect(f"no word is broken: {broken}", not broken)
        if pictures:
            page.screenshot(f"{pictures}/comparison-{width}.png")
    page.evaluate("document.querySelector('.rest').open = true")
    page.until("document.querySelectorAll('.rest .canvas svg').length > 5")


def tables_of_one(page, width):
    if width == 390:
        expect("rows are stacked on phones", page.evaluate("getComputedStyle(document.querySelector('#points-table tbody tr')).display") == "block")
        expect("and names have the line", page.evaluate("document.querySelector('#points-table tbody th').getBoundingClientRect().width") > 250)
    if width == 1440:
        expect("the table of points is not cut off", page.evaluate("(() => { const box = document.getElementById('points-table').parentElement; return box.scrollWidth <= box.clientWidth + 1; })()"))
        expect("no column of any table is empty", page.evaluate("""[...document.querySelectorAll('table.stacks')].every((table) => [...table.tHead.rows[0].cells].every((head, i) =>
            [...table.tBodies[0].rows].some((row) => row.cells[i] && row.cells[i].textContent)))"""))
        expect("findings are a list", page.evaluate("document.querySelectorAll('ol.findings > li').length") > 0)
        expect("no chart without data", page.evaluate("document.querySelectorAll('.chart .none').length") == 0)


def test_real_run(page, folder):
    """The page of the H200's run in the docs: no text of a chart lies on another, none is cut off."""
    for width, dark in ((390, True), (1440, False)):
        page.open(folder + "/run.json.html", width, dark=dark)
        quiet(page, f"real run at {width} px")
        fits(page, f"real run at {width} px")
        for line in ("copy", "softmax"):
            page.evaluate(f"(() => {{ const s = document.getElementById('line'); s.value = '{line}'; s.dispatchEvent(new Event('change')); }})()")
            page.evaluate("new Promise((resolve) => setTimeout(resolve, 400))")
            found = page.evaluate(headless.OVERLAPS)
            expect(f"real run at {width} px, {line}: texts apart and whole, not {found}", not found)
            near = page.evaluate("""(() => { const boxes = [...document.querySelectorAll('#chart-time text')].filter((t) => t.textContent.includes('\u2192')).map((t) => t.getBoundingClientRect());
                return boxes.some((p, i) => boxes.slice(i + 1).some((q) => Math.abs(p.left - q.left) < 12 && p.top < q.bottom && q.top < p.bottom)); })()""")
            expect(f"real run at {width} px, {line}: boundaries that lie close have their names one below the other", not near)
        if width == 1440:
            left_out = lambda: "Left out" in page.evaluate("document.querySelector('#points-table caption').textContent")
            page.look(1000, dark)
            fits(page, "real run, made 1000 px wide")
            expect("a narrow table says what it leaves out, a wide one leaves nothing out", left_out() and not page.look(1440, dark) and not left_out())
        expect("a regime that is unknown has no figure", not page.evaluate("[...document.querySelectorAll('#chart-map text')].some((t) => t.textContent === '?0')"))


def test_print(page, folder):
    page.open(folder + "/one.html", 1000, dark=True)
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    expect("no controls on paper", page.evaluate(
        "['nav', '.controls', '.save', '#theme'].every((s) => getComputedStyle(document.querySelector(s)).display === 'none')"))
    expect("dark ink on light paper", page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 34, 43)"
           and page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)")
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    expect("it prints", len(base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])) > 40000)
    unfolded = "document.querySelectorAll('details:not([open])').length"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect("paper has no folds", page.evaluate(unfolded) == 0)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect("and the page has them again", page.evaluate(unfolded) > 0)
    page.call("Emulation.setEmulatedMedia", media="print")
    expect("on paper no text of the findings is larger than its first line", page.evaluate(
        "(() => { const size = (e) => parseFloat(getComputedStyle(e).fontSize); return [...document.querySelectorAll('.findings li')].every((li) => [...li.querySelectorAll('*')].every((e) => size(e) <= size(li))); })()"))
    quiet(page, "print")
    page.call("Emulation.setEmulatedMedia", media="", features=[])


def test_controls(page, folder):
    page.open(folder + "/two.html", 1000)
    title = "document.querySelector('#line').value"
    before = page.evaluate("document.querySelector('#chart-time svg').outerHTML")
    page.evaluate("document.getElementById('next').click()")
    expect("the next operation is chosen", page.evaluate(title) == "saxpy")
    page.until(f"(document.querySelector('#chart-time svg') || {{}}).outerHTML !== {json.dumps(before)}")
    page.evaluate("(() => { const s = document.getElementById('device'); s.value = 'cpu'; s.dispatchEvent(new Event('change')); })()")
    page.until("[...document.querySelectorAll('#chart-roofline text')].some(t => t.textContent.includes('L3'))")
    page.evaluate("document.getElementById('theme').click(); document.getElementById('theme').click()")
    expect("the theme can be chosen", page.evaluate("document.documentElement.dataset.theme") == "dark")
    page.evaluate("localStorage.clear()")
    quiet(page, "controls")


def test_hostile(page, folder):
    page.open(folder + "/hostile.html", 1000)
    expect("no text of the run became script", page.evaluate("document.documentElement.dataset.hacked") is None)
    expect("no text of the run became an element", page.evaluate("document.querySelectorAll('img').length") == 0)
    # A way in that escaping missed would still meet the policy.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.documentElement.dataset.hacked=1\">')")
    page.until("(document.documentElement.dataset.errors || '').includes('blocked by policy')")
    expect("the policy stops inline handlers", page.evaluate("document.documentElement.dataset.hacked") is None)


IN_WINDOW = ("(() => { const box = document.getElementById('tip').getBoundingClientRect();"
             " return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight; })()")


def test_tooltips_fit(page, folder):
    """At most six lines, and all of it in the window, at the first and the last point of every chart that shows points."""
    narrow = {"one": ("roofline", "overview", "map", "strip", "time", "rate"), "runs": ("rooflines", "changes", "times")}
    for width, shown in ((390, narrow), (1400, {"one": ("roofline", "overview", "map")})):
        for kind, charts in shown.items():
            page.open(f"{folder}/{kind}.html", width)
            for chart in charts:
                for which in (0, -1):
                    place = middle_of(page, chart, which)
                    what = f"tooltip of {chart} at {width} px"
                    expect(f"{what}: there is one", hover(page, place))
                    expect(f"{what}: six lines", page.evaluate("(() => { const tip = document.getElementById('tip'); return tip.children.length >= 3 && tip.children.length <= 6"
                                                               " && tip.offsetHeight < 6 * 2 * parseFloat(getComputedStyle(tip).fontSize) + 24; })()"))
                    expect(f"{what}: in the window", page.evaluate(IN_WINDOW))
                    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
                    page.evaluate("(() => { const tip = document.getElementById('tip'); tip.hidden = true; tip.replaceChildren(); })()")
            quiet(page, f"tooltips of {kind} at {width} px")


def test_labels(page, folder, pictures):
    """Operations are named in the charts, and no text of a chart lies on another or is cut off: those that the ten pages have not."""
    for kind, width in (("program", 390), ("program", 1280), ("runs", 1280)):
        page.open(f"{folder}/{kind}.html", width)
        quiet(page, f"labels of {kind} at {width} px")
        found = page.evaluate(headless.OVERLAPS)
        expect(f"{kind} at {width} px: texts apart and whole, not {found}", not found)
        if pictures:
            page.screenshot(f"{pictures}/labels-{kind}-{width}.png")
    labels = lambda chart: page.evaluate(f"[...document.querySelectorAll('#chart-{chart} svg text')].filter((t) => t.textContent.trim() && Number(t.getAttribute('opacity') ?? 1) > 0).map((t) => t.textContent)")
    expect("the roofline names operations", {"gemm"} <= {name.split()[0] for name in labels("roofline")})
    expect("so does the overview", "saxpy" in labels("overview"))
    expect("times name runs", {"old", "new"} <= set(labels("times")))
    expect("changes name points", any("/" in name for name in labels("changes")))


def test_saved_charts(page, folder):
    page.open(folder + "/one.html", 1280)
    page.evaluate("(() => { const box = document.getElementById('colours'); box.value = 'operation'; box.dispatchEvent(new Event('change')); })()")
    colours = "new Set([...document.querySelectorAll('#chart-overview .mark-symbol.role-mark path')].map((e) => e.getAttribute('fill'))).size"
    page.until(f"{colours} >= 10")  # five regimes
    page.evaluate("window.saved = []; window.blobs = []; const before = URL.createObjectURL; URL.createObjectURL = (blob) => { blobs.push(blob); return before(blob); }; HTMLAnchorElement.prototype.click = function () { if (this.download) window.saved.push(this.href); }")
    for k in (0, 1):
        page.evaluate(f"document.querySelectorAll('#chart-roofline .save button')[{k}].click()")
        page.until(f"saved.length === {k + 1}")
    expect("a saved drawing has its title and the device", page.evaluate(
        "blobs[0].text().then((text) => text.includes('>Roofline<') && text.includes(report.devices[0].name))"))
    expect("a saved picture has a ground", page.evaluate(
        "new Promise((resolve) => { const i = new Image(); i.onload = () => { const c = document.createElement('canvas'); c.width = i.width; c.height = i.height;"
        " const x = c.getContext('2d'); x.drawImage(i, 0, 0); resolve([...x.getImageData(1, 1, 1, 1).data].join()); }; i.src = saved[1]; })") == "255,255,255,255")
    quiet(page, "saved charts")


def test_axe(page, folder):
    """axe-core finds nothing serious, in both themes, narrow and wide, with the panel open."""
    script = headless.axe_script()
    if not script:
        print("axe-core is not there (scripts/setup.sh --tests, or set GPUBENCH_AXE to axe.min.js): not asked")
        return
    for kind, fragment in (("one", "#saxpy/4096"), ("comparison", ""), ("program", ""), ("timeline", ""), ("flame", ""), ("flame-diff", "")):
        page.open(f"{folder}/{kind}.html", 1400, fragment=fragment)
        found = page.axe(script)
        expect(f"axe, {kind}{fragment}: {found}", not found)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<button></button><p style=\"color:#777;background:#888\">text</p>')")
    found = " ".join(page.axe(script))
    expect(f"axe finds a button without a name and a text without contrast: {found}", "button-name" in found and "color-contrast" in found)


def test_heads(page, folder):
    """Of the page of a run and that of a trace: language, text encoding, width of phones, title, themes, policy."""
    for kind, title in (("one", "Synthetic GPU"), ("timeline", "train.json.gz")):
        page.open(f"{folder}/{kind}.html", 390)
        head = page.evaluate("({lang: document.documentElement.lang, charset: document.characterSet, mode: document.compatMode, title: document.title,"
                             " ...Object.fromEntries([...document.querySelectorAll('head meta[name], head meta[http-equiv]')].map((m) => [m.name || m.httpEquiv, m.content]))})")
        expect(f"{kind}: {head}", head["lang"] == "en" and head["charset"] == "UTF-8" and head["mode"] == "CSS1Compat" and title in head["title"]
               and head["viewport"] == "width=device-width, initial-scale=1" and head["color-scheme"] == "light dark" and head["generator"].startswith("gpubench ")
               and "default-src 'none'" in head["Content-Security-Policy"] and "unsafe-inline'; img-src" in head["Content-Security-Policy"])
        expect(f"{kind}: as wide as the window of a phone", page.evaluate("innerWidth") == 390)
        expect(f"{kind}: one link jumps to what there is", page.evaluate("[...document.querySelectorAll('.skip')].every((a) => document.querySelector(a.getAttribute('href')))"))


def test_findings(page, folder):
    """The first thing on the page, and each line leads to its point, by an address that another run has too."""
    page.open(folder + "/one.html", 1000)
    expect("findings before all else", page.evaluate("document.querySelector('main section').id") == "findings")
    links = page.evaluate("[...document.querySelectorAll('.findings a')].map((a) => a.getAttribute('href'))")
    expect(f"findings with addresses, got {links}", 1 <= len(links) <= 5 and all(link.startswith("#") for link in links))
    page.evaluate("document.querySelector('.findings a').click()")
    page.until("!document.getElementById('panel').hidden")
    expect("the link opens its point", page.evaluate(
        "decodeURIComponent(document.querySelector('.findings a').getAttribute('href').slice(1)) === document.getElementById('panel-title').textContent"))
    page.open(folder + "/one.html", 1000, fragment=links[0])
    page.until("!document.getElementById('panel').hidden")
    page.open(folder + "/one.html", 1000, fragment="#no/such:point")
    quiet(page, "findings")


def test_tooltip(page, folder):
    page.open(folder + "/hostile.html", 1000)
    page.evaluate("document.querySelector('#chart-time').scrollIntoView({block: 'center', behavior: 'instant'})")
    place = page.evaluate("(() => { const all = document.querySelectorAll('#chart-time .mark-symbol.role-mark path'); const box = all[all.length - 1]"
                          ".getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()")
    hover(page, place)
    expect("the tooltip shows the name as text", page.evaluate("document.getElementById('tip').textContent.includes('</script><img')"))
    expect("the tooltip holds no markup of the run", page.evaluate("document.querySelectorAll('#tip img, #tip script').length") == 0)
    expect("nothing ran", page.evaluate("document.documentElement.dataset.hacked") is None)
    quiet(page, "hostile tooltip")


def test_program(page, folder, pictures):
    shown = lambda: [float(page.evaluate(f"document.querySelector('#timeline canvas').dataset.{end}")) for end in ("from", "to")]
    press = lambda key: page.evaluate("document.querySelector('#timeline canvas').dispatchEvent("
                                      f"new KeyboardEvent('keydown', {{key: {json.dumps(key)}, cancelable: true}}))")
    for width in WIDTHS:
        page.open(folder + "/program.html", width, dark=width == 1000)
        quiet(page, f"program at {width} px")
        fits(page, f"program at {width} px")
        if width == 1440:
            narrow_tables(page, "program", "#program > .scroll")
        expect(f"at {width} px the timeline is as wide as its card", page.evaluate(
            "(() => { const c = document.querySelector('#timeline canvas').getBoundingClientRect(); return c.width > innerWidth / 2 && c.right <= innerWidth; })()"))
        if pictures:
            page.screenshot(f"{pictures}/program-{width}.png")
    expect("copies are no sweep over sizes", page.evaluate("document.getElementById('operation').hidden && document.getElementById('chart-map').hidden"))
    expect("kernels' counted work is in the roofline, the first chart", page.evaluate("[...document.querySelectorAll('figure.chart')].find((e) => !e.hidden).id") == "chart-roofline"
           and marks(page, "roofline", ".mark-symbol.role-mark path") >= 5)
    expect("the largest kernel is the first row", "gemm_kernel" in page.evaluate("document.querySelector('.kernels tbody th').textContent"))
    all_of_it = shown()
    expect("the timeline begins with all", all_of_it == [0, 0.0164])
    page.evaluate("document.querySelector('#timeline [data-zoom=in]').click()")
    closer = shown()
    expect(f"closer shows half, around the middle: {closer}", abs(closer[0] - 0.0041) < 1e-9 and abs(closer[1] - 0.0123) < 1e-9)
    press("ArrowRight")
    expect("an arrow moves", shown()[0] > closer[0] and abs(shown()[1] - shown()[0] - 0.0082) < 1e-9)
    press("0")
    expect("0 shows all again", shown() == all_of_it)
    page.evaluate("document.querySelector('#timeline').scrollIntoView({block: 'center', behavior: 'instant'})")
    box = json.loads(page.evaluate("JSON.stringify(document.querySelector('#timeline canvas').getBoundingClientRect())"))
    row = box["y"] + 22 + 11  # the first track, a range
    mouse = lambda kind, x, **more: page.call("Input.dispatchMouseEvent", type=kind, x=x, y=row, **more)
    labels = float(page.evaluate("document.querySelector('#timeline canvas').dataset.labels"))
    middle = box["x"] + labels + (box["width"] - labels) * 2e-3 / 0.0164
    for step in range(50):
        mouse("mouseMoved", middle + step % 2)
        if page.evaluate("!document.getElementById('tip').hidden"):
            break
        time.sleep(0.05)
    expect("a tooltip names the range", "step" in page.evaluate("document.getElementById('tip').textContent"))
    mouse("mousePressed", middle, button="left", clickCount=1)
    mouse("mouseMoved", middle + 100, button="left", buttons=1)
    mouse("mouseReleased", middle + 100, button="left", clickCount=1)
    page.until(f"Number(document.querySelector('#timeline canvas').dataset.from) > 0.0015")
    expect("dragging zooms to what was dragged over", shown()[1] < 0.004)
    page.evaluate("document.querySelector('.kernels tbody a').click()")
    page.until("!document.getElementById('panel').hidden")
    quiet(page, "program")


def test_timeline_page(page, folder, pictures):
    canvas = "document.querySelector('#view canvas')"
    shown = lambda: [float(page.evaluate(f"{canvas}.dataset.{end}")) for end in ("from", "to")]
    press = lambda key: page.evaluate(f"{canvas}.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, cancelable: true}}))")
    chosen = lambda: page.evaluate("document.getElementById('chosen').textContent")
    ink = lambda: page.evaluate(f"(() => {{ const c = {canvas}; const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                                " const colours = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return colours.size; })()")
    for width in WIDTHS:
        page.open(folder + "/timeline.html", width, dark=width == 1000)
        quiet(page, f"timeline at {width} px")
        fits(page, f"timeline at {width} px")
        expect(f"at {width} px bars are drawn, {ink()} colours", ink() > 5)
        if pictures:
            page.screenshot(f"{pictures}/timeline-{width}.png")
    expect("the summary counts", "40 slices on 3 tracks over 490 us" in page.evaluate("document.querySelector('.summary').textContent"))
    expect(f"all is shown at first: {shown()}", shown() == [0, 490000])
    page.evaluate("document.querySelector('#view [data-zoom=in]').click()")
    expect(f"closer shows half: {shown()}", shown() == [122500, 367500])
    press("0")
    search = lambda text: page.evaluate(f"(() => {{ const box = document.getElementById('search'); box.value = {json.dumps(text)}; box.dispatchEvent(new Event('input')); }})()")
    search("GEMM")
    page.until("document.getElementById('found').textContent === '5 slices of 1 name'")
    page.evaluate("document.getElementById('next').click()")
    expect(f"the next hit is selected, with what launched it: {chosen()}", "gemm<float>" in chosen() and "cudaLaunchKernel" in chosen() and "6.000 us before it" in chosen())
    press("l")
    expect(f"l goes to the launch: {chosen()}", chosen().startswith("namecudaLaunchKernel"))
    press("ArrowUp")
    expect(f"up goes to what is around it: {chosen()}", chosen().startswith("nameaten::linear"))
    press(".")
    expect(f"a full stop goes on in the row: {chosen()}", "synchronization" in chosen())
    press("Enter")
    page.until(f"Number({canvas}.dataset.to) - Number({canvas}.dataset.from) < 50000")
    search("")
    page.until("document.querySelectorAll('#names tr').length === 7")
    page.evaluate("(() => { const box = document.getElementById('levels'); box.value = '1'; box.dispatchEvent(new Event('change')); })()")
    quiet(page, "timeline")
    page.open(folder + "/empty-timeline.html", 390)
    quiet(page, "timeline of nothing")
    took = page.open(folder + "/large-timeline.html", 1400)
    frames = page.evaluate("""new Promise((resolve) => { const c = document.querySelector('#view canvas'), times = []; let n = 0, last = performance.now();
      const step = (now) => { times.push(now - last); last = now; c.dispatchEvent(new KeyboardEvent('keydown', {key: n < 20 ? '+' : n < 40 ? 'ArrowRight' : '-'}));
        if (++n < 60) requestAnimationFrame(step); else resolve(times.slice(1).sort((a, b) => a - b)); }; requestAnimationFrame(step); })""")
    print(f"1 000 000 slices: {os.path.getsize(folder + '/large-timeline.html') / 1e6:.1f} MB, {took:.2f} s until drawn, frames while zooming {frames[len(frames) // 2]:.0f} ms, the longest {frames[-1]:.0f} ms")
    expect("all of a million slices", "1 000 000 slices" in page.evaluate("document.querySelector('.summary').textContent"))
    quiet(page, "timeline of a million slices")


def test_flame_pages(page, folder, pictures):
    press = lambda key: page.evaluate(f"document.querySelector('#view .canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, cancelable: true}}))")
    chosen = lambda: page.evaluate("document.getElementById('chosen').textContent")
    for kind in ("flame", "flame-diff"):
        for width in WIDTHS:
            page.open(f"{folder}/{kind}.html", width, dark=width == 1000)
            page.evaluate("new Promise((resolve) => setTimeout(resolve, 200))")
            quiet(page, f"{kind} at {width} px")
            fits(page, f"{kind} at {width} px")
            if width == 390 and kind == "flame":
                expect("a long list of names says what it leaves out, and phones show the time alone", page.evaluate(
                    "document.querySelectorAll('.names thead th').length > 2 && [...document.querySelectorAll('.names thead th')].filter((e) => e.checkVisibility()).length === 2"))
            elif width == 390:
                expect("a stacked table says what it is of", page.evaluate("[...document.querySelectorAll('table.stacks caption')].every((e) => e.checkVisibility() && e.textContent)"))
            elif width == 1440 and kind == "flame-diff":
                narrow_tables(page, kind, ".result .scroll")
            expect(f"{kind} at {width} px: the picture fits", page.evaluate("document.querySelector('#view .canvas canvas').getBoundingClientRect().right <= innerWidth"))
            if pictures:
                page.screenshot(f"{pictures}/{kind}-{width}.png")
    page.open(folder + "/flame.html", 1000)
    expect(f"the whole at first: {chosen()}", chosen().startswith("all: 115 us"))
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"):
        press(key)
    expect(f"arrows walk down the widest frames: {chosen()}", chosen().startswith("gemm<float>: 100 us, 87 % of all"))
    press("Enter")
    expect("Enter shows a frame alone", page.evaluate("document.getElementById('view').dataset.focus") == "gemm<float>")
    press("Escape")
    expect("Escape shows all", page.evaluate("document.getElementById('view').dataset.focus") == "all")
    page.evaluate("(() => { const box = document.getElementById('search'); box.value = 'saxpy'; box.dispatchEvent(new Event('input')); })()")
    page.until("document.getElementById('found').textContent === '1 frame, 15.0 us, 13 % of all'")
    page.evaluate("(() => { const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input')); })()")
    page.evaluate("(() => { const box = document.getElementById('weight'); box.value = 'host'; box.dispatchEvent(new Event('change')); })()")
    page.until("document.querySelector('#names th').textContent === 'cudaDeviceSynchronize'")
    box = json.loads(page.evaluate("JSON.stringify(document.querySelector('#view .canvas canvas').getBoundingClientRect())"))
    place = {"x": box["x"] + 100, "y": box["y"] + box["height"] - 4 * 19}
    for step in range(50):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", **dict(place, x=place["x"] + step % 2))
        if page.evaluate("!document.getElementById('tip').hidden"):
            break
        time.sleep(0.05)
    expect("a tooltip names the frame", page.evaluate("document.getElementById('tip').textContent").startswith("step450 us"))
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)
    page.until("document.getElementById('view').dataset.focus !== 'all'")
    quiet(page, "flame graph")
    page.open(folder + "/flame-diff.html", 1000)
    expect(f"a diff tells both times: {chosen()}", chosen().startswith("all: 115 us before, 215 us after: +87.0 %"))
    expect("and lists what changed most", page.evaluate("document.querySelector('#names tr').textContent") == "gemm<float>+100 us100 us200 us")


def test_chart_of_a_notebook(page, folder):
    """Drawn without a network, which this browser has not."""
    page.call("Emulation.setDeviceMetricsOverride", width=700, height=560, deviceScaleFactor=1, mobile=False)
    page.call("Page.navigate", url=f"file://{folder}/chart.html")
    page.until("document.querySelectorAll('#chart svg .mark-symbol.role-mark path').length > 100")
    expect("all of it is in the cell, its axes too", page.evaluate(
        "(() => { const box = document.querySelector('#chart svg').getBoundingClientRect(); return box.right <= innerWidth && box.bottom <= innerHeight; })()"))
    expect("a notebook's chart links to nothing", not page.evaluate("document.querySelectorAll('[src]').length"))


def test_hostile_traces(page, folder):
    for kind in ("timeline", "flame", "flame-diff"):
        page.open(f"{folder}/hostile-{kind}.html", 1000)
        page.evaluate("new Promise((resolve) => setTimeout(resolve, 200))")
        expect(f"hostile {kind}: nothing ran", page.evaluate("document.documentElement.dataset.hacked") is None)
        expect(f"hostile {kind}: no markup of the trace", page.evaluate("document.querySelectorAll('main img, header img').length") == 0)
        expect(f"hostile {kind}: the name stands as text", page.evaluate("document.getElementById('names').textContent.includes('</script><img')"))
        quiet(page, f"hostile {kind}")


def test_odd_runs(page, folder):
    for kind in ("empty", "uncalibrated"):
        page.open(folder + f"/{kind}.html", 390)
        quiet(page, kind)
        fits(page, kind)


def test_without_library(page, folder):
    """The page of a build without the bundle, as it is without network: tables, and a sentence instead of charts."""
    with open(folder + "/one.html", encoding="utf-8") as file:
        text = file.read()
    library = re.search(r'<script type="application/gzip" id="library">.*?</script>\n<script>.*?</script>', text, re.S)
    if library:  # a build without the bundle has none to take out
        text = text.replace(library.group(0), "").replace('"embedded":true', '"embedded":false')
    with open(folder + "/bare.html", "w", encoding="utf-8") as file:
        file.write(text)
    page.open(folder + "/bare.html", 1000)
    expect("says why there are no charts", "No charts" in page.evaluate("document.getElementById('chart-trouble').innerText"))
    expect("and shows the table", page.evaluate("document.querySelectorAll('#points-table tbody tr').length") == 25)


def test_large(page, folder):
    """No time is asserted; the figure is printed for whoever looks."""
    took = page.open(folder + "/large.html", 1400)
    print(f"10 000 points: {took:.2f} s until all charts were drawn")
    expect("10 000 points with samples in at most 3 MB", os.path.getsize(folder + "/large.html") <= 3e6)
    expect("a long page is unpacked", page.evaluate("byId('data').type") == "application/gzip" and page.evaluate("points.length") >= 10000)
    expect("large: nine charts, the overview on demand", page.evaluate("document.documentElement.dataset.charts") == "9")
    height = "document.querySelector('#chart-strip canvas').getBoundingClientRect().height"
    before = page.evaluate(height)
    page.evaluate("document.getElementById('whole-strip').click()")
    page.until(f"document.querySelector('#chart-strip canvas') && {height} > {5 * before}")
    page.evaluate("document.querySelector('#chart-overview .canvas button').click()")
    page.until("!!document.querySelector('#chart-overview canvas')")
    quiet(page, "large")


def main():
    writer = sys.argv[1]
    pictures = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else None
    chosen = sys.argv[3:]
    path = headless.find()
    if not path:
        print("skipped: no browser, looked for " + ", ".join(headless.NAMES))
        return 77
    with tempfile.TemporaryDirectory(prefix="gpubench-pages-") as folder:
        kinds = ("one", "single", "two", "runs", "five", "comparison", "large", "program", "hostile", "hostile-runs", "uncalibrated", "empty", "timeline", "hostile-timeline",
                     "empty-timeline", "large-timeline", "flame", "flame-diff", "hostile-flame", "hostile-flame-diff", "chart", REAL_RUN)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
            list(several.map(lambda kind: subprocess.run([writer, kind, f"{folder}/{os.path.basename(kind)}.html"], check=True), kinds))
        with open(folder + "/one.html", encoding="utf-8") as file:
            embedded = '"embedded":true' in file.read()
        tests = [test_without_library]
        if embedded:
            # Those that take longest come first.
            tests += [test_ten_pages, test_axe, test_tooltips_fit, test_large, test_labels, test_print, test_findings, test_odd_runs, test_real_run, test_panel, test_runs,
                      test_program, test_timeline_page, test_flame_pages, test_controls, test_heads, test_saved_charts, test_table, test_tooltip, test_keyboard_and_readers,
                      test_hostile_traces, test_click, test_comparison, test_hostile, test_chart_of_a_notebook]
        else:
            print("built without the chart library: only the page without charts is tested")
        of_pictures = (test_ten_pages, test_labels, test_runs, test_comparison, test_program, test_timeline_page, test_flame_pages)
        left = iter([test for test in tests if not chosen or test.__name__ in chosen])

        def work(page):
            """One browser, all tests that the other has not begun."""
            for test in left:
                started = time.monotonic()
                test(page, folder, *([pictures] if test in of_pictures else []))
                print(f"{test.__name__}: {time.monotonic() - started:.1f} s", flush=True)

        with contextlib.ExitStack() as last, concurrent.futures.ThreadPoolExecutor(2) as two:
            pages = []
            for _ in range(2):  # one after the other: the shell that starts a browser knows no file descriptor above 9
                pages.append(headless.Browser(path))
                last.callback(pages[-1].close)
            list(two.map(work, pages))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
