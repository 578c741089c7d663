# SPDX-License-Identifier: Apache-2.0
"""Writes Vega, Vega-Lite and Vega-Embed as one JavaScript file. Usage: vega_bundle.py FILE"""
import fcntl
import os
import sys

import vl_convert

NOTICE = """\
/* Vega {vega}, Vega-Lite {lite}, Vega-Embed {embed}, as bundled by vl-convert {convert}.
 * Vega, Vega-Lite, Vega-Embed: BSD-3-Clause, (c) University of Washington Interactive Data Lab and contributors.
 * D3 modules inside: ISC and BSD-3-Clause, (c) Mike Bostock. */
"""


def main():
    path = sys.argv[1]
    versions = {
        "vega": vl_convert.get_vega_version(),
        "lite": vl_convert.get_vegalite_versions()[-1],
        "embed": vl_convert.get_vega_embed_version(),
        "convert": vl_convert.__version__,
    }
    notice = NOTICE.format(**versions)
    print(f"Vega {versions['vega']} and Vega-Lite {versions['lite']}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # setup.sh and CMake may both be at it
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                if file.read(len(notice)) == notice:
                    return
        with open(path + ".part", "w", encoding="utf-8", newline="\n") as file:
            file.write(notice + vl_convert.javascript_bundle())
        os.replace(path + ".part", path)


main()
