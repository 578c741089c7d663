# SPDX-License-Identifier: Apache-2.0
"""A campaign under Slurm itself: one node, its daemons started here. Skips where they are not installed or do not start.
Arguments: gpubench, the source folder. Debian: slurmctld slurmd slurm-client munge."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
DAEMONS = ("munged", "mungekey", "slurmctld", "slurmd")
SEARCH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
SKIPPED = 77
TASKS = 4


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """munge, slurmctld and slurmd of a folder of their own, in the foreground."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.environment = os.environ | {"PATH": f"{folder / 'bin'}:{SEARCH}", "SLURM_CONF": str(folder / "slurm.conf"), "OMP_NUM_THREADS": "1"}
        for name in [name for name in self.environment if name.startswith(("SLURM_", "OMPI_", "PMI")) and name != "SLURM_CONF"]:
            del self.environment[name]
        (folder / "bin").mkdir()
        (folder / "bin" / "gpubench").symlink_to(PROGRAM)
        controller, node = free_ports(2)
        host = socket.gethostname().split(".")[0]
        for number in range(8):  # Slurm counts the files
            (folder / f"gpu{number}").touch()
        (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-7]\n")
        (folder / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 Gres=gpu:8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        (folder / "state").mkdir()
        (folder / "spool").mkdir()

    def start(self):
        """Why it did not; empty where it did."""
        key = self.folder / "munge.key"
        subprocess.run(["mungekey", "--create", f"--keyfile={key}"], env=self.environment, check=True, capture_output=True)
        self.spawn("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", f"--key-file={key}", f"--pid-file={self.folder}/munge.pid",
                   f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed", "--num-threads=1")
        if not self.until(lambda: (self.folder / "munge.socket").exists(), 10):
            return "munged did not start"
        self.spawn("slurmctld", "-D", "-i", "-f", str(self.folder / "slurm.conf"))
        if not self.until(lambda: self.call("scontrol", "ping").returncode == 0, 20):
            return f"slurmctld did not start: {self.tail('slurmctld.log')}"
        self.spawn("slurmd", "-D", "-f", str(self.folder / "slurm.conf"))
        if not self.until(lambda: self.call("sinfo", "-h", "-o", "%t").stdout.strip() == "idle", 30):
            return f"the node did not become idle: {self.call('sinfo', '-R').stdout} {self.tail('slurmd.log')}"
        return ""

    def spawn(self, *words):
        self.processes.append(subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def tail(self, name):
        file = self.folder / name
        return file.read_text(errors="replace")[-400:] if file.exists() else "no log"

    def call(self, *words, **more):
        return subprocess.run(words, env=self.environment | more, capture_output=True, text=True, timeout=240, check=False)

    @staticmethod
    def until(holds, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return True
            time.sleep(0.1)
        return False

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="slurm-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.folder.chmod(0o755)
        cls.cluster = Cluster(cls.folder)
        why = cls.cluster.start()
        if why:
            cls.tearDownClass()
            print(f"skipped: {why}")
            sys.exit(SKIPPED)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()
        cls.temporary.cleanup()

    def result_in(self, folder):
        done = self.cluster.call("gpubench", "fleet", "join", str(folder), "--json", "--quiet")
        return json.loads(done.stdout)

    def test_the_example_of_sbatch(self):
        done = self.cluster.call("sbatch", "--wait", "--parsable", f"--ntasks-per-node={TASKS}", f"--output={self.folder}/job.log",
                                 str(SOURCE / "examples" / "fleet" / "campaign.sbatch"), str(self.folder / "campaigns"), PROBES="brief",
                                 CALIBRATE_OPTIONS="--device=cpu --runs=1 --max-step-seconds=60")
        log = (self.folder / "job.log").read_text()
        self.assertEqual(done.returncode, 3, log + done.stderr)  # four CPUs are too few to compare
        job = done.stdout.strip().split(";")[0]
        result = self.result_in(self.folder / "campaigns" / job)
        self.assertEqual((result["campaign"], result["ranks"], result["gpus"], result["troubles"]), (job, TASKS, TASKS, []), log)
        self.assertTrue((self.folder / "campaigns" / job / "fleet.html").exists())
        self.assertIn(f"all {TASKS} ranks", log)

    def test_steps_by_mpi_over_pmix(self):
        """Slurm starts the ranks itself: MPI finds the others by PMIx."""
        module = pathlib.Path(shutil.which("gpubench", path=self.cluster.environment["PATH"])).resolve().parent / "libgpubench_mpi.so"
        kinds = self.cluster.call("srun", "--mpi=list")
        if not module.exists() or "pmix" not in kinds.stdout + kinds.stderr:
            self.skipTest("no MPI, or Slurm without PMIx")
        folder = self.folder / "pmix"
        done = self.cluster.call("srun", "--mpi=pmix", f"--ntasks={TASKS}", "gpubench", "fleet", "calibrate", "--device=cpu", "--probes=brief", "--runs=1",
                                 "--links", "--steps=mpi", "--max-step-seconds=60", f"--out={folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{TASKS} ranks, steps by MPI", done.stderr)
        result = self.result_in(folder)
        self.assertEqual((result["ranks"], result["gpus"], result["troubles"]), (TASKS, TASKS, []), done.stderr)
        self.assertIn("mpi-send out", {test["resource"] for test in result["tests"]})

    def test_a_rank_that_dies_costs_itself_alone(self):
        folder = self.folder / "dead"
        words = "test $SLURM_PROCID = 2 && { sleep 1; kill -KILL $$; } & exec gpubench fleet calibrate --device=cpu --probes=brief --runs=2 " \
                f"--max-step-seconds=8 --out={folder}"
        done = self.cluster.call("srun", f"--ntasks={TASKS}", "--kill-on-bad-exit=0", "bash", "-c", words)
        self.assertNotEqual(done.returncode, 0)
        result = self.result_in(folder)
        self.assertEqual({one["kind"] for one in result["troubles"]}, {"lost", "unfinished"}, done.stderr)
        self.assertIn("rank 2 (", next(one["text"] for one in result["troubles"] if one["kind"] == "unfinished"))
        self.assertEqual(result["runs"], 2)


if __name__ == "__main__":
    missing = [daemon for daemon in DAEMONS if not shutil.which(daemon, path=SEARCH)]
    if missing or os.geteuid() != 0:
        print(f"skipped: {'not run by root' if not missing else 'there is no ' + ', '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
