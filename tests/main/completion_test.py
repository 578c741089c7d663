# SPDX-License-Identifier: Apache-2.0
"""Sources the completion script in a real bash and asks it for completions. Usage: completion_test.py GPUBENCH

Exit code 77: skipped, because there is no bash."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import command_line_page

PROGRAM = os.path.abspath(sys.argv[1])
ENVIRONMENT = dict(os.environ, PATH=os.path.dirname(PROGRAM) + ":" + os.environ["PATH"])  # the scripts ask the program


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
        result = subprocess.run(["bash", "--norc", "-c", text, "bash", line], capture_output=True, text=True, cwd=self.folder, env=ENVIRONMENT,
                                check=True)
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
        self.assertEqual(self.complete("gpubench --time="), ["stream", "device", "latency", "call", "graph", "all"])
        self.assertEqual(self.complete("gpubench gate check --time="), ["device", "stream", "latency", "call", "graph"])
        self.assertEqual(self.complete("gpubench --time=stream,l"), ["stream,latency"])
        self.assertEqual(self.complete("gpubench --check="), ["ncu-rule"])

    def test_words_among_other_values(self):
        self.assertEqual(self.complete("gpubench --device="), ["cpu", "cuda", "all"])
        self.assertEqual(self.complete("gpubench profile --metrics=co"), ["core"])
        self.assertEqual(self.complete("gpubench --metrics=core,f"), ["core,flops"])
        self.assertEqual(self.complete("gpubench --device=b"), [], "no file")

    def test_subcommands_and_files(self):
        self.assertEqual(self.complete("gpubench rep"), ["report"])
        self.assertEqual(self.complete("gpubench calibration sh"), ["show"])
        self.assertEqual(self.complete("gpubench report ba"), ["base.json"])
        self.assertIn("--out=", self.complete("gpubench calibration show --"))

    def test_every_flag_of_help_is_completed(self):
        page = command_line_page.page_of(PROGRAM)
        flags = [line.split("`")[1].split("=")[0].split("[")[0] for line in page.splitlines() if line.startswith("| `--")]
        self.assertGreater(len(flags), 15)
        asked = set()
        for command in re.findall("^## (?!Exit codes)(.*)", page, re.M):
            words = [] if command == "Run" else command.split()
            text = subprocess.run([PROGRAM, "--complete", *words, "-"], capture_output=True, text=True, check=True).stdout
            asked |= {line.split("\t")[0].rstrip("=") for line in text.splitlines()}
        self.assertEqual(asked - {"--help"}, set(flags))


def needs(shell):
    return unittest.skipUnless(shutil.which(shell), f"there is no {shell} (Debian package {shell})")


class OtherShells(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpubench-completion-")
        self.addCleanup(shutil.rmtree, self.folder)

    def written(self, shell):
        file = os.path.join(self.folder, "gpubench." + shell)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(script(shell))
        return file

    def parse(self, *arguments):
        result = subprocess.run([*arguments, self.written(arguments[0])], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    @needs("zsh")
    def test_zsh(self):
        self.parse("zsh", "-n")
        self.assertEqual(self.zsh("gpubench --qui", "--quiet"), "--quiet")
        self.assertEqual(self.zsh("gpubench gate che", "gate check"), "gate check")
        # The '=' that it adds is taken back where no value follows.
        self.assertEqual(self.zsh("gpubench gate check --summ", "--summary"), "gate check --summary")
        self.assertEqual(self.zsh("gpubench compare --time=dev", "--time=device"), "compare --time=device")
        self.assertEqual(self.zsh("gpubench --metrics=core,fl", "--metrics=core,flops"), "--metrics=core,flops")

    def zsh(self, line, completed):
        """What a zsh at a terminal makes of a line and the tabulator: its words, printed by a function in the program's place."""
        setup = os.path.join(self.folder, "setup.zsh")
        with open(setup, "w", encoding="utf-8") as file:
            file.write(f"PS1='>'\nautoload -Uz compinit && compinit -u -D\nsource '{self.written('zsh')}'\n"
                       f"gpubench() {{ [[ $1 == --complete ]] && {{ '{PROGRAM}' \"$@\"; return }}; print -r -- \"GOT<$*>\" }}\n")
        ours, theirs = pty.openpty()
        environment = dict(os.environ, TERM="dumb", HOME=self.folder, ZDOTDIR=self.folder)
        process = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=self.folder, start_new_session=True)
        os.close(theirs)
        try:
            self.until(ours, "% ", "# ")
            # The line ends only when the word is there, or its end is taken for part of what is to be completed.
            for words, wanted in ((f"source {setup}; print READY$((1))\n", "READY1"), (line + "\t", completed), ("\n", ">\r\n")):
                os.write(ours, words.encode())
                text = self.until(ours, wanted)
            return text.split("GOT<")[-1].split(">\r")[0].strip()
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    def until(self, terminal, *wanted, seconds=60):
        end = time.monotonic() + seconds
        text = ""
        while not any(words in text for words in wanted):
            ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
            self.assertTrue(ready, f"no {wanted} in {text!r}")
            text += os.read(terminal, 65536).decode(errors="replace").replace("\a", "")
        return text

    @needs("fish")
    def test_fish(self):
        self.parse("fish", "--no-execute")
        self.assertEqual(self.fish("gpubench --cal"), ["--calibrate=", "--calibration="])
        self.assertEqual(self.fish("gpubench gate che"), ["check"])
        self.assertEqual(self.fish("gpubench compare --time="), ["--time=call", "--time=device", "--time=graph", "--time=latency", "--time=stream"])
        self.assertEqual(self.fish("gpubench --device="), ["--device=all", "--device=cpu", "--device=cuda"])
        self.assertEqual(self.fish("gpubench compare --quie"), ["--quiet"])

    def fish(self, line):
        environment = dict(ENVIRONMENT, HOME=self.folder, XDG_CONFIG_HOME=self.folder, XDG_DATA_HOME=self.folder)
        text = f"source '{self.written('fish')}'; complete --do-complete '{line}'"
        result = subprocess.run(["fish", "--no-config", "-c", text], capture_output=True, text=True, cwd=self.folder, env=environment, check=True)
        self.assertEqual(result.stderr, "")
        return sorted(word.split("\t")[0] for word in result.stdout.split("\n") if word)

    def test_unknown_shell(self):
        result = subprocess.run([PROGRAM, "--completion=ksh"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 64)
        self.assertIn("bash", result.stderr)


if __name__ == "__main__":
    if not shutil.which("bash"):
        print("skipped: no bash")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
