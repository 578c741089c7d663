#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script that `gpubench profile --torch` puts first on PYTHONPATH, with a torch that only keeps the hooks it is given."""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "profile" / "torch_ranges" / "sitecustomize.py"
TORCH = '''
import types
log, hooks, compiling = [], {}, []
cuda = types.SimpleNamespace(nvtx=types.SimpleNamespace(range_push=lambda name: log.append(name) or 0, range_pop=lambda: log.append("end") or 0))
compiler = types.SimpleNamespace(is_compiling=lambda: bool(compiling))
class Tensor:
    grad_fn = None
    def backward(self): return [hook(()) for hook in self.grad_fn.hooks]
class Node:
    def __init__(self): self.hooks = []
    def register_prehook(self, hook): self.hooks.append(hook)
class Engine:
    def queue_callback(self, function): self.function = function
autograd = types.SimpleNamespace(Variable=types.SimpleNamespace(_execution_engine=Engine()))
is_grad_enabled = lambda: True
class Module:
    def __init__(self, **parts): self.parts = parts; [setattr(self, k, v) for k, v in parts.items()]
    def named_modules(self, prefix=""):
        yield prefix, self
        for name, part in self.parts.items(): yield from part.named_modules((prefix + "." if prefix else "") + name)
    def forward(self): return Tensor()
    def __call__(self): return self.forward()
nn = types.SimpleNamespace(Module=Module)
'''


OPTIMIZER = '''
from torch import hooks
register_optimizer_step_pre_hook = lambda f: hooks.update(step=f)
register_optimizer_step_post_hook = lambda f: hooks.update(stepped=f)
'''


class TorchRanges(unittest.TestCase):
    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self._scratch.cleanup)
        self.folder = pathlib.Path(self._scratch.name)
        (self.folder / "python").mkdir()
        (self.folder / "python" / "sitecustomize.py").write_text(SCRIPT.read_text())
        (self.folder / "own" / "torch" / "optim").mkdir(parents=True)
        (self.folder / "own" / "torch" / "optim" / "__init__.py").write_text("")
        (self.folder / "own" / "torch" / "optim" / "optimizer.py").write_text(OPTIMIZER)
        (self.folder / "own" / "torch" / "__init__.py").write_text(TORCH)

    def run_program(self, text):
        path = os.pathsep.join([str(self.folder / "python"), str(self.folder / "own")])
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_modules_are_ranges_by_their_path(self):
        self.assertEqual(self.run_program("""
            import torch
            class Block(torch.nn.Module):
                def forward(self): return self.linear()
            class Net(torch.nn.Module):
                def forward(self): self.first(); return self.second()
            net = Net(first=Block(linear=torch.nn.Module()), second=torch.nn.Module())
            net(); net()
            print(torch.log)
            """), str(["Net", "first", "linear", "end", "end", "second", "end", "end"] * 2))

    def test_an_exception_ends_all_ranges_that_are_open_in_it(self):
        self.assertEqual(self.run_program("""
            import torch
            class Bad(torch.nn.Module):
                def forward(self): raise ValueError
            class Net(torch.nn.Module):
                def forward(self): return self.bad()
            try: Net(bad=Bad())()
            except ValueError: print(torch.log)
            """), "['Net', 'bad', 'end', 'end']")

    def test_backward_and_optimizer(self):
        self.assertEqual(self.run_program("""
            import torch
            node = torch.Node()
            class Net(torch.nn.Module):
                def forward(self):
                    result = torch.Tensor(); result.grad_fn = node
                    return result
            Net()(); torch.log.clear()
            assert node.hooks[0](()) is None and node.hooks[0](()) is None; torch.autograd.Variable._execution_engine.function()
            class SGD: pass
            assert torch.hooks["step"](SGD(), (), {}) is None and torch.hooks["stepped"](SGD(), (), {}) is None  # else torch takes it
            print(torch.log)
            """), "['backward/Net', 'end', 'backward/Net', 'end', 'SGD.step', 'end']")

    def test_the_loss_behind_the_modules_has_a_backward_pass_too(self):
        self.assertEqual(self.run_program("""
            import torch
            class Net(torch.nn.Module):
                def forward(self):
                    result = torch.Tensor(); result.grad_fn = torch.Node()
                    return result
            out, loss = Net()(), torch.Tensor(); loss.grad_fn = torch.Node(); torch.log.clear()
            assert loss.backward() == [None]; out.grad_fn.hooks[0](()); torch.autograd.Variable._execution_engine.function()
            assert out.backward() == [None, None]  # the model's own output: its node has both
            print(torch.log)
            """), "['backward/loss', 'end', 'backward/Net', 'end', 'backward/Net']")

    def test_nothing_is_a_range_while_torch_compiles(self):
        self.assertEqual(self.run_program("""
            import torch
            torch.compiling.append(1)
            class Net(torch.nn.Module): pass
            Net()()
            print(torch.log)
            """), "[]")

    def test_the_programs_own_sitecustomize_runs_and_a_strange_torch_is_passed_over(self):
        (self.folder / "own" / "sitecustomize.py").write_text("import builtins; builtins.own = True")
        (self.folder / "own" / "torch" / "__init__.py").write_text("version = 0")
        self.assertEqual(self.run_program("import sys, torch; print(own, torch.version, 'torch_ranges' in sys.modules)"), "True 0 False")

    def test_programs_without_torch_are_as_they_were(self):
        self.assertEqual(self.run_program("import json, sys; print('torch' in sys.modules)"), "False")


if __name__ == "__main__":
    unittest.main()
