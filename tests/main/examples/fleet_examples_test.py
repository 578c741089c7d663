# SPDX-License-Identifier: Apache-2.0
"""The examples of examples/fleet, run on this machine where they can be. Arguments: gpubench, the source folder."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
EXAMPLES = SOURCE / "examples" / "fleet"
HOST = "--device=cpu --probes=brief --runs=1 --max-step-seconds=60"


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        (self.work / "bin").mkdir()
        (self.work / "bin" / "gpubench").symlink_to(PROGRAM)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM_"))}
        self.environment = clean | {"PATH": f"{self.work / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "CALIBRATE_OPTIONS": HOST,
                                    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def tool(self, name, text):
        (self.work / "bin" / name).write_text("#!/bin/bash\n" + text)
        (self.work / "bin" / name).chmod(0o755)

    def run_example(self, *words, **more):
        return subprocess.run([str(word) for word in words], env=self.environment | more, cwd=self.work, capture_output=True, text=True, timeout=300,
                              check=False)

    def ranks_in(self, folder):
        self.assertIn(b"<!DOCTYPE html>", (folder / "fleet.html").read_bytes()[:200])
        result = json.loads((folder / "fleet.json").read_text())
        self.assertEqual(result["troubles"], [])
        return result["gpus"]

    def test_ssh_loop(self):
        self.tool("ssh-here", 'shift; exec bash -c "$*"\n')
        folder = self.work / "with space"
        done = self.run_example(EXAMPLES / "ssh-loop.sh", folder, "2", "a", "b", SSH="ssh-here")
        self.assertEqual(done.returncode, 3, done.stderr)  # four are too few to compare
        self.assertEqual(self.ranks_in(folder), 4)

    def test_mpirun(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        done = self.run_example(EXAMPLES / "mpirun.sh", self.work / "campaign", "3", "--oversubscribe")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.ranks_in(self.work / "campaign"), 3)

    def test_sbatch_with_a_stand_in_of_srun(self):
        # Slurm itself: slurm_test.py.
        self.tool("srun", 'test "$1" = --kill-on-bad-exit=0 || exit 9\nshift\n'
                          'for i in 0 1 2; do SLURM_PROCID=$i SLURM_NTASKS=3 SLURM_LOCALID=$i "$@" & done; wait\n')
        done = self.run_example(EXAMPLES / "campaign.sbatch", self.work, SLURM_JOB_ID="77", PROBES="brief",
                                CALIBRATE_OPTIONS=HOST.replace("--probes=brief ", ""))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.ranks_in(self.work / "77"), 3)
        self.assertEqual(json.loads((self.work / "77" / "fleet.json").read_text())["campaign"], "77")
        self.assertIn("gpubench_fleet_gpus", (self.work / "77" / "fleet.prom").read_text())

    def test_prolog_drains_for_slow_and_hanging_gpus_alone(self):
        for code, drains in ((0, False), (1, True), (2, True), (3, False), (4, False), (64, False), (137, True)):
            (self.work / "bin" / "gpubench").unlink()
            self.tool("gpubench", f"echo 'canary: said {code}'; exit {code}\n")
            done = self.run_example(EXAMPLES / "prolog.sh")
            self.assertEqual(done.returncode, int(drains), code)
            self.assertEqual(f"print canary: said {code}" in done.stdout, drains)

    def test_prolog_with_the_canary_itself(self):
        done = self.run_example(EXAMPLES / "prolog.sh", CANARY_OPTIONS="--device=cpu", BASELINE=str(self.work / "none.json"))
        self.assertEqual(done.returncode, 0, done.stdout)  # no baseline is no reason to drain

    def test_commands_of_the_manifests(self):
        """The shell of the YAML files with stand-ins of what the cluster gives."""
        self.assertEqual(self.args_of("jobset.yaml").count("gpubench fleet"), 2)
        script = self.args_of("jobset.yaml").replace("/results/", f"{self.work}/").replace("fleet calibrate", f"fleet calibrate {HOST}")
        first = subprocess.Popen(["bash", "-c", script], env=self.environment | self.pod(0), stderr=subprocess.PIPE, text=True)
        second = self.run_example("bash", "-c", script, **self.pod(1))
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(first.wait(timeout=120), 3, first.communicate())
        first.stderr.close()
        self.assertEqual(len(list((self.work / "first").glob("rank-*.jsonl"))), 4)
        self.assertTrue((self.work / "first" / "fleet.html").exists())

    @staticmethod
    def pod(index):
        return {"JOB_COMPLETION_INDEX": str(index), "NODES": "2", "GPUS": "2", "CAMPAIGN": "first", "NODE_NAME": f"pod{index}"}

    def test_init_container_lets_all_but_slow_and_hanging_pass(self):
        script = self.args_of("init-container.yaml").replace("/dev/termination-log", str(self.work / "log"))
        for code in (0, 1, 2, 3, 64):
            (self.work / "bin" / "gpubench").unlink()
            self.tool("gpubench", f"echo 'canary: said {code}'; exit {code}\n")
            done = self.run_example("bash", "-c", script)
            self.assertEqual(done.returncode == 0, code not in (1, 2), code)
            self.assertIn(f"said {code}", done.stdout)

    @staticmethod
    def args_of(name):
        lines = (EXAMPLES / name).read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if line.strip() == "- |")
        margin = len(lines[start + 1]) - len(lines[start + 1].lstrip())
        body = []
        for line in lines[start + 1 :]:
            if line.strip() and len(line) - len(line.lstrip()) < margin:
                break
            body.append(line[margin:])
        return "\n".join(body) + "\n"

    @unittest.skipUnless(shutil.which("reframe"), "no reframe")
    def test_reframe_passes_and_fails_with_the_canary(self):
        (self.work / "bin" / "gpubench").unlink()
        shutil.copy(EXAMPLES / "reframe_canary.py", self.work)
        for text, code in (("8 GPUs fine, 16 comparisons (6.0 s)", 0), ("cuda:3 (GPU-1): fp32 (alone) 9.0 % below", 1)):
            self.tool("gpubench", f"echo 'canary: {text}'; exit {code}\n")
            done = self.run_example("reframe", "-c", self.work / "reframe_canary.py", "-r", f"--prefix={self.work / 'out'}", HOME=str(self.work))
            self.assertEqual(done.returncode, code, done.stdout)

    def test_the_others_are_what_they_should_be(self):
        compile((EXAMPLES / "reframe_canary.py").read_text(), "reframe_canary.py", "exec")
        panels = json.loads((EXAMPLES / "grafana.json").read_text())["panels"]
        asked = {name for panel in panels for target in panel["targets"] for name in re.findall(r"gpubench_\w+", target["expr"])}
        code = (SOURCE / "reports" / "export" / "fleet_files.cpp").read_text()
        for name in asked:
            self.assertIn(f'"{name.removeprefix("gpubench_")}"', code)
        page = (SOURCE / "docs" / "fleet.md").read_text()
        for file in EXAMPLES.iterdir():
            self.assertIn(f"`{file.name}`", page)

    def test_manifests_are_what_kubernetes_takes(self):
        """By Kubernetes' own schemas. JobSet's is not among them: what it makes Jobs of is checked."""
        try:
            import kubernetes_validate
            import yaml
        except ImportError as error:
            self.skipTest(f"{error}: pip install kubernetes-validate")
        newest = kubernetes_validate.latest_version()
        pod, jobset = (yaml.safe_load((EXAMPLES / name).read_text()) for name in ("init-container.yaml", "jobset.yaml"))
        kubernetes_validate.validate(pod, newest, strict=True)
        self.assertEqual((jobset["kind"], set(jobset["spec"])), ("JobSet", {"failurePolicy", "replicatedJobs"}))
        for group in jobset["spec"]["replicatedJobs"]:
            job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": group["name"]}} | group["template"]
            kubernetes_validate.validate(job, newest, strict=True)
            spec = job["spec"]
            container = spec["template"]["spec"]["containers"][0]
            told = {one["name"]: one.get("value") for one in container["env"]}
            self.assertEqual((spec["completions"], spec["parallelism"]), (int(told["NODES"]), int(told["NODES"])))
            self.assertEqual(container["resources"]["limits"]["nvidia.com/gpu"], int(told["GPUS"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
