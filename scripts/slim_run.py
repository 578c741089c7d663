#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes stored runs and calibrations small enough to keep in a repository: python3 scripts/slim_run.py FILE.json...

Verdicts and boundaries go, because `gpubench report` judges a run anew. Each point and ceiling becomes one line."""
import json
import sys


def lines(value):
    """JSON with one line for each element of the outer lists."""
    compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    parts = [f"{compact(key)}:" + ("[\n" + ",\n".join(map(compact, part)) + "]" if isinstance(part, list) and part else compact(part)) for key, part in value.items()]
    return "{" + ",\n".join(parts) + "}\n"


for file in sys.argv[1:] or sys.exit(__doc__):
    with open(file, encoding="utf-8") as stored:
        document = json.load(stored)
    for point in document.get("points", []):
        point.pop("verdict", None)
    if "boundaries" in document:
        document["boundaries"] = []
    with open(file, "w", encoding="utf-8") as stored:
        stored.write(lines(document))
