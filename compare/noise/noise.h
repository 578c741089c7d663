// SPDX-License-Identifier: Apache-2.0
// How much separate processes of the same code differ, and what a difference between two sets of them is worth.
// Samples of one process share memory layout, clock and neighbours, so the process is the unit. All values are
// logarithms of a process's median time. Few processes hardly tell a point's own variance, so that of all points is
// used:
// 1. What all points of a process have in common is taken off. It has the degrees of freedom of the processes.
// 2. The rest is shrunk towards what is usual among the points (Smyth, Statistical Applications in Genetics and
//    Molecular Biology 3(1), 2004, section 6.2).
// 3. Both are added, with degrees of freedom after Satterthwaite (Biometrics Bulletin 2, 1946).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "compare/compare.h"

namespace gpubench::compare {

/// Variance of the logarithm of one process's median, and how many degrees of freedom it was estimated from.
struct Spread {
  double variance = 0.0;
  double degrees = 0.0;
};
/// Of what adds up, with degrees of freedom after Satterthwaite.
Spread sum_of(const Spread& one, const Spread& other);

/// One process's values, by point; NaN where it has none.
using ProcessValues = std::vector<double>;
/// Processes of the same code, one after the other.
using ProcessGroup = std::vector<ProcessValues>;

struct ProcessNoise {
  std::vector<std::optional<Spread>> of_point;  ///< in all; absent when no group has two processes with this point
  Spread common;  ///< the part that all points of a process share; of 0 degrees where it was not looked for
  double usual_variance = 0.0;  ///< of the rest, among all points
  double usual_degrees = 0.0;   ///< what the usual variance weighs against a point's own; 0: nothing is borrowed
};

/// Below so many points nothing is borrowed from the others: what is usual could not be told.
inline constexpr std::size_t min_points_to_borrow = 8;
/// What is usual weighs at most so much: points resemble each other, so fewer are independent than are counted.
inline constexpr double max_borrowed_degrees = 10.0;
/// The least standard deviation between processes (0.01 %): clocks go by steps, so equal medians may hide noise.
inline constexpr double min_process_deviation = 1e-4;

/// The values that a group has of a point, and the mean of such.
std::vector<double> values_of(const ProcessGroup& group, std::size_t point);
double mean_of(const std::vector<double>& values);

/// Learns from groups; those of one process say nothing. All have values for `points` points.
ProcessNoise learn_noise(const std::vector<ProcessGroup>& groups, std::size_t points);

/// Below so many values nothing is trimmed: too few degrees of freedom would be left.
inline constexpr std::size_t min_to_trim = 8;

/// Mean without the lowest and highest fifth (of 16 values or more: quarter), and what makes of a winsorised variance
/// that of this mean (Yuen, Biometrika 61, 1974): one disturbed process of many moves it little.
struct TrimmedMean {
  double value = 0.0;
  double variance_factor = 1.0;  ///< times the winsorised variance of the values
  double degrees_factor = 1.0;   ///< times the degrees of freedom of that
};
TrimmedMean trimmed_mean(std::vector<double> values);

/// For each point the values that a trimmed mean leaves out are replaced by the nearest ones that are not; NaN stay.
ProcessGroup winsorised(ProcessGroup group);

/// How far a difference of logarithms is known.
struct Difference {
  double value = 0.0;
  double standard_error = 0.0;
  double degrees = 0.0;
};

/// The chance, at most, of such a difference if nothing changed by more than this fraction: twice the smaller tail.
double p_value_beyond(const Difference& difference, double min_effect);
/// The ratio, and its interval by half the width of the difference's. To twelve digits: those beyond are the
/// mathematical library's.
Estimate ratio_of(const Difference& difference, double half_width);
/// By a p-value that is adjusted, and a 95 % interval.
Change change_of(const Estimate& ratio, double p_value, double min_effect);

/// Quantiles of Student's t, kept. Degrees of freedom are rounded down, to 0.1 (from 30 on to 1), so that they are few.
double student_quantile(double tail, double degrees);

/// What nobody told: a process's standard deviation, as a fraction, and its degrees of freedom, for such a time.
struct AssumedNoise {
  double deviation;
  double degrees;
  std::string_view source;
};
AssumedNoise assumed_noise(DeviceKind kind, double seconds);
/// What kernel groups of whole programs differ by between two runs (standard deviation) beyond what benchmarks do: an
/// assumption, since clocks, neighbours on the GPU and what lies in the caches are not held as a benchmark holds them.
inline constexpr double program_deviation = 0.01;

/// What a CPU's times change by from one series of processes to the next some minutes later (standard deviation, and
/// its degrees of freedom; docs/results/host/gate.md). Processes of one series do not show it.
inline constexpr double host_drift_deviation = 0.08;
inline constexpr Spread host_drift = {host_drift_deviation * host_drift_deviation, 9.0};

/// What two cards of one model differ by (standard deviation, and its degrees of freedom), where nothing shows it: of
/// the H200s of docs/results/h200/README.md the L2 differs by 6 %, the latency of DRAM by 4 %, its rate by 2 %.
inline constexpr double card_deviation = 0.02;
inline constexpr double card_degrees = 6.0;

/// Both sides of one point: logarithms of the medians of its processes.
struct PointSides {
  std::vector<double> base;
  std::vector<double> next;
  double within_variance = 0.0;      ///< of the difference of the means, from the samples inside the processes
  bool one_after_the_other = false;  ///< one side is older than the other, and the noise learnt is not of that
  bool other_card = false;           ///< each side is of one card, and they are two
  double load_variance = 0.0;        ///< of that, as others ran on the cores or the GPU
};

/// Fills ratio, times, noise and the p-value, not yet adjusted. `learnt` is absent without two processes of anything.
struct Judged {
  ComparedPoint point;
  Difference difference;
  std::size_t place = 0;     ///< among all points of the comparison
  bool few_samples = false;  ///< too few to decide anything
  double looks = 1.0;        ///< at so many times of each process; the interval holds for all of them together
  bool others_same = true;   ///< the interval by the other time is within the least effect, too
  Estimate others;           ///< that interval
};
Judged judge(const PointSides& sides, const std::optional<Spread>& learnt, NoiseSource source, DeviceKind kind,
             const CompareOptions& options);
/// For pairs: sides of equal length, `learnt` of their winsorised differences, the ratio from the trimmed mean. Where
/// the pairs are judged by several times of each process, `looks` says by how many.
Judged judge_pairs(const PointSides& sides, const Spread& learnt, const CompareOptions& options, double looks = 1.0);
/// By medians and by fastest samples: the one that is surer of a change. Work of others comes and goes, and only ever
/// lengthens a sample, so a process's fastest one may tell what its median hides (Chen and Revels, arXiv:1608.04295);
/// a change of the slower samples alone is in the median. Bonferroni's correction is in `looks`.
Judged surer_of(Judged by_median, Judged by_fastest, double min_effect);

/// Adjusts the p-values for the number of points, decides, and tells what could have been seen.
void decide(std::vector<Judged>& points, double min_effect);

}  // namespace gpubench::compare
