// SPDX-License-Identifier: Apache-2.0
#include "main/order.h"

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

#include "storage/storage.h"

namespace gpubench {
namespace {
constexpr std::array task_names = {std::string_view("measure"), std::string_view("calibrate"),
                                   std::string_view("check_drift"), std::string_view("launch"),
                                   std::string_view("overheads")};
}

std::string order_to_json(const Order& order) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const PointKey& key : order.points)
    points.push_back({{"name", key.name}, {"repetition", key.repetition}, {"occurrence", key.occurrence}});
  nlohmann::ordered_json document;
  document["task"] = task_names[static_cast<std::size_t>(order.task)];
  document["parent"] = order.parent;
  document["device"] = order.device;
  document["operation"] = order.operation;
  document["result"] = order.result.string();
  document["input"] = order.input.string();
  document["points"] = std::move(points);
  auto& added = document["added"] = nlohmann::ordered_json::array();
  for (const AddedSize& size : order.added) {
    nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
    for (const Argument& argument : size.arguments)
      arguments.push_back({{"name", argument.name}, {"value", argument.value}});
    added.push_back(std::move(arguments));
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Order order_from_json(const std::string& text, const std::string& origin) {
  try {
    const auto document = nlohmann::json::parse(text);
    Order order;
    const auto task = std::find(task_names.begin(), task_names.end(), document.at("task").get<std::string>());
    if (task == task_names.end())
      throw storage::ReadError(
          fmt::format("{}: is no order of gpubench (its task is unknown); unset {}", origin, order_variable));
    order.task = static_cast<Order::Task>(task - task_names.begin());
    order.parent = document.at("parent").get<int>();
    order.device = document.at("device").get<std::string>();
    order.operation = document.at("operation").get<std::string>();
    order.result = document.at("result").get<std::string>();
    order.input = document.at("input").get<std::string>();
    for (const auto& point : document.at("points"))
      order.points.push_back({order.device, point.at("name").get<std::string>(), point.at("repetition").get<int>(),
                              point.at("occurrence").get<int>()});
    for (const auto& size : document.at("added")) {
      AddedSize& added = order.added.emplace_back(AddedSize{order.operation, {}});
      for (const auto& argument : size)
        added.arguments.push_back({argument.at("name").get<std::string>(), argument.at("value").get<std::int64_t>()});
    }
    return order;
  } catch (const nlohmann::json::exception& error) {
    throw storage::ReadError(
        fmt::format("{}: is no order of gpubench ({}); unset {}", origin, error.what(), order_variable));
  }
}

std::optional<TakenOrder> take_order() {
  const char* const value = std::getenv(order_variable);
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  unsetenv(order_variable);
  TakenOrder taken;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, taken.channel);
  if (error != std::errc() || colon == end || *colon != ':' || taken.channel < 0)
    throw storage::ReadError(fmt::format("{} is '{}', which is no order of gpubench; unset it", order_variable, text));
  const std::string file(colon + 1, end);
  std::ifstream stream(file);
  taken.order = order_from_json({std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}, file);
  return taken;
}

std::string filter_for(const std::string& operation) {
  // What a regular expression may read as its own stands for any character: points are chosen one by one afterwards.
  std::string filter = "^";
  for (const char c : operation) filter += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '.';
  return filter + "/";
}

}  // namespace gpubench
