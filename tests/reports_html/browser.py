# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium driven over its debugging pipe (no package beyond the standard library)."""
import base64
import glob
import importlib.util
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


# Texts of drawings that lie on one another by more than 2 px, and texts that are cut off at the drawing's edge. Roofs' labels are turned, so
# boxes are compared along the axes of both; they have room above and below the letters, which does not count.
OVERLAPS = """(() => { const found = [];
  const quad = (t) => { const b = t.getBBox(), m = t.getScreenCTM(); const low = b.y + 0.15 * b.height, high = b.y + 0.85 * b.height;
    return [[b.x, low], [b.x + b.width, low], [b.x + b.width, high], [b.x, high]].map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]); };
  const span = (q, [x, y]) => { const d = q.map((p) => p[0] * x + p[1] * y); return [Math.min(...d), Math.max(...d)]; };
  const apart = (p, q) => [p, q].some((r) => [0, 1].some((k) => { const a = [r[k + 1][0] - r[k][0], r[k + 1][1] - r[k][1]], n = Math.hypot(...a) || 1;
    const u = span(p, [a[0] / n, a[1] / n]), v = span(q, [a[0] / n, a[1] / n]); return u[1] < v[0] + 2 || v[1] < u[0] + 2; }));
  const seen = (t) => { for (let e = t; e && e.tagName !== 'svg'; e = e.parentNode) { const s = getComputedStyle(e); if (s.opacity < 0.1 || s.display === 'none') return false; }
    return t.textContent.trim() && getComputedStyle(t).fillOpacity > 0.1; };
  for (const svg of document.querySelectorAll('figure svg')) {
    const room = (t) => { const g = t.closest('[clip-path]'); if (!g) return null; const m = g.getScreenCTM(), b = document.querySelector(g.getAttribute('clip-path').slice(4, -1)).firstElementChild.getBBox();
      return [m.a * b.x + m.e, m.d * b.y + m.f, m.a * (b.x + b.width) + m.e, m.d * (b.y + b.height) + m.f]; };
    const edge = svg.getBoundingClientRect(), name = (svg.closest('figure.chart') || {id: 'samples'}).id;
    const texts = [...svg.querySelectorAll('text')].filter(seen).map((t) => [t.textContent, quad(t), room(t)]);
    texts.forEach(([a, p, r], i) => { if (r && p.some(([x, y]) => x < r[0] - 2 || x > r[2] + 2 || y < r[1] - 2 || y > r[3] + 2)) found.push(name + ' clipped: ' + a);
      if (p.some(([x, y]) => x < edge.left - 1 || x > edge.right + 1 || y < edge.top - 1 || y > edge.bottom + 1)) found.push(name + ' cut off: ' + a);
      for (const [b, q] of texts.slice(i + 1)) if (!apart(p, q)) found.push(name + ': ' + a + ' / ' + b); });
  } return found; })()"""


def find():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def axe_script():
    """axe-core's text: from $GPUBENCH_AXE, or of build/readers, where scripts/setup.sh --tests puts it, or of this Python; None where there is none."""
    build = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build")
    spec = importlib.util.find_spec("axe_core_python")
    places = [os.environ.get("GPUBENCH_AXE", ""), *glob.glob(build + "/readers/lib/python*/site-packages/axe_core_python/axe.min.js"),
              os.path.join(os.path.dirname(spec.origin), "axe.min.js") if spec and spec.origin else ""]
    file = next((place for place in places if place), None)
    if not file:
        return None
    with open(file, encoding="utf-8") as stream:
        return stream.read()


class Browser:
    """One page at a time, without a network. Messages are JSON ended by a NUL: requests go to file descriptor 3, answers come from 4."""

    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="gpubench-browser-")
        request_read, self.request = os.pipe()
        self.answer, answer_write = os.pipe()
        pipes = f"exec 3<&{request_read} 4>&{answer_write}; exec \"$0\" \"$@\""
        self.process = subprocess.Popen(
            ["sh", "-c", pipes, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(request_read, answer_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(request_read)
        os.close(answer_write)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = []
        target = next(info for info in self._wait_for_page() if info["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def _wait_for_page(self):
        for _ in range(100):
            infos = self.call("Target.getTargets", timeout=60)["targetInfos"]
            if any(info["type"] == "page" for info in infos):
                return infos
            time.sleep(0.1)
        raise RuntimeError("the browser opened no page")

    def call(self, method, timeout=60, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.request, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answer], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser did not answer")
            part = os.read(self.answer, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, width, height=900, fragment="", dark=False):
        """Opens a file and returns the seconds until its charts are drawn."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="about:blank")
        started = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.until("location.protocol === 'file:' && (document.documentElement || {dataset: {}}).dataset.charts !== undefined")
        return time.monotonic() - started

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, timeout=60):
        deadline = time.monotonic() + timeout
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def look(self, width, dark):
        """Changes the window's width and the system's theme under an open page."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")

    def axe(self, script):
        """What axe-core finds serious in the open page, contrast among it: light and wide, then dark and narrow; of rows and marks the first eight, of an axis two labels."""
        found = []
        for width, dark in ((1400, False), (390, True)):
            self.look(width, dark)
            # Hundreds of marks, rows, labels and lines that are all alike take most of the time.
            self.evaluate("document.querySelectorAll('tbody tr:nth-child(n+9), .role-mark > :nth-child(n+9), :is(.role-axis-label, .role-axis-tick, .role-axis-grid) > :nth-child(n+3)')"
                          ".forEach((more) => more.remove())")
            if not self.evaluate("!!window.axe"):
                self.evaluate(script + "; true")
            found += self.evaluate("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))"
                                   ".map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + n.any.map((a) => a.message).join('; ')).join(' | ')))")
        return found

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the browser itself logged as an error or threw."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("text", "exception"))
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
        return found

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.request)
        os.close(self.answer)
        shutil.rmtree(self.profile, ignore_errors=True)
