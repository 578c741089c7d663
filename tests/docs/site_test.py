# SPDX-License-Identifier: Apache-2.0
"""mkdocs builds the site without a warning, and no page of it loads anything from elsewhere. Ends with 77 without mkdocs.

    site_test.py SOURCE [PYTHON]    PYTHON: of the virtual environment with docs/requirements.txt; GPUBENCH_DOCS_PYTHON names another
"""
import html.parser
import os
import pathlib
import subprocess
import sys
import tempfile

MAX_BYTES = 400_000  # of a file of ours
# Elements that a browser loads by itself, and where they say from.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
RELATIONS = {"stylesheet", "preload", "preconnect", "dns-prefetch", "icon", "modulepreload"}


class Loads(html.parser.HTMLParser):
    """What a page loads from another host."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        place = values.get(LOADED.get(tag, ""), "") or ""
        if tag == "link" and not RELATIONS & set((values.get("rel") or "").split()):
            return
        if place.startswith(("http:", "https:", "//")):
            self.found.append(f"<{tag}> {place}")


def python_with_mkdocs(candidates):
    for python in candidates:
        if python and subprocess.run([python, "-c", "import mkdocs, material"], capture_output=True).returncode == 0:
            return python
    return None


def main(source, *pythons):
    given = [python for python in (os.environ.get("GPUBENCH_DOCS_PYTHON"), *pythons) if python and pathlib.Path(python).exists()]
    python = python_with_mkdocs([*given, sys.executable])
    if python is None:
        print("mkdocs-material is not installed: python3 -m venv build/docs-venv && build/docs-venv/bin/pip install -r docs/requirements.txt")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpubench-site-") as site:
        built = subprocess.run([python, "-m", "mkdocs", "build", "--strict", "--quiet", f"--config-file={source}/mkdocs.yml", f"--site-dir={site}"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=source, env=dict(os.environ, NO_MKDOCS_2_WARNING="1"))
        if built.returncode:
            print(built.stdout)
            return 1
        problems, pages = [], sorted(pathlib.Path(site).rglob("*.html"))
        for page in pages:
            parser = Loads()
            parser.feed(page.read_text())
            problems += [f"{page.relative_to(site)} loads {place}" for place in parser.found]
        for file in pathlib.Path(site).rglob("*"):
            if file.is_file() and file.stat().st_size > MAX_BYTES and not {"assets", "search"} & set(file.relative_to(site).parts):
                problems.append(f"{file.relative_to(site)} has {file.stat().st_size} bytes")
        if len(pages) < 10:
            problems.append(f"only {len(pages)} pages")
        print("\n".join(problems) or f"{len(pages)} pages")
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
