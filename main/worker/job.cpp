// SPDX-License-Identifier: Apache-2.0
#include "main/worker/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/storage/storage.h"

namespace gpubench {
namespace {
constexpr std::array task_names = {std::string_view("measure"), std::string_view("calibrate"),
                                   std::string_view("check_drift"), std::string_view("launch"),
                                   std::string_view("overheads")};
}

std::string job_to_json(const Job& job) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const PointKey& key : job.points)
    points.push_back({{"name", key.name}, {"repetition", key.repetition}, {"occurrence", key.occurrence}});
  nlohmann::ordered_json document;
  document["task"] = task_names[static_cast<std::size_t>(job.task)];
  document["parent"] = job.parent;
  document["device"] = job.device;
  document["operation"] = job.operation;
  document["result"] = job.result.string();
  document["input"] = job.input.string();
  document["points"] = std::move(points);
  auto& added = document["added"] = nlohmann::ordered_json::array();
  for (const AddedSize& size : job.added) {
    nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
    for (const Argument& argument : size.arguments)
      if (argument.text)
        arguments.push_back({{"name", argument.name}, {"text", *argument.text}});
      else
        arguments.push_back({{"name", argument.name}, {"value", argument.value}});
    added.push_back(std::move(arguments));
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Job job_from_json(const std::string& text, const std::string& origin) {
  try {
    const auto document = nlohmann::json::parse(text);
    Job job;
    const auto task = std::find(task_names.begin(), task_names.end(), document.at("task").get<std::string>());
    if (task == task_names.end())
      throw storage::ReadError(
          fmt::format("{}: not a gpubench job (its task is unknown); unset {}", origin, job_variable));
    job.task = static_cast<Job::Task>(task - task_names.begin());
    job.parent = document.at("parent").get<int>();
    job.device = document.at("device").get<std::string>();
    job.operation = document.at("operation").get<std::string>();
    job.result = document.at("result").get<std::string>();
    job.input = document.at("input").get<std::string>();
    for (const auto& point : document.at("points"))
      job.points.push_back({job.device, point.at("name").get<std::string>(), point.at("repetition").get<int>(),
                            point.at("occurrence").get<int>()});
    for (const auto& size : document.at("added")) {
      AddedSize& added = job.added.emplace_back(AddedSize{job.operation, {}});
      for (const auto& argument : size)
        if (argument.contains("text"))
          added.arguments.push_back(
              {argument.at("name").get<std::string>(), 0, argument.at("text").get<std::string>()});
        else
          added.arguments.push_back({argument.at("name").get<std::string>(), argument.at("value").get<std::int64_t>()});
    }
    return job;
  } catch (const nlohmann::json::exception& error) {
    throw storage::ReadError(fmt::format("{}: not a gpubench job ({}); unset {}", origin, error.what(), job_variable));
  }
}

std::optional<TakenJob> take_job() {
  const char* const value = std::getenv(job_variable);
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  unsetenv(job_variable);
  TakenJob taken;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, taken.channel);
  if (error != std::errc() || colon == end || *colon != ':' || taken.channel < 0)
    throw storage::ReadError(fmt::format("{} is '{}', which is not a gpubench job; unset it", job_variable, text));
  const std::string file(colon + 1, end);
  std::ifstream stream(file);
  taken.job = job_from_json({std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}, file);
  return taken;
}

std::string filter_for(const std::string& operation) {
  // What a regular expression may read as its own stands for any character: points are chosen one by one afterwards.
  std::string filter = "^";
  for (const char c : operation) filter += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '.';
  return filter + "/";
}

}  // namespace gpubench
