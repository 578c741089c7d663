// SPDX-License-Identifier: Apache-2.0
// The parts of the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace gpubench::python {

/// For functions that need no Python object: others run meanwhile.
using Release = nanobind::call_guard<nanobind::gil_scoped_release>;

void bind_results(nanobind::module_& module);        ///< runs, calibrations, comparisons
void bind_benchmarks(nanobind::module_& module);     ///< operations written in Python
void bind_timelines(nanobind::module_& module);      ///< traces of programs
void bind_kernel_traces(nanobind::module_& module);  ///< events inside kernels
void bind_profile(nanobind::module_& module);        ///< gpubench/profile.h

}  // namespace gpubench::python
