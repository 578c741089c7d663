// SPDX-License-Identifier: Apache-2.0
#include "bench/google/registration.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/google/adapter.h"

namespace gpubench {
namespace {

std::vector<bench::Registration*>& all_registrations() {
  static std::vector<bench::Registration*> all;
  return all;
}

GoogleBenchmark* add(bench::Registration registration) {
  // Google Benchmark keeps what it registers until the process ends; so is this kept.
  static std::vector<std::unique_ptr<bench::Registration>> owner;
  bench::Registration& kept = *owner.emplace_back(std::make_unique<bench::Registration>(std::move(registration)));
  std::string name = kept.operation;
  for (const Argument& text : kept.texts) name += fmt::format("/{}:{}", text.name, *text.text);
  kept.google = benchmark::RegisterBenchmark(name.c_str(), [&kept](benchmark::State& google) {
                  bench::Adapter::call(google, kept);
                })->UseManualTime();
  all_registrations().push_back(&kept);
  return kept.google;
}

}  // namespace

namespace bench {
const std::vector<Registration*>& registrations() { return all_registrations(); }
}  // namespace bench

GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation,
                                    Code code) {
  bench::Registration registration;
  registration.operation = name;
  registration.kind = kind;
  registration.function = std::move(operation);
  registration.unoptimized_code = code == Code::unoptimized;
  return add(std::move(registration));
}

Benchmarks register_axis(const std::string& name, DeviceKind kind, const std::string& argument,
                         const std::vector<AxisValue>& values, Code code) {
  std::vector<GoogleBenchmark*> registered;
  for (const AxisValue& value : values) {
    bench::Registration registration;
    registration.operation = name;
    registration.kind = kind;
    registration.function = value.operation;
    registration.texts = {Argument{argument, 0, value.text}};
    registration.unoptimized_code = code == Code::unoptimized;
    registered.push_back(add(std::move(registration)));
  }
  return Benchmarks(std::move(registered));
}

namespace detail {

std::vector<std::string> split_names(const char* text) {
  std::vector<std::string> names;
  std::string name;
  int depth = 0;
  for (const char* c = text;; ++c) {
    if (*c == '\0' || (*c == ',' && depth == 0)) {
      while (!name.empty() && name.back() == ' ') name.pop_back();
      names.push_back(std::exchange(name, {}));
      if (*c == '\0') return names;
      continue;
    }
    if (*c == '<' || *c == '(' || *c == '{' || *c == '[') ++depth;
    if (*c == '>' || *c == ')' || *c == '}' || *c == ']') --depth;
    if (*c == '/') throw std::invalid_argument("a name in a list of types or texts cannot hold a '/'");
    if (*c != ' ' || !name.empty()) name += *c;
  }
}

}  // namespace detail
}  // namespace gpubench
