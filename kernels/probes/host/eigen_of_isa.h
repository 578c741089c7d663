// SPDX-License-Identifier: Apache-2.0
// Eigen for sources that are compiled once per vector extension, with GPUBENCH_ISA naming it. Eigen's functions are
// weak symbols: under one name the linker would keep those of a single extension for all, so each compilation renames
// the whole of Eigen.
#pragma once

#define GPUBENCH_EIGEN_NAME_(isa) Eigen_##isa
#define GPUBENCH_EIGEN_NAME(isa) GPUBENCH_EIGEN_NAME_(isa)
#define Eigen GPUBENCH_EIGEN_NAME(GPUBENCH_ISA)

// Eigen leaves conversions to the compiler's defaults; it is not ours to warn about, where it is used either.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
