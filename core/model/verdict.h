// SPDX-License-Identifier: Apache-2.0
// What limits a point, and how sure that is.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/compiled_once.h"
#include "core/model/estimate.h"

namespace gpubench {

/// `unknown` means that what is known does not decide it; the verdict's `evidence` says why.
enum class Regime { overhead, latency, memory, compute, unknown };
inline constexpr auto regime_names =
    std::to_array<std::string_view>({"overhead", "latency", "memory", "compute", "unknown"});
constexpr const auto& names_of(Regime) { return regime_names; }

/// certain: confidence >= 0.95; likely: >= 0.8; boundary: less.
enum class Certainty { certain, likely, boundary };
inline constexpr auto certainty_names = std::to_array<std::string_view>({"certain", "likely", "boundary"});
constexpr const auto& names_of(Certainty) { return certainty_names; }

/// The share of a point's measured time that one resource accounts for; a verdict's shares add to 1.
struct Share {
  std::string resource;  ///< "launch", "dram", "l2", "fp32", ...; "unexplained" for time no ceiling accounts for
  double fraction = 0.0;
  friend bool operator==(const Share&, const Share&) = default;
};

/// What an advice is to do, for tools; the text is for people.
enum class AdviceCode {
  batch_launches,
  fuse,
  fewer_blocks,
  larger_grid,
  more_threads,
  even_last_wave,
  more_bytes_in_flight,
  more_independent_work,
  coalesce,
  smaller_format,
  tensor_cores,
  relieve_unit,
  fewer_barriers,
  less_power,
  fewer_spills,
  combine_updates,
  look_at_kernels,
  reuse_memory,
  wider_vectors
};
inline constexpr auto advice_code_names = std::to_array<std::string_view>(
    {"batch_launches", "fuse", "fewer_blocks", "larger_grid", "more_threads", "even_last_wave", "more_bytes_in_flight",
     "more_independent_work", "coalesce", "smaller_format", "tensor_cores", "relieve_unit", "fewer_barriers",
     "less_power", "fewer_spills", "combine_updates", "look_at_kernels", "reuse_memory", "wider_vectors"});
constexpr const auto& names_of(AdviceCode) { return advice_code_names; }

/// What could be done about the limit, why, and what that could gain.
struct Advice {
  std::string action;                                ///< "batch launches or capture them in a CUDA graph"
  std::string evidence;                              ///< "1.27 us of 2.10 us go to the launch"
  std::optional<double> gain;                        ///< at most so many times faster; absent when it cannot be told
  std::optional<AdviceCode> code = std::nullopt;     ///< absent in files of older versions
  std::optional<Interval> gain_ci95 = std::nullopt;  ///< likewise, and where there is no gain
  std::string kernel = {};                           ///< that it is about; empty: the operation as a whole
  friend bool operator==(const Advice&, const Advice&) = default;
};

enum class Outcome { agrees, disagrees, undecided };
inline constexpr auto outcome_names = std::to_array<std::string_view>({"agrees", "disagrees", "undecided"});
constexpr const auto& names_of(Outcome) { return outcome_names; }

/// An experiment that does not rest on the model.
/// Elasticity and batching stand in runs of earlier versions only.
enum class Experiment { elasticity, batching, ablation, clock, ncu_rule };
inline constexpr auto experiment_names =
    std::to_array<std::string_view>({"elasticity", "batching", "perturbation", "clock", "ncu-rule"});
constexpr const auto& names_of(Experiment) { return experiment_names; }

/// What an experiment says of a verdict.
struct CrossCheck {
  Experiment experiment = Experiment::clock;
  Outcome outcome = Outcome::undecided;
  std::string says;      ///< what it points at, in its own words: "overhead", "high memory throughput"
  std::string evidence;  ///< what it saw, and where it disagrees a reason
  friend bool operator==(const CrossCheck&, const CrossCheck&) = default;
};

struct Verdict {
  GPUBENCH_DECLARE_VALUE(Verdict)
  Regime regime = Regime::unknown;
  std::string limiter;  ///< the resource that binds: "launch", "dram", "l2", "fp32", "tensor-bf16"; empty when unknown
  std::vector<Share> shares;
  /// Rate reached on the limiter over its ceiling: 0.93 = 93 %. Absent when unknown or overhead.
  std::optional<double> achieved;
  double confidence = 0.0;  ///< probability that `regime` is right
  Certainty certainty = Certainty::boundary;
  Regime runner_up = Regime::unknown;
  double runner_up_probability = 0.0;
  double model_seconds = 0.0;  ///< the model's time from the ceilings alone; 0 when there is no model
  std::string evidence;        ///< one sentence: "takes 1.27 us of 2.10 us to launch"
  std::vector<Advice> advice;  ///< by falling gain
  std::vector<CrossCheck> cross_checks;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// How a boundary's figure is meant: there, or somewhere beyond it, outside of what was measured.
enum class Placement { at, above, below };
inline constexpr auto placement_names = std::to_array<std::string_view>({"at", "above", "below"});
constexpr const auto& names_of(Placement) { return placement_names; }

/// Where an operation changes regime along its first varying argument.
struct Boundary {
  std::string operation;
  std::string device;
  std::string argument;  ///< name of the argument; "size" when it has none
  std::string from;      ///< "launch", "l2", "dram", "fp32": what binds below
  std::string to;        ///< what binds above
  double at = 0.0;       ///< the argument; where it lies beyond: twice the largest or half the smallest one
  std::optional<Interval> ci95;
  Placement placement = Placement::at;
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

}  // namespace gpubench
