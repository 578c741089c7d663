// SPDX-License-Identifier: Apache-2.0
#include "classifier/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "classifier/draws.h"
#include "statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr double normal_975 = 1.959963984540054;
constexpr double huber_threshold = 1.345;  // 95 % efficiency on normal residuals
constexpr double launch_prior_sigma = 0.3;
constexpr double launch_beside_floor_sigma = 0.7;
/// An operation's own latency beside what its launch costs.
constexpr double latency_of_launch = 0.3;
constexpr double latency_prior_sigma = 1.0;
constexpr double efficiency_prior_sigma = 0.5;
/// Spread of a point beside its own interval: between processes, and what the model does not know.
constexpr double least_sigma = 0.01;
/// However a launch shape's own cost was misread, a launch keeps this part of what the others take.
constexpr double least_of_launch = 0.1;
constexpr double floor_exponent = 32.0;  // q: two queues of which the slower one counts
constexpr int most_iterations = 40;
constexpr double step_of_derivative = 1e-5;

/// Values that the exponentials of parameters must stay within, however hostile the input.
double factor_of(double parameter) { return std::exp(std::clamp(parameter, -80.0, 80.0)); }

/// One normal prior a parameter.
struct Priors {
  Eigen::VectorXd mean;
  Eigen::VectorXd precision;  ///< 1 / variance
};

/// The levels of one observation as the form has them, made ready once.
struct Case {
  const Observation* observation = nullptr;
  MemoryDemand demand;
  /// By level: which efficiency, or -1, and for counted levels their seconds.
  std::vector<int> level_efficiency;
  std::vector<double> counted_seconds;
  std::vector<std::pair<int, double>> pipes;  ///< efficiency, seconds at the ceiling
  std::pair<int, double> start = {-1, 0.0};   ///< of blocks, likewise
  int near_at = -1;                           ///< place of the near half, or -1
  double near_fraction = 0.0;                 ///< of a counted cache's traffic; its place is near_at
};

struct Problem {
  std::vector<Case> cases;
  Layout layout;
  Priors priors;
  double overlap = overlap_prior.value;
  double fixed_seconds = 0.0;  ///< as in Fit
};

int index_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

int efficiency_index(const Layout& layout, std::string_view resource) {
  const int index = index_of(layout.resources, resource);
  return index < 0 ? -1 : layout.first_efficiency + index;
}

/// Memory levels as the form has them: inner caches merged into the next, the last one split in two.
Case case_of(const Observation& observation, const Form& form, const Layout& layout) {
  Case result;
  result.observation = &observation;
  result.demand = observation.prediction.demand;
  const auto& resources = observation.prediction.resources;
  auto& levels = result.demand.levels;
  for (const auto& resource : resources) {
    if (resource.kind == ResourceKind::start) {
      result.start = {efficiency_index(layout, resource.resource), resource.seconds};
      continue;
    }
    if (resource.kind == ResourceKind::pipe) {
      if (resource.seconds > 0.0)
        result.pipes.emplace_back(efficiency_index(layout, resource.resource), resource.seconds);
      continue;
    }
    const auto& counted_cache = observation.prediction.counted_cache;
    if (form.near_level && counted_cache && counted_cache->resource == resource.resource) {
      result.near_at = static_cast<int>(result.level_efficiency.size());
      result.near_fraction = counted_cache->near_fraction();
    }
    result.level_efficiency.push_back(efficiency_index(layout, resource.resource));
    if (observation.prediction.counted) result.counted_seconds.push_back(resource.seconds);
  }
  if (observation.prediction.counted || levels.empty()) return result;
  const auto caches = static_cast<std::size_t>(
      std::ranges::count_if(levels, [](const auto& each) { return std::isfinite(each.capacity_bytes); }));
  const std::size_t merged = std::min(form.first_cache, caches);
  // A cache of no capacity holds nothing, and keeps the others' places.
  for (std::size_t i = 0; i < merged; ++i) levels[i].capacity_bytes = 0.0;
  if (form.near_level && merged < caches) {
    const auto place = static_cast<std::ptrdiff_t>(caches) - 1;
    auto near = levels[caches - 1];
    near.capacity_bytes *= 0.5;
    levels.insert(levels.begin() + place, near);
    result.level_efficiency.insert(result.level_efficiency.begin() + place, layout.near_efficiency);
    result.near_at = static_cast<int>(place);
  }
  return result;
}

double efficiency_at(const Eigen::VectorXd& parameters, int index) {
  return index < 0 ? 1.0 : factor_of(parameters[index]);
}

/// Room for the levels of one case, so that evaluating does not allocate.
struct Scratch {
  MemoryDemand demand;
  std::vector<double> bytes;
};

FittedTime evaluate(const Problem& problem, const Case& one, const Eigen::VectorXd& parameters, Scratch& scratch) {
  const Layout& layout = problem.layout;
  const auto& prediction = one.observation->prediction;
  const double overlap =
      layout.overlap < 0 ? problem.overlap : std::clamp(factor_of(parameters[layout.overlap]), 1.0, 64.0);
  OverlapSum sum(overlap);
  double memory = 0.0;
  if (prediction.counted) {
    OverlapSum levels(overlap);
    for (std::size_t i = 0; i < one.counted_seconds.size(); ++i) {
      // The halves of a cache follow one another, as levels that were not counted do.
      const double near = static_cast<int>(i) == one.near_at ? one.near_fraction : 0.0;
      levels.add(one.counted_seconds[i] * ((1.0 - near) / efficiency_at(parameters, one.level_efficiency[i]) +
                                           near / efficiency_at(parameters, layout.near_efficiency)));
    }
    memory = levels.value();
  } else if (!one.demand.levels.empty()) {
    scratch.demand = one.demand;
    for (std::size_t i = 0; i < scratch.demand.levels.size(); ++i) {
      auto& level = scratch.demand.levels[i];
      // The near half shifts those behind it, and shares the place of the cache that it is half of.
      const std::size_t place = one.near_at >= 0 && static_cast<int>(i) > one.near_at ? i - 1 : i;
      if (place < layout.capacities.size() && layout.capacities[place] >= 0)
        level.capacity_bytes *= factor_of(parameters[layout.capacities[place]]);
      if (layout.hit >= 0) level.hit_exponent.value *= factor_of(parameters[layout.hit]);
    }
    scratch.demand.split(scratch.bytes);
    for (std::size_t i = 0; i < scratch.demand.levels.size(); ++i)
      memory += scratch.bytes[i] * scratch.demand.levels[i].seconds_per_byte /
                efficiency_at(parameters, one.level_efficiency[i]);
  }
  sum.add(memory);
  for (const auto& [index, seconds] : one.pipes) sum.add(seconds / efficiency_at(parameters, index));
  OverlapSum with_start(overlap);
  with_start.add(prediction.wave_factor * sum.value());
  with_start.add(one.start.second / efficiency_at(parameters, one.start.first));
  FittedTime time;
  time.device_seconds = with_start.value();
  if (layout.latency >= 0) time.device_seconds += factor_of(parameters[layout.latency]);
  const double launch = factor_of(parameters[layout.launch]);
  const double shape = prediction.fixed_seconds.value_or(problem.fixed_seconds) - problem.fixed_seconds;
  time.seconds = std::max(launch + shape, least_of_launch * launch) + time.device_seconds;
  if (layout.floor >= 0) {
    OverlapSum slower(floor_exponent);
    slower.add(factor_of(parameters[layout.floor]));
    slower.add(time.seconds);
    time.seconds = slower.value();
  }
  return time;
}

/// All residuals ln(model / measured) over their standard deviations: the times, then the device's times.
class Residuals {
 public:
  explicit Residuals(const Problem& problem) : problem_(problem) {
    for (const auto& one : problem.cases) {
      const auto& observation = *one.observation;
      add(observation.seconds, observation.sigma);
    }
    for (const auto& one : problem.cases)
      if (one.observation->device_seconds) add(*one.observation->device_seconds, one.observation->device_sigma);
  }
  [[nodiscard]] Eigen::Index count() const { return static_cast<Eigen::Index>(logarithms_.size()); }
  [[nodiscard]] double sigma(Eigen::Index i) const { return sigmas_[static_cast<std::size_t>(i)]; }

  void at(const Eigen::VectorXd& parameters, Eigen::VectorXd& out) {
    out.resize(count());
    Eigen::Index device = static_cast<Eigen::Index>(problem_.cases.size());
    for (std::size_t i = 0; i < problem_.cases.size(); ++i) {
      const auto time = evaluate(problem_, problem_.cases[i], parameters, scratch_);
      out[static_cast<Eigen::Index>(i)] = (std::log(time.seconds) - logarithms_[i]) / sigmas_[i];
      if (!problem_.cases[i].observation->device_seconds) continue;
      const auto place = static_cast<std::size_t>(device);
      out[device] = (std::log(std::max(time.device_seconds, least_figure)) - logarithms_[place]) / sigmas_[place];
      ++device;
    }
  }

 private:
  void add(double seconds, double sigma) {
    logarithms_.push_back(std::log(seconds));
    sigmas_.push_back(std::hypot(std::min(sigma, 10.0), least_sigma));
  }

  const Problem& problem_;
  std::vector<double> logarithms_;
  std::vector<double> sigmas_;
  Scratch scratch_;
};

double huber(double r) {
  const double size = std::abs(r);
  return size <= huber_threshold ? 0.5 * r * r : huber_threshold * (size - 0.5 * huber_threshold);
}

double weight_of(double r) {
  const double size = std::abs(r);
  return size <= huber_threshold ? 1.0 : huber_threshold / size;
}

double loss_of(const Eigen::VectorXd& residuals, const Priors& priors, const Eigen::VectorXd& parameters) {
  const Eigen::VectorXd shift = parameters - priors.mean;
  double sum = 0.5 * shift.dot(priors.precision.cwiseProduct(shift));
  for (const double r : residuals) sum += huber(r);
  return sum;
}

void jacobian_at(Residuals& residuals, const Eigen::VectorXd& parameters, const Eigen::VectorXd& base,
                 Eigen::MatrixXd& jacobian) {
  jacobian.resize(residuals.count(), parameters.size());
  Eigen::VectorXd moved = parameters;
  Eigen::VectorXd shifted;
  for (Eigen::Index j = 0; j < parameters.size(); ++j) {
    moved[j] += step_of_derivative;
    residuals.at(moved, shifted);
    jacobian.col(j) = (shifted - base) / step_of_derivative;
    moved[j] = parameters[j];
  }
}

/// Whether some size lies where the level at `level` of the demand hands over to the next.
bool is_crossed(const std::vector<Observation>& observations, std::size_t level, std::size_t first_cache) {
  bool inside = false;
  bool beyond = false;
  for (const auto& observation : observations) {
    const auto& demand = observation.prediction.demand;
    if (observation.prediction.counted || level >= demand.levels.size() || level < first_cache) continue;
    const double capacity = demand.levels[level].capacity_bytes;
    if (!std::isfinite(capacity) || level + 1 >= demand.levels.size()) continue;
    inside = inside || demand.footprint_bytes <= 1.2 * capacity;
    beyond = beyond || demand.footprint_bytes >= 0.8 * capacity;
  }
  return inside && beyond;
}

/// Some size has two throughput resources that are near each other.
bool overlaps(const std::vector<Observation>& observations) {
  return std::ranges::any_of(observations, [](const Observation& observation) {
    const auto& prediction = observation.prediction;
    std::vector<double> seconds = {prediction.memory_seconds()};
    for (const auto& resource : prediction.resources)
      if (resource.kind != ResourceKind::memory) seconds.push_back(resource.seconds);
    std::ranges::sort(seconds, std::greater<>());
    return seconds.size() > 1 && seconds[1] > 0.5 * seconds[0] && seconds[0] > 0.0;
  });
}

class LayoutMaker {
 public:
  void add(int& place, double mean, double sigma) {
    place = static_cast<int>(means_.size());
    means_.push_back(mean);
    sigmas_.push_back(sigma);
  }
  [[nodiscard]] int count() const { return static_cast<int>(means_.size()); }
  [[nodiscard]] Priors priors() const {
    Priors result{Eigen::VectorXd(count()), Eigen::VectorXd(count())};
    for (int i = 0; i < count(); ++i) {
      const auto place = static_cast<std::size_t>(i);
      const double sigma = std::clamp(sigmas_[place], 1e-4, 1e3);
      result.mean[i] = means_[place];
      result.precision[i] = 1.0 / (sigma * sigma);
    }
    return result;
  }

 private:
  std::vector<double> means_;
  std::vector<double> sigmas_;
};

double mean_fixed_seconds(const std::vector<Observation>& observations) {
  double sum = 0.0;
  double count = 0.0;
  for (const auto& observation : observations)
    if (const auto& fixed = observation.prediction.fixed_seconds) {
      sum += *fixed;
      count += 1.0;
    }
  return count > 0.0 ? sum / count : 0.0;
}

Problem problem_of(const std::vector<Observation>& observations, const Form& form) {
  Problem problem;
  Layout& layout = problem.layout;
  LayoutMaker maker;
  const auto& first = observations.front().prediction;
  problem.overlap = first.overlap.value;
  problem.fixed_seconds = mean_fixed_seconds(observations);
  const double launch = std::log(first.launch->seconds);
  const bool has_device = std::ranges::any_of(
      observations, [](const Observation& observation) { return observation.device_seconds.has_value(); });

  maker.add(layout.launch, form.launch_floor ? launch + std::log(0.6) : launch,
            form.launch_floor || has_device ? launch_beside_floor_sigma : launch_prior_sigma);
  if (form.launch_floor) maker.add(layout.floor, launch, launch_prior_sigma);
  if (has_device) maker.add(layout.latency, launch + std::log(latency_of_launch), latency_prior_sigma);
  if (overlaps(observations)) maker.add(layout.overlap, std::log(first.overlap.value), first.overlap.sigma);
  const auto& levels = first.demand.levels;
  layout.capacities.assign(levels.size(), -1);
  bool any = false;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!is_crossed(observations, i, form.first_cache)) continue;
    maker.add(layout.capacities[i], 0.0, std::hypot(levels[i].capacity_sigma, model_sigma));
    any = true;
  }
  if (any) maker.add(layout.hit, 0.0, std::max(levels.front().hit_exponent.sigma, 0.05));

  for (const auto& observation : observations)
    for (const auto& resource : observation.prediction.resources)
      if (resource.seconds > 0.0 && index_of(layout.resources, resource.resource) < 0)
        layout.resources.emplace_back(resource.resource);
  layout.first_efficiency = maker.count();
  int place = 0;
  for (std::size_t i = 0; i < layout.resources.size(); ++i) maker.add(place, 0.0, efficiency_prior_sigma);
  if (form.near_level) maker.add(layout.near_efficiency, 0.0, efficiency_prior_sigma);
  layout.count = maker.count();
  problem.priors = maker.priors();
  for (const auto& observation : observations) problem.cases.push_back(case_of(observation, form, layout));
  return problem;
}

/// The solution with what the bootstrap needs of it.
struct Solution {
  Fit fit;
  Eigen::VectorXd residuals;
  Eigen::MatrixXd jacobian;
  double parameters_used = 0.0;
};

Eigen::MatrixXd curvature_of_data(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& residuals) {
  const Eigen::VectorXd weights = residuals.unaryExpr(&weight_of);
  return jacobian.transpose() * weights.asDiagonal() * jacobian;
}

/// n ln(mean loss) + 2 k + 2 k (k + 1) / (n - k - 1); infinite when there are too few residuals for the parameters.
double criterion_of(const Eigen::VectorXd& residuals, double parameters_used) {
  const auto count = static_cast<double>(residuals.size());
  const double room = count - parameters_used - 1.0;
  if (room <= 0.0) return std::numeric_limits<double>::infinity();
  double loss = 0.0;
  for (const double r : residuals) loss += 2.0 * huber(r);
  // Below a tenth of the noise that the points themselves claim, a better fit says nothing.
  return count * std::log(std::max(loss / count, 0.01)) + 2.0 * parameters_used +
         2.0 * parameters_used * (parameters_used + 1.0) / room;
}

Solution solve(const Problem& problem, const Form& form) {
  Residuals residuals(problem);
  Solution solution;
  Fit& fit = solution.fit;
  fit.form = form;
  fit.layout = problem.layout;
  fit.fixed_seconds = problem.fixed_seconds;
  fit.parameters = problem.priors.mean;
  residuals.at(fit.parameters, solution.residuals);
  double current = loss_of(solution.residuals, problem.priors, fit.parameters);
  jacobian_at(residuals, fit.parameters, solution.residuals, solution.jacobian);
  double damping = 1e-3;
  Eigen::VectorXd tried;
  while (fit.iterations < most_iterations && damping < 1e8) {
    ++fit.iterations;
    const Eigen::VectorXd weights = solution.residuals.unaryExpr(&weight_of);
    Eigen::MatrixXd matrix = solution.jacobian.transpose() * weights.asDiagonal() * solution.jacobian;
    matrix.diagonal() += problem.priors.precision;
    const Eigen::VectorXd gradient = solution.jacobian.transpose() * weights.cwiseProduct(solution.residuals) +
                                     problem.priors.precision.cwiseProduct(fit.parameters - problem.priors.mean);
    matrix.diagonal() *= 1.0 + damping;
    const Eigen::VectorXd step = matrix.ldlt().solve(gradient);
    const Eigen::VectorXd next = fit.parameters - step;
    residuals.at(next, tried);
    const double loss = loss_of(tried, problem.priors, next);
    if (!(loss <= current)) {
      damping *= 8.0;
      continue;
    }
    const bool settled = step.lpNorm<Eigen::Infinity>() < 1e-6 || current - loss < 1e-9 * (1.0 + current);
    fit.parameters = next;
    solution.residuals = tried;
    current = loss;
    damping = std::max(damping / 8.0, 1e-9);
    jacobian_at(residuals, fit.parameters, solution.residuals, solution.jacobian);
    if (settled) break;
  }
  Eigen::MatrixXd data = curvature_of_data(solution.jacobian, solution.residuals);
  Eigen::MatrixXd all = data;
  all.diagonal() += problem.priors.precision;
  solution.parameters_used = all.ldlt().solve(data).trace();
  fit.criterion = criterion_of(solution.residuals, solution.parameters_used);
  const auto count = static_cast<Eigen::Index>(problem.cases.size());
  double sum = 0.0;
  for (Eigen::Index i = 0; i < count; ++i) sum += std::pow(solution.residuals[i] * residuals.sigma(i), 2);
  fit.residual_rms = std::sqrt(sum / static_cast<double>(count));
  return solution;
}

/// Residuals of the fit in blocks of neighbouring sizes, each from a random place (Kuensch, Annals of Statistics 17,
/// 1989), round the ends; spread to make up for the parameters that were fitted to them.
class BlockBootstrap {
 public:
  /// `own`: rms of the standardised residuals that the points' own intervals stand for.
  BlockBootstrap(const Solution& solution, std::size_t sizes, double own)
      : residuals_(solution.residuals.array() - solution.residuals.mean()), sizes_(sizes) {
    const auto count = static_cast<double>(residuals_.size());
    const double freedom = std::max(count - solution.parameters_used, 1.0);
    // Few residuals say little about their own spread: Student's quantile over the normal one, to second order
    // (Abramowitz and Stegun 26.7.5).
    constexpr double z2 = normal_975 * normal_975;
    spread_ = std::sqrt(count / freedom) *
              (1.0 + (z2 + 1.0) / (4.0 * freedom) + (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / (96.0 * freedom * freedom));
    // A spread narrower than the points' own is chance.
    const double seen = spread_ * std::sqrt(residuals_.squaredNorm() / count);
    if (seen > 0.0 && seen < own) spread_ *= own / seen;
    // A fit makes the residuals of independent errors lean away from their neighbours: blocks of those would vary too
    // little.
    if (neighbours_resemble())
      length_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(sizes)))));
  }
  [[nodiscard]] Eigen::VectorXd draw() {
    Eigen::VectorXd result(residuals_.size());
    fill(result, 0, sizes_);
    fill(result, sizes_, static_cast<std::size_t>(residuals_.size()) - sizes_);  // the device's own
    return result;
  }

 private:
  [[nodiscard]] bool neighbours_resemble() const {
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < sizes_; ++i)
      sum += residuals_[static_cast<Eigen::Index>(i)] * residuals_[static_cast<Eigen::Index>(i + 1)];
    return sum > 0.0;
  }
  void fill(Eigen::VectorXd& result, std::size_t from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i % length_ == 0) start_ = next() % count;
      const std::size_t source = from + (start_ + i % length_) % count;
      result[static_cast<Eigen::Index>(from + i)] = spread_ * residuals_[static_cast<Eigen::Index>(source)];
    }
  }
  std::uint64_t next() {  // Marsaglia, Journal of Statistical Software 8, 2003
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }

  Eigen::VectorXd residuals_;  ///< centred
  std::size_t sizes_;
  std::size_t length_ = 1;
  double spread_ = 1.0;
  std::size_t start_ = 0;
  std::uint64_t state_ = 88172645463325252U;
};

void add_replicates(Solution& solution, const Problem& problem, std::size_t count) {
  Eigen::MatrixXd matrix = curvature_of_data(solution.jacobian, solution.residuals);
  matrix.diagonal() += problem.priors.precision;
  const Eigen::LDLT<Eigen::MatrixXd> solver(matrix);
  double own = 0.0;
  for (const auto& one : problem.cases)
    own += std::pow(one.observation->sigma / std::hypot(one.observation->sigma, least_sigma), 2);
  BlockBootstrap bootstrap(solution, problem.cases.size(), std::sqrt(own / static_cast<double>(problem.cases.size())));
  const Eigen::VectorXd spread = problem.priors.precision.cwiseInverse().cwiseSqrt();
  Eigen::VectorXd prior_shift(spread.size());
  for (std::size_t b = 0; b < count; ++b) {
    // The measured logarithm is the model's less the residual; a drawn one moves by the drawn residual.
    const Eigen::VectorXd drawn_residuals = bootstrap.draw();
    const Eigen::VectorXd weights = drawn_residuals.unaryExpr(&weight_of);
    for (Eigen::Index j = 0; j < spread.size(); ++j)
      prior_shift[j] = spread[j] * normal_draws(32 + static_cast<std::size_t>(j))[b % draw_count];
    const Eigen::VectorXd right = problem.priors.precision.cwiseProduct(prior_shift) -
                                  solution.jacobian.transpose() * weights.cwiseProduct(drawn_residuals);
    solution.fit.replicates.emplace_back(solution.fit.parameters + solver.solve(right));
  }
}

bool has_finite(const Fit& fit) { return fit.parameters.allFinite(); }

}  // namespace

double Fit::launch_seconds() const { return factor_of(parameters[layout.launch]); }

double Fit::efficiency(std::string_view resource, const Eigen::VectorXd& by) const {
  return efficiency_at(by, efficiency_index(layout, resource));
}

FittedTime fitted_time(const Fit& fit, const Eigen::VectorXd& parameters, const Prediction& prediction) {
  Problem problem;
  problem.layout = fit.layout;
  problem.overlap = prediction.overlap.value;
  problem.fixed_seconds = fit.fixed_seconds;
  const Observation observation{prediction, 1.0, 0.0, std::nullopt, 0.0};
  Scratch scratch;
  return evaluate(problem, case_of(observation, fit.form, fit.layout), parameters, scratch);
}

Machine with_fitted_figures(Machine machine, const Fit& fit, const Eigen::VectorXd& parameters) {
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {
    if (i < fit.layout.capacities.size() && fit.layout.capacities[i] >= 0)
      machine.caches[i].capacity_bytes *= factor_of(parameters[fit.layout.capacities[i]]);
    if (fit.layout.hit >= 0) machine.caches[i].hit_exponent.value *= factor_of(parameters[fit.layout.hit]);
  }
  if (fit.layout.overlap >= 0) machine.overlap.value = std::clamp(factor_of(parameters[fit.layout.overlap]), 1.0, 64.0);
  return machine;
}

Fit fit_form(const std::vector<Observation>& observations, const Form& form) {
  return solve(problem_of(observations, form), form).fit;
}

Fit fit_operation(const std::vector<Observation>& observations, std::size_t replicates) {
  std::size_t caches = 0;
  for (const auto& level : observations.front().prediction.demand.levels)
    caches += std::isfinite(level.capacity_bytes) ? 1 : 0;
  std::vector<Form> forms;
  for (std::size_t first = 0; first <= caches; ++first)
    for (const bool floor : {false, true}) forms.push_back({first, false, floor});
  const bool has_cache = caches > 0 || std::ranges::any_of(observations, [](const Observation& observation) {
                           return observation.prediction.counted_cache.has_value();
                         });
  if (has_cache)
    for (const bool floor : {false, true}) forms.push_back({0, true, floor});
  std::optional<Form> best;
  double least = std::numeric_limits<double>::infinity();
  constexpr double worth_it = 2.0;  // less than that tells two forms apart in nobody's book; the earlier is simpler
  for (const Form& form : forms) {
    const auto fit = fit_form(observations, form);
    if (!has_finite(fit) || !(fit.criterion < least - (best ? worth_it : 0.0))) continue;
    best = form;
    least = fit.criterion;
  }
  const Form form = best.value_or(Form{});
  const auto problem = problem_of(observations, form);
  auto solution = solve(problem, form);
  if (replicates > 0) add_replicates(solution, problem, replicates);
  return std::move(solution.fit);
}

std::optional<Exponent> fit_overlap(const std::vector<SweptIntensity>& points) {
  const auto usable = [](double x) { return x >= least_figure && x <= largest_figure; };
  std::vector<SweptIntensity> good;
  for (const auto& point : points)
    if (usable(point.memory_seconds) && usable(point.pipe_seconds) && usable(point.seconds)) good.push_back(point);
  if (good.size() < 5) return std::nullopt;
  // As an operation's fit whose launch is negligible: both resources have an efficiency, and p is free.
  std::vector<Observation> observations;
  for (const auto& point : good) {
    Observation observation;
    observation.prediction.launch = Launch{1e-9 * point.seconds, 0.0};
    observation.prediction.counted = true;
    observation.prediction.resources = {{"dram", ResourceKind::memory, point.memory_seconds, 0.0},
                                        {"pipe", ResourceKind::pipe, point.pipe_seconds, 0.0}};
    observation.seconds = point.seconds;
    observation.sigma = least_sigma;
    observations.push_back(std::move(observation));
  }
  const auto problem = problem_of(observations, {});
  if (problem.layout.overlap < 0) return std::nullopt;
  auto solution = solve(problem, {});
  add_replicates(solution, problem, 200);
  double square = 0.0;
  const double center = solution.fit.parameters[problem.layout.overlap];
  for (const auto& replicate : solution.fit.replicates)
    square += std::pow(replicate[problem.layout.overlap] - center, 2) / 200.0;
  if (!std::isfinite(center) || !std::isfinite(square)) return std::nullopt;
  return Exponent{std::clamp(factor_of(center), 1.0, 64.0), std::sqrt(square)};
}

}  // namespace gpubench::classifier
