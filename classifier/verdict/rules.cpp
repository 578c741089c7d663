// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/rules.h"

#include <algorithm>
#include <cmath>

#include "core/model/resources.h"

namespace gpubench::classifier {

std::optional<double> Figures::overhead_seconds() const {
  if (!device_seconds) return launch_seconds ? std::optional(std::min(*launch_seconds, seconds)) : std::nullopt;
  const double beyond = std::max(seconds - *device_seconds, 0.0);
  const double calibrated = std::min(launch_seconds.value_or(beyond / kernels) * kernels, beyond);
  const bool host_is_slow = beyond > 2.0 * calibrated;  // then all of it is launching
  return host_is_slow ? beyond : std::lerp(calibrated, beyond, launch_part);
}

double Figures::overhead_excess() const {
  const double share = overhead_seconds().value_or(0.0) / (overhead_share * seconds);
  if (!device_seconds) return launch_seconds ? *launch_seconds / (overhead_share * seconds) : 0.0;
  return std::max(share, launch_seconds.value_or(0.0) / (launch_floor_share * seconds));
}

double Figures::beside_launch() const {
  return device_seconds ? std::min(*device_seconds, seconds) : seconds - launch_seconds.value_or(0.0);
}

double Figures::needed_seconds() const {
  OverlapSum sum(overlap);
  sum.add(memory_seconds);
  sum.add(pipe_seconds);
  sum.add(start_seconds);
  return sum.value();
}

/// What is needed is at most longest (1 + s / p), s the sum of the others' (x / longest)^q for a q of at most p: its
/// powers are left out where they decide nothing.
bool Figures::explains(double rest) const {
  const double longest = std::max({memory_seconds, pipe_seconds, start_seconds});
  if (rest <= latency_ratio * longest) return longest > 0.0;
  double others = -1.0;
  for (const double each : {memory_seconds, pipe_seconds, start_seconds}) {
    const double ratio = each / longest;
    others += overlap >= 2.0 ? ratio * ratio : ratio;
  }
  if (!(rest <= latency_ratio * longest * (1.0 + others / overlap))) return false;
  return rest <= latency_ratio * needed_seconds();
}

bool Figures::starts_longest() const { return start_seconds > std::max(memory_seconds, pipe_seconds); }

bool Figures::unit_decides() const {
  if (!busy || (*busy < suspect_from && !is_contended)) return false;
  const Regime model = regime_by_model();
  return *busy >= busy_limiter || model == Regime::latency || model == Regime::unknown;
}

Regime Figures::regime_beside_launch() const { return unit_decides() ? busy_regime : regime_by_model(); }

Regime Figures::regime_by_model() const {
  const double work = std::max(memory_seconds, pipe_seconds);
  if (explains(beside_launch())) {
    if (starts_longest()) return Regime::overhead;
    return memory_seconds >= pipe_seconds ? Regime::memory : Regime::compute;
  }
  // Time that no ceiling accounts for may be a missing ceiling's, the launch's, or that of work nobody declares.
  const bool known = busy || wave_factor >= idle_grid || (work > 0.0 && complete);
  const bool decidable = known && (launch_seconds || device_seconds);
  return decidable ? Regime::latency : Regime::unknown;
}

Regime Figures::regime() const { return overhead_excess() >= 1.0 ? Regime::overhead : regime_beside_launch(); }

Figures figures_of(const Time& time, const Prediction& prediction) {
  Figures figures;
  figures.seconds = time.seconds;
  figures.device_seconds = time.device_seconds;
  if (prediction.launch) figures.launch_seconds = prediction.launch->seconds;
  figures.memory_seconds = prediction.memory_seconds();
  if (const auto* pipe = prediction.largest(ResourceKind::pipe)) figures.pipe_seconds = pipe->seconds;
  figures.start_seconds = prediction.start_seconds();
  figures.kernels = prediction.kernels;
  figures.wave_factor = prediction.wave_factor;
  figures.overlap = prediction.overlap.value;
  figures.complete = prediction.missing.empty();
  return figures;
}

Regime regime_of(std::string_view limiter) {
  const Resource* const row = find_resource(limiter);
  if (row == nullptr) return Regime::unknown;
  switch (row->kind) {
    case ResourceKind::memory: return Regime::memory;
    case ResourceKind::pipe: return Regime::compute;
    case ResourceKind::start:
    case ResourceKind::launch: return Regime::overhead;
    case ResourceKind::wait: return Regime::latency;
    case ResourceKind::other: break;
  }
  return Regime::unknown;
}

static Binding binding_of(const Prediction& prediction, const Figures& figures) {
  const auto* level = prediction.largest(ResourceKind::memory);
  const auto* pipe = prediction.largest(ResourceKind::pipe);
  if (figures.starts_longest()) return {{Regime::overhead, block_start}, figures.start_seconds};
  if (level != nullptr && figures.memory_seconds >= figures.pipe_seconds)
    return {{Regime::memory, level->resource}, figures.memory_seconds};
  if (pipe != nullptr) return {{Regime::compute, pipe->resource}, pipe->seconds};
  return {};
}

Binding binding_of(const Prediction& prediction) { return binding_of(prediction, figures_of({}, prediction)); }

Decision decide(const Time& time, const Prediction& prediction) {
  const auto figures = figures_of(time, prediction);
  const Regime regime = figures.regime();
  if (regime == Regime::unknown) return {};
  if (regime == Regime::overhead) return {regime, figures.overhead_excess() >= 1.0 ? resource::launch : block_start};
  if (regime == Regime::latency) return {regime, resource::latency};
  return binding_of(prediction, figures).decision;
}

double overhead_seconds(const Time& time, const Prediction& prediction) {
  const double launch = prediction.launch ? std::min(prediction.launch->seconds, time.seconds) : 0.0;
  if (!time.device_seconds || launch >= launch_floor_share * time.seconds) return launch;
  return figures_of(time, prediction).overhead_seconds().value_or(0.0);
}

double margin(const Decision& from, const Decision& to, const Time& time, const Prediction& prediction) {
  const auto either = [&](Regime regime) { return from.regime == regime || to.regime == regime; };
  const auto figures = figures_of(time, prediction);
  if (is_launch(from) || is_launch(to)) return -std::log(figures.overhead_excess());
  if (either(Regime::latency)) return std::log(figures.beside_launch() / (latency_ratio * figures.needed_seconds()));
  if (from.regime == to.regime)
    return std::log(prediction.seconds_of(from.limiter) / prediction.seconds_of(to.limiter));
  if (either(Regime::overhead)) {
    const auto& other = from.regime == Regime::overhead ? to : from;
    const double work = other.regime == Regime::memory ? figures.memory_seconds : prediction.seconds_of(other.limiter);
    return std::log(work / figures.start_seconds);
  }
  const auto& pipe = from.regime == Regime::compute ? from : to;
  return std::log(figures.memory_seconds / prediction.seconds_of(pipe.limiter));
}

}  // namespace gpubench::classifier
