# SPDX-License-Identifier: Apache-2.0
"""The ceilings of a calibration beside what known tools read on such a GPU, as a table in Markdown.

    python3 docs/results/h200/peer_table.py docs/results/h200/calibration-full.json > docs/results/h200/peers.md

peers.json, next to this file, holds their figures. They were not taken on the same day as the calibration."""

import json
import pathlib
import sys

SCALES = {"B/s": (1e-12, "TB/s"), "FLOP/s": (1e-12, "TFLOP/s"), "op/s": (1e-12, "Top/s"), "s": (1e9, "ns")}


def main(calibration_file):
    calibration = json.loads(pathlib.Path(calibration_file).read_text())
    peers = json.loads((pathlib.Path(__file__).parent / "peers.json").read_text())
    ceilings = {ceiling["resource"]: ceiling for ceiling in calibration["ceilings"]}
    absent = {each["resource"]: each["reason"] for each in calibration["absent"]}
    print("<!-- SPDX-License-Identifier: Apache-2.0 -->\n# Ceilings beside other tools\n\n"
          f"gpubench: {calibration['device']['name']}, {calibration['created_utc'][:10]}, "
          f"[{pathlib.Path(calibration_file).name}]({pathlib.Path(calibration_file).name}). {peers['about'].split('; each')[0].replace('What known', 'Known')}; "
          "on 2026-11-20), unless the last column says otherwise. A ratio above 1 means that gpubench reads more, of a time that it reads less.\n\n"
          "```sh\npython3 docs/results/h200/peer_table.py docs/results/h200/calibration-full.json > docs/results/h200/peers.md\n```\n\n"
          "| ceiling | gpubench | interval | another tool | which | ratio | source |\n|---|---|---|---|---|---|---|")
    for figure in peers["figures"]:
        ceiling = ceilings.get(figure["resource"])
        source = figure.get("source", "")
        if ceiling is None:
            print(f"| {figure['resource']} | {absent.get(figure['resource'], 'not measured')} | | | {figure['tool']} | | {source} |")
            continue
        scale, unit = SCALES[ceiling["unit"]]
        if ceiling["unit"] == "B/s" and ceiling["value"] < 1e12:
            scale, unit = 1e-9, "GB/s"
        ratio = ceiling["value"] / figure["value"]
        low, high = (scale * each for each in ceiling["ci95"])
        print(f"| {figure['resource']} | {scale * ceiling['value']:.4g} {unit} | {low:.4g} to {high:.4g} | {scale * figure['value']:.4g} {unit} "
              f"| {figure['tool']} | {1 / ratio if ceiling['unit'] == 's' else ratio:.3f} | {source} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
