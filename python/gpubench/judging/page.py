# SPDX-License-Identifier: Apache-2.0
"""Verdicts for readers: lines for a terminal, and a page with a leaderboard and a chart."""
from __future__ import annotations

import json
import os
import textwrap
from typing import Any, Sequence

from .. import _core
from .floor import share_text
from .verdict import Interval, Result

_TEXT_LIMIT = 400  #: characters of what is said of a candidate on a terminal
_COLORS = {"right": "#2E7D32", "wrong": "#B3261E", "refused": "#B26A00"}


def time_of(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def speedup_of(speedup: Interval | None, tie: bool | None) -> str:
    if speedup is None:
        return ""
    value, low, high = (f"{each:.2f}" if 0.1 <= each < 100 else f"{each:.{4 if each >= 100 else 2}g}" for each in (speedup.value, speedup.low, speedup.high))
    return f"{value}x [{low}, {high}]" + (" tie" if tie else "")


def device_of(result: Result) -> str:
    """The GPU's time of a call, and how many times as long the reference's is; the same with warm caches."""
    if result.device_seconds is None:
        return ""

    def told(seconds: float, reference: float | None) -> str:
        return time_of(seconds) + ("" if reference is None else f", {reference / seconds:.2f}x")

    text = told(result.device_seconds, result.reference_device_seconds)
    if result.warm_device_seconds is None:
        return text
    return f"{text}; warm {told(result.warm_device_seconds, result.reference_warm_device_seconds)}"


def names_of(results: Sequence[Result]) -> list[str]:
    """Files without the folders that all have."""
    folders = {os.path.dirname(os.path.abspath(each.candidate)) for each in results}
    common = os.path.commonpath(folders) if folders else ""
    return [_core.printable(os.path.relpath(os.path.abspath(each.candidate), common)) for each in results]


def rank_of(result: Result) -> str:
    """The places that it may hold: "2", or "4-7" where intervals leave several."""
    return "" if result.rank is None else f"{result.rank}" if result.rank == result.rank_to else f"{result.rank}-{result.rank_to}"


def lines_of(results: Sequence[Result], width: int = 100) -> str:
    """A table; below each candidate what is said of it."""
    names = names_of(results)
    longest = min(max([len(each) for each in names] + [9]), 40)
    rows = [f"{'rank':>7}  {'candidate':{longest}}  {'verdict':7}  {'speed-up':26}  {'time':>9}  of floor"]
    for name, each in zip(names, results):
        share = share_text(each.floor_share)
        rows.append(f"{rank_of(each):>7}  {name[:longest]:{longest}}  {each.verdict:7}  {speedup_of(each.speedup, each.tie):26}  "
                    f"{time_of(each.seconds):>9}  {share}".rstrip())
        device = f"On the GPU {device_of(each)}. " if each.device_seconds is not None else ""
        text = f"{each.reason}: {_core.printable(each.text[:_TEXT_LIMIT])}{'...' * (len(each.text) > _TEXT_LIMIT)}" if each.reason else device + each.next_step
        rows += textwrap.wrap(text, max(40, width - 8), initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=True)
    return "\n".join(rows) + "\n"


def chart_of(results: Sequence[Result]) -> dict[str, Any]:
    """Speed-up against the share of the floor, or by candidate where no floor is known, as Vega-Lite."""
    timed = [(name, each) for name, each in zip(names_of(results), results) if each.speedup is not None]
    has_floor = any(each.floor_share is not None for _, each in timed)
    values = [{"candidate": name, "verdict": each.verdict, "speedup": each.speedup.value, "low": each.speedup.low, "high": each.speedup.high,
               "share": None if each.floor_share is None else 100.0 * each.floor_share, "time": time_of(each.seconds)}
              for name, each in timed if each.speedup is not None]
    across: dict[str, Any] = ({"field": "share", "type": "quantitative", "title": "share of the floor's speed, %", "scale": {"zero": True}} if has_floor else
                              {"field": "candidate", "type": "nominal", "title": None, "sort": "-y"})
    up = {"type": "quantitative", "title": "speed-up over the reference", "scale": {"type": "log", "nice": False, "padding": 12}}
    color = {"field": "verdict", "type": "nominal", "scale": {"domain": list(_COLORS), "range": list(_COLORS.values())}, "legend": None}
    tooltip = [{"field": name, "type": "nominal"} for name in ("candidate", "time")] + [
        {"field": name, "type": "quantitative", "format": ".4g"} for name in ("speedup", "low", "high", "share")]
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "width": "container", "height": 320, "data": {"values": values}, "layer": [
        {"mark": {"type": "rule", "strokeDash": [4, 4], "color": "#888"}, "encoding": {"y": {"datum": 1, "type": "quantitative"}}},
        {"mark": {"type": "rule"}, "encoding": {"x": across, "y": {"field": "low", **up}, "y2": {"field": "high"}, "color": color}},
        {"mark": {"type": "point", "filled": True, "size": 70}, "encoding": {"x": across, "y": {"field": "speedup", **up}, "color": color, "tooltip": tooltip}}]}


def page_of(results: Sequence[Result], notes: Sequence[str] = ()) -> str:
    """A leaderboard with intervals, and the chart, in one file that needs no network."""
    rows = []
    for name, each in zip(names_of(results), results):
        why = f"{each.reason}: {each.text}" if each.reason else each.next_step
        share = "; ".join(filter(None, (f"{share_text(each.floor_share)} of {_core.label_of(each.limiter)}" if each.limiter and each.floor_share is not None else "", each.regime)))
        rows.append([name, rank_of(each), each.verdict, speedup_of(each.speedup, each.tie), time_of(each.seconds), device_of(each),
                     time_of(each.cold_seconds), share, _core.printable(why)])
    counts = ", ".join(f"{sum(each.verdict == verdict for each in results)} {verdict}" for verdict in _COLORS)
    basis = next((each.floor_basis for each in results if each.floor_basis), "")
    return _core.leaderboard_html(json.dumps({
        "title": f"Candidates for {_core.printable(results[0].problem) if results else 'nothing'}",
        "summary": f"{len(results)} judged: {counts}. Intervals are of 95 %. Ranks are the places that intervals leave." + (f" Floor: {_core.printable(basis)}." if basis else ""),
        "caption": "Candidates by speed-up", "chart": "Speed-up with its interval",
        "columns": "candidate; rank>; verdict*; speed-up>; time>; on device>; cold>; of the floor; what to know",
        "rows": rows, "notes": [_core.printable(each) for each in notes], "specification": chart_of(results)}))
