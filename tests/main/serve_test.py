# SPDX-License-Identifier: Apache-2.0
"""gpubench serve over HTTP and in a real browser. Arguments: the program, a folder with traces, a run, a calibration.

Without a browser the tests of the page are skipped; exit code 77 where the program was built without cpp-httplib."""

import gzip
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

PROGRAM, TRACES, RUN, CALIBRATION = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reports_html"))
import browser as headless  # noqa: E402

COMPILED = {"speedup": 1.7, "compile_time_ms": 812.5, "total_graph_breaks": 1, "graph_breaks": [{"reason": "<img src=x onerror=alert(1)>", "suggestion": "move print out"}], "recommendations": ["warm up"]}


class Serve(unittest.TestCase):
    def setUp(self):
        self.outside = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-serve-outside-"))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-serve-"))
        for path in (self.outside, self.folder):
            self.addCleanup(shutil.rmtree, path)
        shutil.copy(RUN, self.folder / "run.json")
        shutil.copy(CALIBRATION, self.folder / "calibration.json")
        (self.folder / "deep").mkdir()
        shutil.copy(TRACES / "kineto.json", self.folder / "deep" / "trace.json")
        with gzip.open(self.folder / "packed.json.gz", "wb") as file:
            file.write((TRACES / "kineto.json").read_bytes())
        (self.folder / "model.compile.json").write_text(json.dumps(COMPILED))
        (self.folder / "secret.txt").write_text("secret")
        (self.folder / ".hidden.json").write_text((TRACES / "kineto.json").read_text())
        shutil.copy(TRACES / "kineto.json", self.outside / "outside.json")
        (self.folder / "link.json").symlink_to(self.outside / "outside.json")
        self.process = subprocess.Popen([PROGRAM, "serve", str(self.folder), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        line = self.process.stdout.readline()
        self.assertIn(" until Ctrl-C.", line, self.process.stderr.read() if not line else "")
        self.port = int(line.split("127.0.0.1:")[1].split("/")[0])

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()  # killed it would leave its folder
        self.process.communicate(timeout=300)

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def json(self, path, status=200):
        code, body, headers = self.ask(path)
        self.assertEqual(code, status, body)
        self.assertTrue(headers["Content-Type"].startswith("application/json"))
        return json.loads(body)

    def test_what_lies_in_the_folder(self):
        files = {file["path"]: file for file in self.json("/api/runs")["files"]}
        self.assertEqual({path: file["kind"] for path, file in files.items()}, {
            "run.json": "run", "calibration.json": "calibration", "deep/trace.json": "trace", "packed.json.gz": "trace", "model.compile.json": "compile"})
        self.assertIn("point", files["run.json"]["about"])
        self.assertIn("about", files["calibration.json"])
        self.assertTrue(files["deep/trace.json"]["about"].startswith("PyTorch"), files["deep/trace.json"])
        self.assertEqual(files["packed.json.gz"]["about"], files["deep/trace.json"]["about"])

    def test_all_that_is_listed_opens(self):
        for name in (b"<i>&#?%20'\".json", b"a\nline\t.json", "\u202egnp.json".encode(), b"\xff\xfe.json"):
            shutil.copy(RUN, os.fsencode(self.folder) + b"/" + name)
        paths = [file["path"] for file in self.json("/api/runs")["files"] if file["kind"] == "run"]
        self.assertEqual(len(paths), 5, paths)
        self.assertEqual({path: self.ask("/report?file=" + urllib.parse.quote(path))[0] for path in paths}, dict.fromkeys(paths, 200))

    def test_what_is_told_of_a_trace(self):
        event = {"ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "name": "not a GPU"}
        of = {"none.json": {"deviceProperties": [], "rank": None, "traceEvents": [event]},
              "late.json": {"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "other": {"rank": "x"}, "rank": 3, "world_size": 8, "traceEvents": [event]}}
        for name, trace in of.items():
            (self.folder / name).write_text(json.dumps(trace))
        about = {file["path"]: file["about"] for file in self.json("/api/runs")["files"] if file["path"] in of}
        self.assertEqual(about, {"none.json": "PyTorch", "late.json": "PyTorch, NVIDIA H200, rank 3 of 8"})

    def test_api_of_profiler(self):
        for query in ("", "?file=deep/trace.json", "?file=packed.json.gz"):
            tree = self.json("/api/profiler/flame" + query)["frames"][0]
            self.assertEqual(tree["name"], "all")
            timeline = self.json("/api/profiler/timeline" + query)
            self.assertLessEqual(timeline["overlap_time_us"], min(timeline["cpu_active_time_us"], timeline["gpu_active_time_us"]))
            self.assertLessEqual(max(timeline["cpu_active_time_us"], timeline["gpu_active_time_us"]), timeline["total_time_us"])
            self.assertGreater(len(timeline["slices"]), 5)
            kernels = self.json("/api/profiler/kernels" + query)["kernels"]
            self.assertAlmostEqual(sum(kernel["cuda_time_us"] for kernel in kernels), 1e6 * tree["total_seconds"], places=2)
            hta = self.json("/api/profiler/hta" + query)
            self.assertLessEqual(hta["gpu_idle_time_pct"] + hta["compute_time_pct"], 100.0 + 1e-9)
            self.assertEqual(hta["top_kernels"][0]["time_us"], kernels[0]["time_us"])
            self.assertIn("recommendations", hta)
            self.assertIn("memory", self.json("/api/profiler/memory" + query))
        self.assertEqual(self.json("/api/profiler/compile"), COMPILED)
        self.assertIn("gpu or host", self.json("/api/profiler/flame?time=cpu", 400)["error"])

    def test_pages(self):
        for path, words in (("/", b"gpubench"), ("/report?file=run.json", b"All points"), ("/report?file=calibration.json", b"Calibration"),
                            ("/timeline?file=deep/trace.json", b"Timeline"), ("/flame?file=packed.json.gz", b"Flame graph"),
                            ("/diff?base=deep/trace.json&new=packed.json.gz", b"What changed"),
                            ("/compare?base=run.json&new=run.json", b"What changed")):
            code, body, headers = self.ask(path, Accept_Encoding="gzip, br")
            self.assertEqual(code, 200, (path, body[:300]))
            self.assertIn(words, body)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertNotIn("Content-Encoding", headers)  # packing a page takes longer than sending it

    def test_nothing_leads_out_of_the_folder(self):
        for path in ("../outside.json", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "link.json", "secret.txt", ".hidden.json", "deep/../../x.json", "", ".", "deep", "run.json%00", "deep/trace.json/..", "none.json"):
            for address in (f"/timeline?file={path}", f"/report?file={path}", f"/api/profiler/flame?file={path}", f"/history?file={path}", f"/api/profiler/compile?file={path}"):
                code, body, _ = self.ask(address)
                self.assertEqual(code, 404, (address, body[:200]))
                self.assertNotIn(b"secret", body)
        for address in ("/../secret.txt", "/secret.txt", "/%2e%2e/etc/passwd", "/run.json"):
            self.assertEqual(self.ask(address)[0], 404, address)

    def test_other_names_and_methods_are_refused(self):
        for host, code in (("127.0.0.1", 200), ("localhost:99", 200), ("[::1]:1", 200), ("127.evil.example", 403), ("0.0.0.0", 403), ("evil.example", 403), ("localhost.evil.example:6970", 403), ("", 403), ("192.0.2.1", 403), ("[", 403)):
            self.assertEqual(self.ask("/api/runs", Host=host)[0], code, host)
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            self.assertIn(self.ask("/api/runs", method)[0], (405, 413, 400), method)
        self.assertEqual(self.ask("/api/runs", "HEAD")[:2], (200, b""))
        for noise in (b"\0" * 200, b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100000 + b"\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), timeout=300) as connection:
                connection.sendall(noise)
        self.assertEqual(self.ask("/api/runs")[0], 200)

    def test_connections_that_send_nothing_or_little_delay_nobody(self):
        held = []
        self.addCleanup(lambda: [one.close() for one in held])
        for i in range(300):
            one = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            held.append(one)
            if i % 3:
                one.sendall(b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\n")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/runs")
        self.assertEqual(connection.getresponse().status, 200)
        # A byte now and then does not keep a header from its deadline.
        slow = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        held.append(slow)
        slow.settimeout(0.1)
        until, ended = time.monotonic() + 60, False
        while not ended and time.monotonic() < until:
            try:
                slow.sendall(b"G")
                ended = slow.recv(1) == b""
            except TimeoutError:
                pass
            except OSError:
                ended = True
        self.assertTrue(ended)

    def test_files_that_are_broken_are_said(self):
        (self.folder / "broken.json").write_text('{"schema":{"name":"gpubench-run","version":1},"points":[')
        (self.folder / "torn.json").write_text('{"traceEvents": 7')
        (self.folder / "list.compile.json").write_text("[1]")
        (self.folder / "deep.compile.json").write_text('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}")
        files = {file["path"]: file for file in self.json("/api/runs")["files"]}
        self.assertIn("broken.json", files["broken.json"]["trouble"])
        self.assertEqual(self.ask("/report?file=broken.json")[0], 422)
        self.assertIn("torn.json", self.json("/api/profiler/kernels?file=torn.json", 422)["error"])
        for file in ("list", "deep"):
            self.assertEqual(self.ask(f"/api/profiler/compile?file={file}.compile.json")[0], 422)

    def test_ends_by_a_signal_that_comes_at_once(self):
        for _ in range(5):
            process = subprocess.Popen([PROGRAM, "serve", str(self.folder), "--port=0"], stdout=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            with process.stdout:
                process.stdout.readline()
                process.terminate()
                self.assertEqual(process.wait(60), 0)

    def test_ends_by_ctrl_c_and_says_that_a_port_is_taken(self):
        other = subprocess.run([PROGRAM, "serve", str(self.folder), f"--port={self.port}"], capture_output=True, text=True, timeout=300)
        self.assertEqual((other.returncode, len(other.stderr.splitlines())), (64, 1), other.stderr)
        self.assertIn(f"port {self.port} of 127.0.0.1 is in use", other.stderr)
        self.ask("/api/runs")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(300), 0)
        self.assertEqual(self.process.stderr.read(), "")
        missing = subprocess.run([PROGRAM, "serve", str(self.folder / "none")], capture_output=True, text=True, timeout=300)
        self.assertEqual(missing.returncode, 64)
        self.assertIn("is no folder", missing.stderr)

    def update_store(self, factor, label):
        """An entry of .gpubench in the folder, by `gpubench gate update` from runs as four processes write them."""
        runs = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-serve-runs-"))
        self.addCleanup(shutil.rmtree, runs)
        for i in range(4):
            run = json.loads(pathlib.Path(RUN).read_text())
            run["context"]["created_utc"] = f"2026-01-01T00:00:0{i}Z {label}"
            run["points"] = [point for point in run["points"] if "failure" not in point["measurement"]]
            for point in run["points"]:
                for timing in point["measurement"]["timings"]:
                    for key in ("samples_seconds", "block_sizes", "samples_clock_hz"):
                        timing.pop(key, None)
                    seconds = timing.get("seconds") or {}
                    for key, value in seconds.items():
                        if isinstance(value, float):
                            seconds[key] = value * factor * (1 + 0.0003 * i)
                    if seconds:
                        seconds["median_ci95"] = [seconds["median"] * 0.999, seconds["median"] * 1.001]
            (runs / f"run-{i}.json").write_text(json.dumps(run))
        result = subprocess.run([PROGRAM, "gate", "update", str(runs), f"--store={self.folder / '.gpubench'}", f"--label={label}"], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_history_of_a_gate_store(self):
        for i, factor in enumerate((1.0, 1.2, 1.2, 1.2)):
            self.update_store(factor, f"<i>entry-{i}</i>")
        self.assertEqual([file["path"] for file in self.json("/api/runs")["files"] if file["kind"] == "gate"], [".gpubench"])
        code, body, headers = self.ask("/history?file=.gpubench")
        self.assertEqual(code, 200, body[:300])
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        said = subprocess.run([PROGRAM, "gate", "history", f"--store={self.folder / '.gpubench'}", "--color=never"], capture_output=True, text=True, timeout=300, env=dict(os.environ, COLUMNS="110"))
        self.assertIn("slower", said.stdout)
        self.assertIn("entry-1", said.stdout)
        path = headless.find()
        if not path:
            self.skipTest("no browser")
        page = headless.Browser(path)
        self.addCleanup(page.close)
        page.call("Page.navigate", url=f"http://127.0.0.1:{self.port}/history?file=.gpubench")
        page.until("(document.documentElement || {dataset: {}}).dataset.theme !== undefined || document.querySelector('pre')")
        shown = page.evaluate("document.querySelector('#view pre').textContent")
        for line in said.stdout.splitlines():
            self.assertIn(line.rstrip(), shown)
        self.assertEqual(page.evaluate("document.querySelectorAll('#view i').length"), 0)
        self.assertIn("Gate history of .gpubench", page.evaluate("document.title"))
        self.assertEqual(page.complaints(), [])
        # On the page of the folder it is one click away, and anew when the store is.
        page.call("Page.navigate", url=f"http://127.0.0.1:{self.port}/")
        page.until("[...document.querySelectorAll('#lists h2')].some(h => h.textContent === 'Gate history')")
        page.evaluate("[...document.querySelectorAll('#lists tr')].find(r => r.textContent.includes('.gpubench')).querySelector('button').click()")
        page.until("document.getElementById('frame').src.includes('/history?file=.gpubench')")
        before = page.evaluate("document.getElementById('frame').src")
        self.update_store(0.9, "faster")
        page.until(f"document.getElementById('frame').src !== {json.dumps(before)}")
        self.assertIn(b"faster", self.ask("/history?file=.gpubench")[1])
        (next((self.folder / ".gpubench").rglob("000005.json"))).write_text("{")
        code, body, _ = self.ask("/history?file=.gpubench")
        self.assertEqual(code, 422)
        self.assertIn(b"000005.json", body)

    def test_the_page_in_a_browser(self):
        path = headless.find()
        if not path:
            self.skipTest("no browser")
        if not (pathlib.Path(PROGRAM).parent / "vega/bundle.js").exists():
            self.skipTest("built without charts")
        pictures = os.environ.get("GPUBENCH_PICTURES")
        page = headless.Browser(path)
        self.addCleanup(page.close)
        page.call("Emulation.setDeviceMetricsOverride", width=390, height=900, deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=f"http://127.0.0.1:{self.port}/")
        page.until("document.querySelectorAll('#lists tbody tr').length === 5")
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).length"), 0)
        if pictures:
            page.screenshot(f"{pictures}/serve-390.png")
        self.assertIn("Two traces:", page.evaluate("document.querySelector('#lists section:has(#diff)').textContent"))
        self.assertEqual(page.evaluate("document.querySelector('#lists section:has(#diff) h2').textContent"), "Traces")
        page.call("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
        click = lambda name, text: page.evaluate(f"[...document.querySelectorAll('#lists tr')].find(r => r.textContent.includes({json.dumps(name)})).querySelectorAll('button')"
                                                 f"[{text}].click()")
        click("deep/trace.json", 1)
        page.until("document.getElementById('frame').src.includes('/flame?file=deep')")
        for _ in range(100):  # the frame is a page of its own, without access from this one
            session, page.session = page.session, None
            frames = [info for info in page.call("Target.getTargets")["targetInfos"] if info["type"] == "iframe" and "/flame" in info["url"]]
            page.session = session
            if frames:
                break
            time.sleep(0.1)
        page.session = None
        page.session = page.call("Target.attachToTarget", targetId=frames[0]["targetId"], flatten=True)["sessionId"]
        page.until("(document.documentElement || {dataset: {}}).dataset.charts === '1'")
        self.assertIn("Flame graph", page.evaluate("document.querySelector('h2').textContent"))
        self.assertFalse(page.evaluate("document.documentElement.dataset.errors"))
        page.session = session
        if pictures:
            page.screenshot(f"{pictures}/serve-1400.png", whole=False)
        click("model.compile.json", 0)
        page.until("document.getElementById('compile').textContent.includes('move print out')")
        self.assertEqual(page.evaluate("document.querySelectorAll('#compile img').length"), 0)
        if script := headless.axe_script():
            self.assertEqual(page.axe(script), [])
            page.look(1400, False)
        looks = page.evaluate("Number(document.documentElement.dataset.looks)")
        shutil.copy(RUN, self.folder / "later.json")
        page.until("document.querySelectorAll('#lists tbody tr').length === 6")
        self.assertGreater(page.evaluate("Number(document.documentElement.dataset.looks)"), looks)
        (self.folder / "model.compile.json").write_text(json.dumps(dict(COMPILED, recommendations=["something else"])))
        page.until("document.getElementById('compile').textContent.includes('something else')")
        (self.folder / "broken.json").write_bytes(pathlib.Path(RUN).read_bytes()[:2000])
        page.until("[...document.querySelectorAll('#lists tr')].some(r => r.textContent.includes('cut off'))")
        row = "[...document.querySelectorAll('#lists tr')].find(r => r.textContent.includes('broken.json'))"
        self.assertTrue(page.evaluate(row + ".cells[2].textContent").startswith("ends in the middle"))
        self.assertEqual(page.evaluate(row + ".querySelectorAll('button').length"), 0)
        self.assertFalse(page.evaluate("document.documentElement.dataset.errors"))
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    probe = subprocess.run([PROGRAM, "serve", "/nowhere-at-all"], capture_output=True, text=True, timeout=300)
    if "built without cpp-httplib" in probe.stderr:
        print("skipped:", probe.stderr.strip())
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
