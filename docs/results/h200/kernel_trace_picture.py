#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws warps of a kernel's trace: kernel_trace_picture.py TRACE.json PICTURE.svg [--sms=N] [--from-us=A] [--to-us=B] [--rows=N]"""
import argparse
import json
from xml.sax.saxutils import escape

COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("picture")
    parser.add_argument("--sms", type=int, default=1)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--every", type=int, default=1, help="of the rows every n-th")
    parser.add_argument("--from-us", type=float, default=0.0)
    parser.add_argument("--to-us", type=float)
    options = parser.parse_args()
    with open(options.trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    process = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    order = {(e["pid"], e["tid"]): e["args"]["sort_index"] for e in events if e["ph"] == "M" and e["name"] == "thread_sort_index"}
    sms = sorted((p for p, name in process.items() if name.startswith("SM ")), key=lambda p: int(process[p][3:]))[:options.sms]
    slices = [e for e in events if e["ph"] == "X" and e["pid"] in sms and e["dur"] > 0]
    rows = sorted({(e["pid"], e["tid"]) for e in slices}, key=lambda row: (sms.index(row[0]), order[row]))
    rows = rows[::options.every][:options.rows]
    end = options.to_us or max(e["ts"] + e["dur"] for e in slices)
    start, left, width, height = options.from_us, 190, 900, 16
    names = sorted({e["name"] for e in slices if (e["pid"], e["tid"]) in rows})
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    at = lambda us: left + (us - start) / (end - start) * width
    total = 40 + len(rows) * height + 28
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{total}" font-family="sans-serif" font-size="11">',
           f'<rect width="{left + width + 20}" height="{total}" fill="white"/>']
    x = left
    for name in names:
        out.append(f'<rect x="{x}" y="8" width="11" height="11" fill="{colour[name]}"/><text x="{x + 15}" y="18">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    for i, row in enumerate(rows):
        y = 30 + i * height
        out.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{escape(process[row[0]])}, {escape(thread[row])}</text>')
        # The longer first, so that what nests is on top.
        for e in sorted((e for e in slices if (e["pid"], e["tid"]) == row), key=lambda e: -e["dur"]):
            a, b = max(e["ts"], start), min(e["ts"] + e["dur"], end)
            if b > a:
                out.append(f'<rect x="{at(a):.2f}" y="{y + 1}" width="{max(at(b) - at(a), 0.3):.2f}" height="{height - 3}" fill="{colour[e["name"]]}">'
                           f'<title>{escape(e["name"])} {e["dur"]:.3f} us</title></rect>')
    y = 30 + len(rows) * height + 14
    for i in range(6):
        us = start + (end - start) * i / 5
        out.append(f'<text x="{at(us):.1f}" y="{y}" text-anchor="middle">{us:.1f} us</text>')
    out.append("</svg>")
    with open(options.picture, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
