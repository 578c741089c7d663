# SPDX-License-Identifier: Apache-2.0
"""The page of a campaign in a browser. Arguments: gpubench, make_fleet. Skips without Chromium."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MAKE_FLEET = sys.argv[1:3]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SKIPPED = 77


def dom_of(page, profile):
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom",
                           page.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def page(self, *plan):
        subprocess.run([MAKE_FLEET, str(self.folder / "fleet"), *plan], check=True, timeout=120)
        page = self.folder / "fleet.html"
        subprocess.run([PROGRAM, "fleet", "join", str(self.folder / "fleet"), "--quiet", f"--out={page}"], timeout=120, check=False)
        text = dom_of(page, self.folder / "profile")
        self.assertNotIn("data-errors", text)
        return text

    def test_found_gpus_are_shown_and_opened(self):
        text = self.page("gpus=64", "resources=5", "slow-gpus=2", "slow=0.05", "links=1", "slow-links=1")
        self.assertRegex(text, r"<li>node0002 cuda:0 \(GPU-00000010\): ")
        self.assertIn("Found: ", text)
        self.assertRegex(text, r'id="gpu-name">node000[26] cuda:0<')
        self.assertIn("found slow", text)
        self.assertRegex(text, r'<canvas id="map"[^>]*width="[1-9]')
        self.assertRegex(text, r'<canvas id="links-map"[^>]*width="[1-9]')
        self.assertGreater(len(re.findall("<option", text)), 15)

    def test_a_fleet_without_findings_or_links(self):
        text = self.page("gpus=1", "resources=2", "runs=1")
        self.assertIn("Nothing was compared", text)
        self.assertIsNone(re.search('id="links-map"', text))
        self.assertRegex(text, r'<canvas id="map"[^>]*width="[1-9]')


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
