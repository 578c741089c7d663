#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The machine code of a kernel whose tracing is compiled out is byte for byte that of the kernel without the calls."""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

NVCC, SOURCE, INCLUDE = sys.argv[1], sys.argv[2], sys.argv[3]
WANTED = ["75", "80", "86", "89", "90", "100", "120"]


def code_of(file):
    """The sections .text.KERNEL of a cubin, an ELF file of 64 bits."""
    data = pathlib.Path(file).read_bytes()
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    names = data[sections[names_at][4]:][:sections[names_at][5]]
    name = lambda at: names[at:names.index(b"\0", at)].decode()
    return {name(s[0]): data[s[4]:s[4] + s[5]] for s in sections if name(s[0]).startswith(".text.")}


def compiled(architecture, *flags):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "off.cubin"
        subprocess.run([NVCC, "-std=c++20", f"-arch=sm_{architecture}", "-I", INCLUDE, "-cubin", "-o", str(file), *flags, SOURCE],
                       check=True)
        return code_of(file)


class Off(unittest.TestCase):
    def test_no_instruction_is_left(self):
        known = subprocess.run([NVCC, "--list-gpu-code"], check=True, capture_output=True, text=True).stdout
        architectures = [a for a in WANTED if re.search(rf"^sm_{a}$", known, re.MULTILINE)]
        self.assertGreaterEqual(len(architectures), 5, known)
        for architecture in architectures:
            with self.subTest(architecture=architecture):
                without = compiled(architecture, "-DGPUBENCH_KERNEL_TRACE=0")
                off = compiled(architecture, "-DGPUBENCH_KERNEL_TRACE=0", "-DWITH_CALLS")
                self.assertEqual(sorted(off), [".text.by_macro", ".text.by_macro_ring", ".text.by_type"])
                self.assertEqual(off, without)
                self.assertGreater(len(off[".text.by_type"]), 256)

    def test_calls_that_are_on_are_seen(self):
        on, without = compiled("90", "-DWITH_CALLS"), compiled("90")
        self.assertEqual(on[".text.by_type"], without[".text.by_type"], "NoWarp is off whatever the macro says")
        for kernel in (".text.by_macro", ".text.by_macro_ring"):
            self.assertNotEqual(on[kernel], without[kernel])

    def test_events_take_at_most_six_registers(self):
        source = pathlib.Path(SOURCE).with_name("registers.cu")
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run([NVCC, "-std=c++20", "-O3", "-arch=sm_90", "-I", INCLUDE, "-I", str(source.parents[2]), "-cubin", "-Xptxas", "-v",
                                   "-o", f"{folder}/r.cubin", str(source)], check=True, capture_output=True, text=True).stderr
        used = {kernel: int(count) for kernel, count in re.findall(r"Compiling entry function '(\S+)'.*?Used (\d+) registers", said, re.DOTALL)}
        self.assertEqual(len(used), 4, said)
        without, = [count for kernel, count in used.items() if "BasicWarpILb0" in kernel]
        for kernel, count in used.items():
            self.assertLessEqual(count, without + 6, kernel)
        self.assertNotIn("spill stores, ", re.sub("0 bytes spill stores", "", said))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
