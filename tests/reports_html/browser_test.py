# SPDX-License-Identifier: Apache-2.0
"""Opens the report of synthetic runs in a real browser. Usage: browser_test.py PAGE_WRITER [SCREENSHOT_FOLDER]

Exit code 77: skipped, because there is no browser."""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib

import browser as headless

WIDTHS = (390, 1000, 1600)
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def quiet(page, what):
    errors = page.evaluate("document.documentElement.dataset.errors")
    expect(f"{what}: no errors in the page, got {errors}", not errors)
    expect(f"{what}: no errors in the browser, got {page.complaints()}", not page.complaints())


def fits(page, what):
    spare = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    expect(f"{what}: nothing sticks out sideways, {spare} px do", spare <= 0)


def marks(page, chart, selector):
    return page.evaluate(f"document.querySelectorAll('#chart-{chart} {selector}').length")


def test_layout(page, folder, pictures):
    path = folder + "/one.html"
    for width in WIDTHS:
        for dark in (False, True):
            what = f"{width} px, {'dark' if dark else 'light'}"
            page.open(path, width, dark=dark)
            quiet(page, what)
            fits(page, what)
            expect(f"{what}: the theme follows the system",
                   page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light"))
            expect(f"{what}: ten charts", page.evaluate("document.documentElement.dataset.charts") == "10")
            expect(f"{what}: cells of the map", marks(page, "map", ".mark-rect.role-mark path") > 100)
            expect(f"{what}: four panels", marks(page, "overview", ".mark-text.role-title-text") == 4)
            expect(f"{what}: points in the overview", marks(page, "overview", ".mark-symbol.role-mark path") > 300)
            expect(f"{what}: points on the roofline", marks(page, "roofline", ".mark-symbol.role-mark path") > 100)
            expect(f"{what}: roofs", marks(page, "roofline", ".mark-line.role-mark path") >= 9)
            expect(f"{what}: cells of the strip", marks(page, "strip", ".mark-rect.role-mark path") > 100)
            expect(f"{what}: points against time", marks(page, "time", ".mark-symbol.role-mark path") >= 17)
            expect(f"{what}: bars of shares", marks(page, "shares", ".mark-rect.role-mark path") > 17)
            expect(f"{what}: rungs of the ladder", marks(page, "ladder", ".mark-symbol.role-mark path") > 20)
            expect(f"{what}: points of the latency curve", marks(page, "latency", ".mark-symbol.role-mark path") > 10)
            expect(f"{what}: points of the intensity sweep", marks(page, "intensity", ".mark-symbol.role-mark path") == 9)
            expect(f"{what}: a card for each group", page.evaluate("document.querySelectorAll('.group').length") == 4)
            expect(f"{what}: a meter where there is a limit", page.evaluate("document.querySelectorAll('.group .meter').length") > 8)
            expect(f"{what}: charts fit", page.evaluate(
                "[...document.querySelectorAll('.canvas svg')].every(s => s.getBoundingClientRect().right <= innerWidth)"))
            if pictures:
                page.screenshot(f"{pictures}/{width}-{'dark' if dark else 'light'}.png")


def test_table(page, folder):
    page.open(folder + "/one.html", 1000)
    rows = "document.querySelectorAll('#points-table tbody tr').length"
    expect("a page of rows at first", page.evaluate(rows) == 50)
    page.evaluate("document.getElementById('more').click()")
    whole = page.evaluate(rows)
    expect("all rows on demand", whole == page.evaluate("points.length"))
    page.evaluate("(() => { const box = document.getElementById('search'); box.value = 'saxpy'; box.dispatchEvent(new Event('input')); })()")
    page.until(f"{rows} === 17")
    page.evaluate("[...document.querySelectorAll('#points-table thead button')].find(b => b.textContent === 'time').click()")
    names = page.evaluate("[...document.querySelectorAll('#points-table tbody th button')].map(b => b.textContent)")
    expect(f"sorted by time, the longest first: {names[:2]}", names[0] == "saxpy/268435456")
    expect("the heading says so", page.evaluate("document.querySelectorAll('th[aria-sort=descending]').length") == 1)
    page.evaluate("document.querySelector('#points-table tbody th button').click()")
    text = page.evaluate("document.querySelector('tr.about').textContent")
    expect("a name opens the facts", "event pairs around 20 executions" in text and "working set" in text)
    expect("the facts hold what was counted", all(part in text for part in (
        "dram_read_bytes 6.442 GB", "occupancy 87.5 %", "moves 3.0x the bytes", "l1_bytes, l2_bytes: no counter")))
    page.evaluate("[...document.querySelectorAll('.chip')].find(c => c.textContent === 'overhead').click()")
    expect("a regime can be hidden", page.evaluate(rows) < 17)
    quiet(page, "table")


def test_link_and_samples(page, folder):
    page.open(folder + "/one.html", 1000, fragment="#p3")
    page.until("!!document.querySelector('#p3 + tr.about .samples svg')")
    samples = "document.querySelectorAll('#p3 + tr.about .samples svg .mark-symbol.role-mark path').length"
    expect("a link opens its point with its samples", page.evaluate(samples) == page.evaluate("samplesOf(points[3]).all"))
    expect("and a histogram", page.evaluate("document.querySelectorAll('#p3 + tr.about .samples svg .mark-rect.role-mark path').length") > 2)
    expect("the linked point has the focus", page.evaluate("(document.activeElement.closest('tr') || {}).id") == "p3")
    expect("samples are as in the run: their median", page.evaluate(
        "(() => { const list = samplesOf(points[3]).sets.samples.map((s) => s.seconds).sort((a, b) => a - b);"
        " return Math.abs(list[(list.length - 1) / 2] / points[3].seconds - 1); })()") < 1e-4)
    page.evaluate("location.hash = '#p5'")
    page.until("!!document.querySelector('#p5 + tr.about .samples svg')")
    quiet(page, "link")


def test_click(page, folder):
    """A click on a point of a chart leaves its operation in the table and opens it."""
    page.open(folder + "/one.html", 1000)
    page.evaluate("document.querySelector('#chart-map').scrollIntoView({block: 'center', behavior: 'instant'})")
    place = page.evaluate("(() => { const all = [...document.querySelectorAll('#chart-map .mark-rect.role-mark path')];"
                          "const box = all[20].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 4]; })()")
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    page.until("!!document.querySelector('tr.target')")
    line = page.evaluate("points[Number(document.querySelector('tr.target').id.slice(1))].line")
    expect("the address names the point", page.evaluate(
        "decodeURIComponent(location.hash.slice(1)) === document.querySelector('tr.target th').textContent"))
    expect(f"the table has only {line}", page.evaluate("document.getElementById('only').value") == line)
    expect("the charts of one operation follow", page.evaluate("document.getElementById('line').value") == line)
    shown = page.evaluate("document.querySelectorAll('#points-table tbody tr:not(.about)').length")
    expect("as many rows as it has points", shown == page.evaluate(f"points.filter((row) => row.line === {json.dumps(line)}).length"))
    page.evaluate("(() => { const s = document.getElementById('only'); s.value = ''; s.dispatchEvent(new Event('change')); })()")
    expect("all again", page.evaluate("document.getElementById('shown').textContent").startswith(page.evaluate("count(points.length)")))
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
    page.evaluate("document.querySelector('#points-table tbody th button').focus()")
    press("Enter", 13)
    page.call("Input.dispatchKeyEvent", type="char", text="\r")
    page.until("!!document.querySelector('#points-table tr.about')")
    quiet(page, "keyboard")


def test_runs(page, folder, pictures):
    for width in (390, 1400):
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


# reports/charts/charts.cpp and reports/page/style.css
DARK_INK, DARK_GRID, DARK_GROUND, LIGHT_INK = "#e8ebef", "#262e37", "#171c22", "#1b222b"


def drawing_of(pdf):
    """What a PDF draws: its compressed streams, those that are text."""
    parts = []
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S):
        try:
            parts.append(zlib.decompressobj().decompress(stream).decode("latin-1"))
        except zlib.error:
            pass
    return "\n".join(parts)


def uses(drawing, color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return any(all(abs(float(number) - part) < 0.001 for number, part in zip(found, parts))
               for found in set(re.findall(r"([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG)\b", drawing)))


def test_print(page, folder):
    page.open(folder + "/one.html", 1000, dark=True)
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    expect("no controls on paper", page.evaluate(
        "['nav', '.controls', '.save', '#theme'].every((s) => getComputedStyle(document.querySelector(s)).display === 'none')"))
    expect("dark ink on light paper", page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 34, 43)"
           and page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)")
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.evaluate("location.hash = '#p3'")
    page.until("!!document.querySelector('.samples svg')")
    inks = "[...document.querySelectorAll('.canvas svg text')].map(t => t.getAttribute('fill'))"
    expect("light ink on the dark page", DARK_INK in page.evaluate(inks))
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    expect("it prints", len(pdf) > 40000)
    text = drawing_of(pdf)
    expect("the printed page is drawn from its ink", uses(text, LIGHT_INK))
    for color in (DARK_INK, DARK_GRID, DARK_GROUND):
        expect(f"nothing of the dark theme on paper: {color}", not uses(text, color))
    page.until(f"!document.documentElement.dataset.paper && {inks}.includes({json.dumps(DARK_INK)}) && !{inks}.includes({json.dumps(LIGHT_INK)})")
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


def test_tooltips_fit(page, folder):
    """At most six lines, and all of it in the window, at the first and the last point of charts."""
    for width in (390, 1400):
        page.open(folder + "/one.html", width)
        for chart, selector in (("roofline", ".mark-symbol"), ("overview", ".mark-symbol"), ("time", ".mark-symbol")):
            for which in ("0", "all.length - 1"):
                page.evaluate(f"document.querySelector('#chart-{chart}').scrollIntoView({{block: 'center', behavior: 'instant'}})")
                place = page.evaluate(f"(() => {{ const all = document.querySelectorAll('#chart-{chart} {selector}.role-mark path'); const box = all[{which}]"
                                      f".getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()")
                for step in range(50):
                    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0] + step % 2, y=place[1])
                    if page.evaluate("!document.getElementById('tip').hidden"):
                        break
                    time.sleep(0.05)
                what = f"tooltip of {chart} at {width} px"
                expect(f"{what}: six lines", page.evaluate("(() => { const tip = document.getElementById('tip'); return tip.children.length >= 3 && tip.children.length <= 6"
                                                           " && tip.offsetHeight < 6 * 2 * parseFloat(getComputedStyle(tip).fontSize) + 24; })()"))
                expect(f"{what}: in the window", page.evaluate("(() => { const box = document.getElementById('tip').getBoundingClientRect();"
                                                               " return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight; })()"))
                page.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
                page.evaluate("document.getElementById('tip').hidden = true")
        quiet(page, f"tooltips at {width} px")


def test_findings(page, folder):
    """The first thing on the page, and each line leads to its point, by an address that another run has too."""
    page.open(folder + "/one.html", 1000)
    expect("findings before all else", page.evaluate("document.querySelector('main section').id") == "findings")
    links = page.evaluate("[...document.querySelectorAll('.findings a')].map((a) => a.getAttribute('href'))")
    expect(f"findings with addresses, got {links}", 1 <= len(links) <= 5 and all(link.startswith("#") for link in links))
    page.evaluate("document.querySelector('.findings a').click()")
    page.until("!!document.querySelector('tr.target')")
    expect("the link opens its point", page.evaluate(
        "decodeURIComponent(document.querySelector('.findings a').getAttribute('href').slice(1)) === document.querySelector('tr.target th').textContent"))
    page.open(folder + "/one.html", 1000, fragment=links[0])
    page.until("!!document.querySelector('tr.target + tr.about')")
    page.open(folder + "/one.html", 1000, fragment="#no/such:point")
    quiet(page, "findings")
    page.open(folder + "/large.html", 1000)
    expect("10 000 points in at most 6 MB", os.path.getsize(folder + "/large.html") <= 6e6)
    expect("a long page is unpacked", page.evaluate("byId('data').type") == "application/gzip" and page.evaluate("points.length") >= 10000)
    quiet(page, "unpacked")


def test_tooltip(page, folder):
    page.open(folder + "/hostile.html", 1000)
    page.evaluate("document.querySelector('#chart-time').scrollIntoView({block: 'center', behavior: 'instant'})")
    place = page.evaluate("(() => { const all = document.querySelectorAll('#chart-time .mark-symbol.role-mark path'); const box = all[all.length - 1]"
                          ".getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()")
    for step in range(50):  # scrolling hides the tooltip, and its event comes when the browser pleases
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0] + step % 2, y=place[1])
        if page.evaluate("!document.getElementById('tip').hidden"):
            break
        time.sleep(0.05)
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
        expect(f"at {width} px the timeline is as wide as its card", page.evaluate(
            "(() => { const c = document.querySelector('#timeline canvas').getBoundingClientRect(); return c.width > innerWidth / 2 && c.right <= innerWidth; })()"))
        if pictures:
            page.screenshot(f"{pictures}/program-{width}.png")
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
    middle = box["x"] + 220 + (box["width"] - 220) * 2e-3 / 0.0164
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
    page.until("!!document.querySelector('#p0 + tr.about')")
    expect("branches of the tree open", page.evaluate("document.querySelectorAll('.tree details[open] .row').length") == 4)
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
    expect("and lists what changed most", page.evaluate("document.querySelector('#names tr').textContent") == "gemm<float>100 us200 us+100 us")


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
    library = re.search(r"<script>/\* Vega .*?</script>", text, re.S)
    if library:  # a build without the bundle has none to take out
        text = text.replace(library.group(0), "").replace('"embedded":true', '"embedded":false')
    with open(folder + "/bare.html", "w", encoding="utf-8") as file:
        file.write(text)
    page.open(folder + "/bare.html", 1000)
    expect("says why there are no charts", "No charts" in page.evaluate("document.getElementById('chart-trouble').innerText"))
    expect("and shows the table", page.evaluate("document.querySelectorAll('#points-table tbody tr').length") == 50)


def test_large(page, folder):
    """No time is asserted; the figure is printed for whoever looks."""
    took = page.open(folder + "/large.html", 1400)
    print(f"10 000 points: {took:.2f} s until all charts were drawn")
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
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    path = headless.find()
    if not path:
        print("skipped: no browser, looked for " + ", ".join(headless.NAMES))
        return 77
    with tempfile.TemporaryDirectory(prefix="gpubench-pages-") as folder:
        for kind in ("one", "two", "runs", "large", "program", "hostile", "hostile-runs", "uncalibrated", "empty", "timeline", "hostile-timeline",
                     "empty-timeline", "large-timeline", "flame", "flame-diff", "hostile-flame", "hostile-flame-diff"):
            subprocess.run([writer, kind, f"{folder}/{kind}.html"], check=True)
        with open(folder + "/one.html", encoding="utf-8") as file:
            embedded = '"embedded":true' in file.read()
        page = headless.Browser(path)
        try:
            if embedded:
                test_layout(page, folder, pictures)
                test_controls(page, folder)
                test_link_and_samples(page, folder)
                test_click(page, folder)
                test_keyboard_and_readers(page, folder)
                test_runs(page, folder, pictures)
                test_print(page, folder)
                test_tooltip(page, folder)
                test_tooltips_fit(page, folder)
                test_findings(page, folder)
                test_large(page, folder)
                test_odd_runs(page, folder)
                test_program(page, folder, pictures)
                test_table(page, folder)
                test_hostile(page, folder)
                test_timeline_page(page, folder, pictures)
                test_flame_pages(page, folder, pictures)
                test_hostile_traces(page, folder)
            else:
                print("built without the chart library: only the page without charts is tested")
            test_without_library(page, folder)
        finally:
            page.close()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
