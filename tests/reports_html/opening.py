# SPDX-License-Identifier: Apache-2.0
"""Figures of the report page in a headless browser: how long one of 10 000 points takes to open, how much of it is data.

Usage: opening.py PAGE_WRITER [TIMES]; prints Markdown."""
import os
import re
import statistics
import subprocess
import sys
import tempfile

import browser as headless

SIZES = {"one": "213 points", "large": "10 000 points"}
SMOOTH = """new Promise((resolve) => {
  const frames = []; let last = performance.now(); let y = 0; const bottom = document.documentElement.scrollHeight - innerHeight;
  const step = (now) => { frames.push(now - last); last = now; y += bottom / 60; scrollTo({top: y, behavior: "instant"});
    frames.length < 60 ? requestAnimationFrame(step) : resolve(frames.slice(1)); };
  requestAnimationFrame(step); })"""
SEARCH = """(() => { const started = performance.now(); const box = document.getElementById("only");
  box.selectedIndex = 1; box.dispatchEvent(new Event("change")); document.body.offsetHeight; return performance.now() - started; })()"""


def data_of(text):
    return sum(len(part) for part in re.findall(r'<script type="[^"]*" id="(?:data|samples)">.*?</script>', text, re.S))


def main():
    writer = sys.argv[1]
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    path = headless.find()
    if not path:
        sys.exit("no browser, looked for " + ", ".join(headless.NAMES))
    print("| page | bytes | without data | opens, all charts drawn: median (least to most) | first chart | a filter | frames while scrolling: median, longest |")
    print("|---|---|---|---|---|---|---|")
    page = headless.Browser(path)
    try:
        with tempfile.TemporaryDirectory(prefix="gpubench-opening-") as folder:
            for kind, name in SIZES.items():
                file = f"{folder}/{kind}.html"
                subprocess.run([writer, kind, file], check=True)
                with open(file, encoding="utf-8") as stream:
                    text = stream.read()
                size = os.path.getsize(file)
                opened = [page.open(file, 1400) for _ in range(times)]
                first = page.evaluate("Number(document.documentElement.dataset.firstChart)")
                page.evaluate("new Promise((resolve) => setTimeout(resolve, 500))")
                frames = page.evaluate(SMOOTH)
                search = page.evaluate(SEARCH)
                print(f"| {name} | {size / 1e6:.2f} MB | {(size - data_of(text)) / 1e6:.2f} MB | {statistics.median(opened):.2f} s"
                      f" ({min(opened):.2f} to {max(opened):.2f}, {times} times) | {first / 1000:.2f} s | {search:.0f} ms"
                      f" | {statistics.median(frames):.0f} ms, {max(frames):.0f} ms |")
    finally:
        page.close()


if __name__ == "__main__":
    main()
