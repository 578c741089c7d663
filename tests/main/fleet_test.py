# SPDX-License-Identifier: Apache-2.0
"""Campaigns of 16 ranks on this machine, by files and by MPI: whole, and with ranks that die, hang, stop or have no GPU.
Arguments: gpubench."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1]
RANKS = 16
CALIBRATE = [PROGRAM, "fleet", "calibrate", "--device=cpu", "--probes=brief", "--runs=1"]
# Threads of 16 ranks on few cores only wait for each other.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM_"))} | {"OMP_NUM_THREADS": "1"}


def joined(folder):
    """Exit code, result and messages."""
    done = subprocess.run([PROGRAM, "fleet", "join", str(folder), "--json", "--quiet"], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


class Fleet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "campaign"

    def start(self, ranks=range(RANKS), seconds=60, extra=(), of=RANKS):
        processes = {}
        for rank in ranks:
            processes[rank] = subprocess.Popen(
                [*CALIBRATE, f"--out={self.folder}", f"--rank={rank}", f"--ranks={of}", f"--local-rank={rank % 4}", f"--node=node{rank // 4}",
                 f"--max-step-seconds={seconds}", *extra], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: [(process.kill(), process.wait(), process.stdout.close(), process.stderr.close()) for process in processes.values()])
        return processes

    def ends(self, processes):
        return {rank: (process.wait(timeout=120), process.communicate()[1]) for rank, process in processes.items()}

    def wait_for(self, rank, word):
        file = self.folder / f"rank-{rank:06}.jsonl"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if file.exists() and word in file.read_text():
                return
            time.sleep(0.01)
        self.fail(f"{file} never had {word}")

    def troubles(self, kind):
        return [one["text"] for one in joined(self.folder)[1]["troubles"] if one["kind"] == kind]

    def test_a_rank_that_is_stopped_says_what_is_kept(self):
        rank = self.start([0], of=1)[0]
        self.wait_for(0, "{")
        rank.send_signal(signal.SIGINT)
        code, said = self.ends({0: rank})[0]
        self.assertEqual(code, -signal.SIGINT)
        self.assertIn(f"gpubench: rank 0 stopped. What it measured in whole phases is in {self.folder}/rank-000000.jsonl.\n", said)

    def test_whole_campaign_by_files(self):
        ends = self.ends(self.start())
        self.assertEqual({code for code, _ in ends.values()}, {0}, ends)
        self.assertIn("steps by files", ends[0][1])
        self.assertIn("all 16 ranks", ends[0][1])
        code, result, _ = joined(self.folder)
        self.assertEqual((result["ranks"], result["gpus"], result["nodes"], result["runs"]), (16, 16, 4, 1))
        self.assertEqual(result["troubles"], [])
        phases = {(test["phase"], test["resource"]) for test in result["tests"]}
        self.assertLessEqual({(phase, resource) for phase in ("alone", "node", "fleet") for resource in ("dram-copy", "fp32")}, phases)
        # Memory may be short where others take it; arithmetic is always there.
        self.assertTrue(all(test["gpus"] == 16 for test in result["tests"] if test["resource"] == "fp32"), result["tests"])
        self.assertIn(code, (0, 3, 4))  # one run confirms nothing
        if code == 3:  # where others take the cores, the ranks are of two kinds in each test
            self.assertTrue(result["splits"])
        self.damage()

    def damage(self):
        """Files that are missing, cut off, of another version and of a node whose clock is off."""
        (self.folder / "rank-000002.jsonl").unlink()
        cut = self.folder / "rank-000003.jsonl"
        cut.write_bytes(cut.read_bytes()[:-100])
        wrong = self.folder / "rank-000004.jsonl"
        wrong.write_text(wrong.read_text().replace('"version":1', '"version":7'))
        late = self.folder / "rank-000006.jsonl"
        head, rest = late.read_text().split("\n", 1)
        head = json.loads(head) | {"started_utc": "2020-01-01T00:00:00Z"}
        late.write_text(json.dumps(head) + "\n" + rest)
        code, result, _ = joined(self.folder)
        self.assertEqual(code, 2)
        self.assertEqual({one["kind"] for one in result["troubles"]}, {"unreadable", "missing", "cut-off", "clock"})
        self.assertIn("version 7", self.troubles("unreadable")[0])
        self.assertIn("2 ranks of 16 left no file that can be read: 2, 4.", self.troubles("missing")[0])

    def test_a_dead_rank_costs_itself_alone(self):
        processes = self.start(seconds=8)
        self.wait_for(5, '"alone"')
        processes[5].kill()
        ends = self.ends(processes)
        self.assertEqual({code for rank, (code, _) in ends.items() if rank not in (0, 5)}, {0}, ends)
        self.assertEqual(ends[0][0], 2)
        self.assertIn("Rank 5 did not come to step", ends[0][1])
        code, result, _ = joined(self.folder)
        self.assertEqual(code, 2)
        self.assertEqual(result["gpus"], 16)  # what it measured before is kept
        self.assertEqual({one["kind"] for one in result["troubles"]}, {"lost", "unfinished"})
        self.assertIn("rank 5 (node1) died or hangs", self.troubles("unfinished")[0])

    def test_a_stopped_rank_is_given_up_and_knows_it(self):
        processes = self.start(seconds=8, ranks=range(7), of=7)
        self.wait_for(6, '"alone"')
        processes[6].send_signal(signal.SIGSTOP)
        others = {rank: process for rank, process in processes.items() if rank != 6}
        self.assertEqual({code for rank, (code, _) in self.ends(others).items() if rank != 0}, {0})
        processes[6].send_signal(signal.SIGCONT)
        code, messages = self.ends({6: processes[6]})[6]
        self.assertEqual(code, 2)
        self.assertIn("Rank 6 came too late to step", messages)
        self.assertIn("came too late", self.troubles("failed")[0])

    def test_ranks_that_never_start_are_named(self):
        ends = self.ends(self.start(ranks=[0, 1, 2, 4], of=6, seconds=3))
        self.assertEqual(ends[0][0], 2)
        self.assertIn("2 ranks of 6 left no file that can be read: 3, 5.", self.troubles("missing")[0])
        self.assertEqual(len(self.troubles("lost")), 2)

    def test_without_rank_0_nobody_waits_for_ever(self):
        started = time.monotonic()
        ends = self.ends(self.start(ranks=[1, 2], seconds=0.5))
        self.assertEqual({code for code, _ in ends.values()}, {2})
        self.assertIn("Rank 0 did not come to step 1", ends[1][1])
        self.assertLess(time.monotonic() - started, 100)

    def test_a_late_rank_and_a_used_folder_are_refused(self):
        self.ends(self.start(ranks=[0], seconds=0.5))
        for rank in (0, 7):
            code, messages = self.ends(self.start(ranks=[rank]))[rank]
            self.assertEqual(code, 64)
            self.assertIn(f"has begun without rank {rank}, or it is an older one", messages)
        code, _ = self.ends(self.start(ranks=[0], seconds=0.5, extra=["--campaign=another"]))[0]
        self.assertEqual(code, 2)  # alone, but not refused

    def test_a_rank_without_a_gpu_says_so(self):
        done = subprocess.run([PROGRAM, "fleet", "calibrate", f"--out={self.folder}", "--rank=1", "--ranks=2", "--local-rank=99"],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "rank 1 of 2 on .*: there (is no GPU|are [0-9]+ GPUs, and none is left) for local rank 99|^$")
        self.assertIn("local rank 99", (self.folder / "rank-000001.jsonl").read_text())
        ends = self.ends(self.start(ranks=[0], of=2, seconds=200))  # nobody waits for it
        self.assertEqual(ends[0][0], 2)
        self.assertIn("Rank 1 gave up before step 1 (start)", ends[0][1])

    def canary(self, *words):
        done = subprocess.run([PROGRAM, "fleet", "canary", *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(len(done.stdout.splitlines()), 0 if done.returncode == 64 else 1, done.stdout)
        return done.returncode, done.stdout + done.stderr

    def usual(self, factor):
        """A baseline whose values are this part of what this machine has just reached."""
        self.folder.mkdir(exist_ok=True)
        self.ends(self.start(ranks=[0], of=1))
        _, result, _ = joined(self.folder)
        file = self.folder / "usual.json"
        for test in result["tests"]:
            test["median"], test["sigma"] = test["median"] * factor, 0.001
        file.write_text(json.dumps(result))
        return f"--baseline={file}"

    def test_canary(self):
        fine, high = self.usual(0.3), None
        event = self.folder / "event.json"
        code, said = self.canary("--device=cpu", fine, f"--event={event}", "--node=node07")
        self.assertEqual(code, 0, said)
        found = json.loads(event.read_text())["events"][0]
        self.assertEqual((found["isHealthy"], found["isFatal"], found["nodeName"], found["processingStrategy"]), (True, False, "node07", "STORE_ONLY"))
        self.assertEqual(found["message"] + "\n", said)
        event.unlink()
        values = json.loads((self.folder / "usual.json").read_text())
        for test in values["tests"]:
            test["median"] *= 20
        high = self.folder / "high.json"
        high.write_text(json.dumps(values))
        code, said = self.canary("--device=cpu", f"--baseline={high}", f"--event={event}")
        self.assertEqual(code, 1)
        self.assertFalse(json.loads(event.read_text())["events"][0]["isHealthy"])
        event.unlink()
        self.assertRegex(said, r"fp32 \(\w+\) [0-9.]+ % below the fleet's [0-9.]+ [GT]FLOP/s")
        code, said = self.canary("--device=cpu")
        self.assertEqual(code, 3)
        self.assertIn("nothing to compare with", said)
        values["tests"] = [test | {"group": "Another CPU"} for test in values["tests"]]
        high.write_text(json.dumps(values))
        self.assertEqual(self.canary("--device=cpu", f"--baseline={high}", f"--event={event}")[0], 3)
        self.assertFalse(event.exists())
        high.write_text('{"schema": "gpubench trace"}')
        self.assertEqual(self.canary("--device=cpu", f"--baseline={high}")[0], 64)
        self.assertEqual(self.canary("--device=cpu", "--baseline=/nowhere")[0], 64)

    def test_history_of_one_device(self):
        """A CPU has no UUID: its node's name and its rank stand for one."""
        self.folder.mkdir()
        folders = []
        for number in (1, 2):
            folders.append(str(self.folder / str(number)))
            subprocess.run([*CALIBRATE, f"--out={folders[-1]}", "--rank=0", "--ranks=1", "--node=node07", f"--campaign=week {number}", "--quiet"], env=ENVIRONMENT,
                           timeout=100, check=True)
        out = self.folder / "history.json"
        history = [PROGRAM, "fleet", "history"]
        done = subprocess.run([*history, "node07", *folders, f"--out={out}", f"--out={out.with_suffix('.html')}"], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(out.read_text())
        self.assertEqual((result["uuid"], result["campaigns"][0]["node"], len(result["campaigns"])), ("node07 rank 0", "node07", 2))
        self.assertEqual(result["changes"], [])  # two values are no history
        self.assertIn("node07 rank 0", out.with_suffix(".html").read_text())
        for words in ((*history, "node07", *folders), (PROGRAM, "fleet", "join", folders[0])):  # --json goes before the extension, which may be in capitals
            for name, more, begins in (("as.csv", ["--json"], "{"), ("as.HTML", [], "<!DOCTYPE html>")):
                subprocess.run([*words, "--quiet", f"--out={out.with_name(name)}", *more], env=ENVIRONMENT, timeout=60, check=False)
                self.assertEqual(out.with_name(name).read_text()[:len(begins)], begins, (words, name))
        for words, said in ((["GPU-1234", *folders], "No GPU of these campaigns has a UUID that begins with GPU-1234"), (["node07", "/nowhere"], "/nowhere")):
            done = subprocess.run([*history, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(said, done.stderr)

    def test_collectives_do_not_wait_for_a_rank_that_never_came(self):
        self.folder.mkdir()
        done = subprocess.run([PROGRAM, "fleet", "collectives", "--rank=0", "--ranks=2", f"--steps-folder={self.folder}", "--max-step-seconds=1"],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("Rank 1 did not come to step 1 (NCCL) within 1 s", done.stderr)

    def test_canary_ends_in_time(self):
        started = time.monotonic()
        code, said = self.canary("--device=cpu", "--max-seconds=1")  # opening memory alone takes as long
        self.assertLess(time.monotonic() - started, 30)
        self.assertIn(code, (2, 3), said)

    def test_wrong_places_are_wrong_usage(self):
        for words, said in ((["--rank=2"], "go together"), (["--rank=2", "--ranks=2"], "must be below"), ([], "needs --out")):
            words = [*CALIBRATE, *words] if not words else [*CALIBRATE, f"--out={self.folder}", *words]
            done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn(said, done.stderr)
        done = subprocess.run([*CALIBRATE, f"--out={self.folder}"], env=ENVIRONMENT | {"SLURM_PROCID": "x", "SLURM_NTASKS": "2"},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("SLURM_PROCID=x is no whole number", done.stderr)

    def test_a_folder_that_fills_up_ends_all_ranks_at_once(self):
        self.folder.mkdir()
        script = f"""mount -t tmpfs -o size=128k full {self.folder} || exit 77
for rank in 0 1 2; do {' '.join(CALIBRATE)} --out={self.folder}/full --rank=$rank --ranks=3 --local-rank=$rank --max-step-seconds=200 2>{self.folder}.$rank || echo rank $rank $? & done
until test -e {self.folder}/full/steps-full/go; do sleep 0.02; done
dd if=/dev/zero of={self.folder}/rest bs=4k 2>{self.folder}.dd
wait"""
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=150, check=False)
        if done.returncode and not done.stdout:
            self.skipTest(done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"rank {rank} 64" for rank in range(3)])
        for rank in range(3):
            self.assertIn("No space left on device", pathlib.Path(f"{self.folder}.{rank}").read_text())

    def test_a_folder_that_takes_nothing(self):
        done = subprocess.run([*CALIBRATE, "--out=/proc/nothing"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 64)

    @unittest.skipUnless(shutil.which("mpirun") and (pathlib.Path(PROGRAM).parent / "libgpubench_mpi.so").exists(), "no MPI")
    def test_whole_campaign_by_mpi(self):
        done = self.mpirun([])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("steps by MPI", done.stderr)
        _, result, _ = joined(self.folder)
        self.assertEqual((result["ranks"], result["gpus"], result["runs"]), (16, 16, 1))
        self.assertEqual(result["troubles"], [])
        self.assertFalse(list(self.folder.glob("steps-*")))

    @unittest.skipUnless(shutil.which("mpirun") and (pathlib.Path(PROGRAM).parent / "libgpubench_mpi.so").exists(), "no MPI")
    def test_a_launcher_of_mpi_with_steps_by_files(self):
        done = self.mpirun(["--steps=files"], ranks=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("steps by files", done.stderr)
        self.assertEqual(joined(self.folder)[1]["gpus"], 4)

    @unittest.skipUnless(shutil.which("mpirun") and (pathlib.Path(PROGRAM).parent / "libgpubench_mpi.so").exists(), "no MPI")
    def test_a_stopped_rank_under_mpi_ends_the_others_in_time(self):
        stop = ["sh", "-c", 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 5 && sh -c "sleep 1; kill -STOP $$; sleep 60; kill -KILL $$" & exec "$@"', "sh"]
        done = self.mpirun(["--max-step-seconds=8"], before=stop, ranks=6)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("MPI cannot go on without those that died or hang", done.stderr)
        code, result, _ = joined(self.folder)
        self.assertEqual(code, 2)
        # mpirun wakes the stopped rank to end it: it may still write why it did not go on.
        self.assertTrue(any("rank 5 (" in text for text in self.troubles("unfinished") + self.troubles("failed")), result["troubles"])
        self.assertTrue(any("rank 0 (" in text for text in self.troubles("failed")), result["troubles"])

    @unittest.skipUnless(shutil.which("mpirun") and (pathlib.Path(PROGRAM).parent / "libgpubench_mpi.so").exists(), "no MPI")
    def test_links_between_ranks(self):
        done = self.mpirun(["--links"], ranks=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        peers = set()
        for rank in range(4):
            for line in (self.folder / f"rank-{rank:06}.jsonl").read_text().splitlines():
                row = json.loads(line)
                if "peer" in row:
                    peers.add((rank, row["peer"]))
                    self.assertEqual((row["resource"], row["phase"]), ("mpi-send", "node"))
                    self.assertGreater(row["value"], 1e6)
        self.assertEqual(peers, {(a, b) for a in range(4) for b in range(4) if a != b})
        tests = {(test["phase"], test["resource"]) for test in joined(self.folder)[1]["tests"]}
        self.assertLessEqual({("node", "mpi-send out"), ("node", "mpi-send in")}, tests)

    def test_a_launcher_of_another_mpi(self):
        """Open MPI under MPICH's launcher makes each process the only rank of its own."""
        words = [*CALIBRATE, f"--out={self.folder}", "--max-step-seconds=60"]
        processes = [subprocess.Popen(words, env=ENVIRONMENT | {"PMI_RANK": str(rank), "PMI_SIZE": "2", "MPI_LOCALRANKID": str(rank)},
                                      stderr=subprocess.PIPE, text=True) for rank in (0, 1)]
        messages = [process.communicate(timeout=120)[1] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], messages)
        self.assertIn("steps by files", messages[0])
        self.assertEqual(joined(self.folder)[1]["gpus"], 2)

    @unittest.skipUnless(shutil.which("mpirun") and (pathlib.Path(PROGRAM).parent / "libgpubench_mpi.so").exists(), "no MPI")
    def test_collectives_by_mpi(self):
        out = self.folder.with_suffix(".json")
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", PROGRAM, "fleet", "collectives"]
        done = subprocess.run([*start, "--max-bytes=5000", "--iterations=5", "--max-point-seconds=0.05", f"--out={out}", "--quiet"], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=180, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(out.read_text())["collectives"]
        self.assertEqual(len(rows), 6 * 9)  # 12 to 4092 bytes; 8 are too few for three ranks
        factors = {"all-reduce": 4 / 3, "all-gather": 2 / 3, "reduce-scatter": 2 / 3, "broadcast": 1, "all-to-all": 2 / 3, "send-receive": 1}
        for row in rows:
            self.assertEqual(row["bytes"] % 12, 0)
            self.assertAlmostEqual(row["bus"] / row["algorithm"], factors[row["collective"]])
            self.assertAlmostEqual(row["algorithm"] * row["median_seconds"] / row["bytes"], 1)
            self.assertGreaterEqual(row["p99_seconds"], row["median_seconds"])
            self.assertIn(row["limit"], ("overhead", "latency", "link"))
        limits = {row["ceiling"]: row for row in json.loads(out.read_text())["limits"]}
        self.assertEqual(set(limits), {f"mpi-{name}" for name in factors})
        for row in limits.values():
            self.assertLessEqual(row["boundary_low_bytes"], row["boundary_bytes"])
            self.assertLessEqual(row["boundary_bytes"], row["boundary_high_bytes"])
            self.assertGreater(row["overhead_seconds"], 0)
        by_mpi = subprocess.run([*start, "--graph", "--device=cpu"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("--graph takes GPUs and NCCL", by_mpi.stderr)
        alone = subprocess.run([PROGRAM, "fleet", "collectives"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(alone.returncode, 64)
        self.assertIn("One rank alone exchanges nothing", alone.stderr)

    def test_collectives_without_what_they_need(self):
        """By files there is no MPI to fall back to: what NCCL lacks is said by each rank."""
        self.folder.mkdir()
        for number, (words, said) in enumerate(((["--device=cpu"], "NCCL takes GPUs, and this rank has a CPU"),
                                                (["--by=mpi"], "NCCL cannot be used"))):
            start = [PROGRAM, "fleet", "collectives", "--ranks=2", f"--steps-folder={self.folder}", f"--campaign={number}", *words]
            ranks = [subprocess.Popen([*start, f"--rank={rank}"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) for rank in (0, 1)]
            for rank in ranks:
                self.assertIn(said, rank.communicate(timeout=60)[1])
                self.assertEqual(rank.returncode, 64)
        missing = subprocess.run([PROGRAM, "fleet", "collectives", "--by=nccl"], env=ENVIRONMENT | {"GPUBENCH_NCCL": "/nowhere/libnccl.so.2"},
                                 capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(missing.returncode, 64)

    def mpirun(self, words, before=(), ranks=RANKS):
        return subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *before, *CALIBRATE, f"--out={self.folder}", *words],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=180, check=False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
