#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a wheel of the Python package: check_wheel.py WHEEL [--largest-mb=40] [--import-ms=50]

What it holds, for which Pythons it is, what auditwheel says of it (where that is installed), its size, and in a virtual environment of its own: that it installs
with what it depends on, the command line, and the processor's time that the import takes (the least of ten). Prints a line for each; exit code 1 when one is not as it should be."""
import argparse
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile

NEEDED = ("gpubench/__init__.py", "gpubench/py.typed", "gpubench/_core/__init__.pyi", "gpubench/bin/gpubench", "gpubench/include/gpubench/gpubench.h",
          "gpubench/include/gpubench/profile.h", "gpubench/include/gpubench/kernel_trace.cuh", "gpubench/include/gpubench/version.h",
          "gpubench/compat/gmp_python.py")
IMPORTS = "import time; s = time.process_time(); import gpubench; e = time.process_time(); import sys; " \
          "assert not {'torch', 'numpy', 'cupy'} & set(sys.modules); import gpubench._core; print(e - s, time.process_time() - s, gpubench._core.with_cuda, 'src=\x22http' not in gpubench._core.chart_html('{}'))"


def contents(names):
    """What is missing in it."""
    missing = [name for name in NEEDED if name not in names]
    if not any(name.startswith("gpubench/_core.") and name.endswith(".so") for name in names):
        missing.append("gpubench/_core.*.so")
    entries = next((name for name in names if name.endswith(".dist-info/entry_points.txt")), None)
    return missing if entries else [*missing, "entry_points.txt"]


def for_all_pythons(wheel):
    """Whether a wheel's name says that it is for CPython 3.10 and every later one."""
    return "-cp310-abi3-" in wheel


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--largest-mb", type=float, default=40.0)
    parser.add_argument("--import-ms", type=float, default=50.0)
    chosen = parser.parse_args(words)
    wrong = 0

    def tell(fine, text):
        nonlocal wrong
        wrong += not fine
        print(("" if fine else "WRONG: ") + text)

    try:
        with zipfile.ZipFile(chosen.wheel) as archive:
            names = archive.namelist()
            largest = sorted(archive.infolist(), key=lambda each: -each.compress_size)[:3]
    except (OSError, zipfile.BadZipFile) as error:
        sys.exit(f"check_wheel.py: {chosen.wheel} is no wheel: {error}")
    missing = contents(names)
    tell(not missing, f"{len(names)} files" + (f", but not {', '.join(missing)}" if missing else ", all that is needed"))
    megabytes = chosen.wheel.stat().st_size / 1e6
    tell(megabytes <= chosen.largest_mb, f"{megabytes:.1f} MB ({chosen.largest_mb:.0f} allowed); the largest are "
         + ", ".join(f"{each.filename} {each.compress_size / 1e6:.1f} MB" for each in largest))
    tell(for_all_pythons(chosen.wheel.name), f"{chosen.wheel.name}: for CPython 3.10 and later is cp310-abi3")
    if importlib.util.find_spec("auditwheel") is None:
        print("auditwheel is not installed, so nothing is known of the libraries it needs")
    else:
        done = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(chosen.wheel)], capture_output=True, text=True, check=False)
        said = " ".join((done.stdout + done.stderr).split())
        tag = re.search('constrains the platform tag to "([^"]*)"', said)
        libraries = sorted(set(re.findall(r"\b(lib[\w+-]+\.so(?:\.\d+)*)", said)))
        tell(done.returncode == 0, f"auditwheel: {tag[1] if tag else said}; needs {', '.join(libraries) or 'no libraries'}")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(pathlib.Path(folder, "bin", "python"))
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--only-binary=:all:", "--disable-pip-version-check", str(chosen.wheel)],
                              capture_output=True, text=True, check=False)
        tell(done.returncode == 0, "installs" if done.returncode == 0 else f"does not install: {done.stderr.strip()}")
        if done.returncode == 0:
            done = subprocess.run([str(pathlib.Path(folder, "bin", "gpubench")), "--version"], capture_output=True, text=True, check=False)
            tell(done.returncode == 0 and done.stdout.startswith("gpubench "), f"gpubench --version: {(done.stdout + done.stderr).strip()}")
            times = []
            for _ in range(10):
                done = subprocess.run([python, "-I", "-c", IMPORTS], capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    break
                package, engine, cuda, own_vega = done.stdout.split()
                times.append((float(package) * 1e3, float(engine) * 1e3, cuda, own_vega))
            if not times or done.returncode != 0:
                tell(False, f"cannot be imported: {done.stderr.strip()}")
            else:
                if times[0][2] == "True":
                    library = "gpubench/bin/libgpubench_injection.so"
                    tell(library in names, "with CUDA, " + ("and the library that records programs" if library in names else f"but without {library}"))
                tell(times[0][3] == "True", "charts " + ("need no network" if times[0][3] == "True" else "need the network: Vega is not inside"))
                package, engine = min(each[0] for each in times), min(each[1] for each in times)
                tell(engine <= chosen.import_ms, f"import {package:.1f} ms, with the engine {engine:.1f} ms ({chosen.import_ms:.0f} allowed); "
                     f"{'with' if times[0][2] == 'True' else 'without'} CUDA")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
