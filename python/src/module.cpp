// SPDX-License-Identifier: Apache-2.0
#include "python/src/module.h"

NB_MODULE(_core, module) {
  module.doc() = "gpubench's engine. Use the package gpubench, whose names stay.";
  nanobind::set_leak_warnings(false);
  gpubench::python::bind_results(module);
  gpubench::python::bind_timelines(module);
  gpubench::python::bind_kernel_traces(module);
  gpubench::python::bind_benchmarks(module);
  nanobind::module_ profile = module.def_submodule("profile", "gpubench/profile.h");
  gpubench::python::bind_profile(profile);
}
