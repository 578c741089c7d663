# SPDX-License-Identifier: Apache-2.0
"""Sources the completion script in a real bash and asks it for completions. Usage: completion_test.py GPUBENCH

Exit code 77: skipped, because there is no bash."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


def script(shell):
    return subprocess.run([PROGRAM, f"--completion={shell}"], capture_output=True, text=True, check=True).stdout


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpubench-completion-")
        cls.file = os.path.join(cls.folder, "gpubench.bash")
        with open(cls.file, "w", encoding="utf-8") as file:
            file.write(script("bash"))
        for name in ("run one.json", "base.json"):
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8"):
                pass

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def complete(self, line, breaks="$' \\t\\n\"\\'><=;|&(:'"):
        text = f"""set -eu; source '{self.file}'; set +eu
            COMP_WORDBREAKS={breaks}; COMP_LINE="$1"; COMP_POINT=${{#COMP_LINE}}; _gpubench; printf '%s\\n' "${{COMPREPLY[@]}}" """
        result = subprocess.run(["bash", "--norc", "-c", text, "bash", line], capture_output=True, text=True, cwd=self.folder, check=True)
        self.assertEqual(result.stderr, "")
        return [word for word in result.stdout.split("\n") if word]

    def test_flags(self):
        self.assertEqual(self.complete("gpubench --cal"), ["--calibrate=", "--calibration="])
        self.assertEqual(self.complete("gpubench --qui"), ["--quiet"])
        self.assertEqual(self.complete("gpubench compare a b --fa"), ["--fail-on="])
        self.assertEqual(self.complete("gpubench --fail"), [], "a flag of compare alone")

    def test_values(self):
        self.assertEqual(self.complete("gpubench --color="), ["auto", "always", "never"])
        self.assertEqual(self.complete("gpubench report x.json --color=ne"), ["never"])
        self.assertEqual(self.complete("gpubench --color=ne", breaks="' '"), ["--color=never"])
        self.assertEqual(self.complete("gpubench --calibrate=f"), ["full"])
        self.assertEqual(self.complete("gpubench --resume=run"), ["run one.json"])

    def test_subcommands_and_files(self):
        self.assertEqual(self.complete("gpubench rep"), ["report"])
        self.assertEqual(self.complete("gpubench calibration ex"), ["export"])
        self.assertEqual(self.complete("gpubench report ba"), ["base.json"])
        self.assertIn("--out=", self.complete("gpubench calibration show --"))

    def test_every_flag_of_help_is_completed(self):
        table = subprocess.run([PROGRAM, "--help-markdown"], capture_output=True, text=True, check=True).stdout
        flags = [line.split("`")[1].split("=")[0].split("[")[0] for line in table.splitlines()[2:]]
        self.assertGreater(len(flags), 15)
        for shell in ("bash", "zsh", "fish"):
            text = script(shell)
            for flag in flags:
                self.assertIn("-l " + flag[2:] if shell == "fish" else flag, text, shell)


class OtherShells(unittest.TestCase):
    def test_syntax(self):
        """Parsed by the shells themselves where they are there."""
        for shell, arguments in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
            if not shutil.which(shell):
                continue
            with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
                file.write(script(shell))
                file.flush()
                result = subprocess.run([shell, *arguments, file.name], capture_output=True, text=True, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)

    def test_unknown_shell(self):
        result = subprocess.run([PROGRAM, "--completion=ksh"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 64)
        self.assertIn("bash", result.stderr)


if __name__ == "__main__":
    if not shutil.which("bash"):
        print("skipped: no bash")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
