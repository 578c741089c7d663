#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the docs from kept data: python3 scripts/screenshots.py PROGRAM [FOLDER]

PROGRAM is gpubench, FOLDER docs/results/h200 if none is given. It needs Chromium; with Pillow the files are a third of the size."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "reports_html"))
import browser  # noqa: E402

RUN = os.path.join(ROOT, "docs", "results", "h200", "run.json")
PAGES = (("report.png", "", 1400, 2300), ("report-point.png", "#saxpy/n:4194304", 1400, 1000))  # file, address, width, height


def shoot(page, report, picture, fragment, width, height):
    """The top of a page, as it is seen in a window of this size."""
    page.open(report, width, height, fragment=fragment)
    if fragment:
        page.until("!document.getElementById('panel').hidden")
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")
    page.screenshot(picture, whole=False)
    shrink(picture)


def shrink(picture):
    try:
        from PIL import Image
    except ImportError:
        return
    Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 64
    program, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(RUN)
    path = browser.find()
    if not path:
        print("screenshots: no browser, looked for " + ", ".join(browser.NAMES), file=sys.stderr)
        return 1
    subprocess.run([program, "report", RUN, f"--out={folder}/overview.png"], check=True)
    shrink(f"{folder}/overview.png")
    with tempfile.TemporaryDirectory() as place:
        report = f"{place}/report.html"
        subprocess.run([program, "report", RUN, f"--out={report}"], check=True)
        page = browser.Browser(path)
        try:
            for picture, fragment, width, height in PAGES:
                shoot(page, report, f"{folder}/{picture}", fragment, width, height)
                print(f"wrote {folder}/{picture}")
        finally:
            page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
