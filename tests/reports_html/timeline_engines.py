# SPDX-License-Identifier: Apache-2.0
"""The page of `gpubench trace timeline` beside Vega, which draws the report's charts: the same slices as bars on rows, in a headless browser.

Usage: timeline_engines.py GPUBENCH [SLICES...]; prints Markdown. Needs vl-convert-python for Vega's JavaScript."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import browser as headless

MAKE = os.path.join(os.path.dirname(__file__), "..", "traces", "make_trace.py")
LIMIT = 120  # s to wait for one page
# Rows by depth, as the page has them: bars of one thread nest, a stream is a row.
VEGA = """<!DOCTYPE html><meta charset="utf-8"><body><div id="view"></div><script>%s</script><script id="data" type="application/json">%s</script><script>
const values = JSON.parse(document.getElementById("data").textContent).map((one) => ({x: one[0], x2: one[1], row: one[2], name: one[3]}));
const end = values.reduce((most, one) => Math.max(most, one.x2), 0);
const spec = {"$schema": "https://vega.github.io/schema/vega/v5.json", width: 1200, height: 400, signals: [{name: "domain", value: [0, end]}],
  data: [{name: "slices", values, transform: [{type: "filter", expr: "datum.x2 >= domain[0] && datum.x <= domain[1]"}]}],
  scales: [{name: "x", domain: {signal: "domain"}, domainRaw: {signal: "domain"}, range: "width", zero: false},
    {name: "y", type: "band", domain: [0, 1, 2, 3, 4, 5, 6], range: "height"}, {name: "color", type: "ordinal", range: {scheme: "category20"}}],
  axes: [{orient: "bottom", scale: "x"}],
  marks: [{type: "rect", from: {data: "slices"}, clip: true, encode: {update: {x: {scale: "x", field: "x"}, x2: {scale: "x", field: "x2"},
    y: {scale: "y", field: "row"}, height: {scale: "y", band: 1}, fill: {scale: "color", field: "name"}, tooltip: {field: "name"}}}}]};
vegaEmbed("#view", spec, {mode: "vega", renderer: "canvas", actions: false}).then((result) => { window.view = result.view; window.end = end;
  requestAnimationFrame(() => { document.documentElement.dataset.charts = "1"; }); });
</script>"""
VEGA_ZOOM = """(async () => { const times = []; for (let i = 1; i <= 8; ++i) { const middle = end / 2, half = end / 2 / 1.5 ** i;
  const from = performance.now(); await view.signal("domain", [middle - half, middle + half]).runAsync(); times.push(performance.now() - from); } return times; })()"""
OWN_ZOOM = """(async () => { const canvas = document.querySelector("canvas"), times = [];
  for (let i = 0; i < 8; ++i) { const from = performance.now();
    canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, ctrlKey: true, clientX: 600, clientY: 200, bubbles: true, cancelable: true}));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0))); times.push(performance.now() - from); } return times; })()"""


def slices_of(trace):
    """Start and end in us, row, name."""
    ends, rows = [], []
    for event in json.load(trace)["traceEvents"]:
        if event["ph"] != "X":
            continue
        start, stop = event["ts"] - 4491036073229.465, event["ts"] - 4491036073229.465 + event["dur"]
        if event["cat"] == "kernel":
            rows.append((start, stop, 6, event["name"]))
            continue
        while ends and ends[-1] <= start:
            ends.pop()
        rows.append((start, stop, min(len(ends), 5), event["name"]))
        ends.append(stop)
    return rows


def measured(path, page, zoom):
    """Seconds until drawn, bytes of the JavaScript heap, milliseconds of a zoom."""
    browser = headless.Browser(path)
    try:
        browser.call("Emulation.setDeviceMetricsOverride", width=1300, height=900, deviceScaleFactor=1, mobile=False)
        taken = browser.open(page, 1300)
        heap = browser.call("Runtime.getHeapUsage")["usedSize"]
        zooms = browser.evaluate(zoom)
        return f"{taken:.2f} s | {heap / 1e6:.0f} MB | {statistics.median(zooms):.0f} ms, {max(zooms):.0f} ms"
    except (TimeoutError, RuntimeError) as error:
        return f"not drawn: {str(error)[:60]} | - | -"
    finally:
        browser.close()


def main():
    program, sizes = sys.argv[1], [int(size) for size in sys.argv[2:]] or [10_000, 100_000, 1_000_000]
    path = headless.find()
    if not path:
        sys.exit("no browser, looked for " + ", ".join(headless.NAMES))
    # In a process of its own: it keeps files open, whose numbers the browser's pipe needs.
    library = subprocess.run([sys.executable, "-c", "import vl_convert; print(vl_convert.javascript_bundle('window.vegaEmbed = vegaEmbed;'))"],
                             check=True, capture_output=True, text=True).stdout
    print("| slices | drawn by | page | drawn after | JavaScript's memory | a zoom: median, longest |\n|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="gpubench-engines-") as folder:
        for size in sizes:
            trace, own, vega = (f"{folder}/{name}" for name in ("trace.json", "own.html", "vega.html"))
            subprocess.run([sys.executable, MAKE, trace, str(size)], check=True)
            subprocess.run([program, "trace", "timeline", trace, "--out=" + own, "--quiet"], check=True)
            with open(trace, encoding="ascii") as stream, open(vega, "w", encoding="utf-8") as out:
                out.write(VEGA % (library, json.dumps(slices_of(stream), separators=(",", ":"))))
            for name, page, zoom in (("this program", own, OWN_ZOOM), ("Vega", vega, VEGA_ZOOM)):
                print(f"| {size:_} | {name} | {os.path.getsize(page) / 1e6:.1f} MB | {measured(path, page, zoom)} |".replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
