// SPDX-License-Identifier: Apache-2.0
#include "bench/google/argument_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/google/adapter.h"
#include "core/base/text.h"

namespace gpubench::bench {
namespace {

constexpr std::size_t max_values = 1000;

/// "1024" or "2^10".
std::optional<std::int64_t> number(std::string_view text) {
  const auto caret = text.find('^');
  if (caret == std::string_view::npos) return number_in<std::int64_t>(text);
  const auto base = number_in<std::int64_t>(text.substr(0, caret));
  const auto exponent = number_in<std::int64_t>(text.substr(caret + 1));
  if (!base || !exponent || *base < 1 || *exponent < 0) return std::nullopt;
  std::int64_t value = 1;
  for (std::int64_t i = 0; i<*exponent&& * base> 1; ++i)
    if (__builtin_mul_overflow(value, *base, &value)) return std::nullopt;
  return value;
}

std::vector<std::int64_t> numbers_from(const std::string& argument, std::string_view range, std::size_t dots) {
  const auto bad = [&](const char* why) {
    return ArgumentError(fmt::format("--arg {}={}: {}; a range is FROM..TO or FROM..TO:FACTOR, such as 2^10..2^20:4.",
                                     argument, range, why));
  };
  const auto colon = std::min(range.find(':', dots), range.size());
  const auto from = number(range.substr(0, dots));
  const auto to = number(range.substr(dots + 2, colon - dots - 2));
  const auto factor = colon < range.size() ? number(range.substr(colon + 1)) : std::optional<std::int64_t>(2);
  if (!from || !to || !factor) throw bad("it does not hold numbers");
  if (*from < 1 || *to < *from) throw bad("it has to go upwards, from 1 or more");
  if (*factor < 2) throw bad("the factor has to be 2 or more");
  std::vector<std::int64_t> numbers;
  for (std::int64_t value = *from; value < *to;) {
    numbers.push_back(value);
    if (__builtin_mul_overflow(value, *factor, &value)) break;
  }
  numbers.push_back(*to);
  return numbers;
}

/// What stands for an argument without a name: its number, counted from 0 as in state.range(0).
std::string name_at(const std::vector<std::string>& names, std::size_t index) {
  return names[index].empty() ? std::to_string(index) : names[index];
}

const ArgumentChoice* choice_of(const std::vector<ArgumentChoice>& choices, const std::string& name) {
  const auto found = std::ranges::find(choices, name, &ArgumentChoice::name);
  return found == choices.end() ? nullptr : &*found;
}

/// Points that one operation registered, without repetitions.
struct Registered {
  Registration* registration;
  std::set<std::vector<std::int64_t>> numbers;
};

std::vector<Registered> registered_points() {
  std::vector<Registered> result;
  for (Registration* const one : registrations()) result.push_back({one, {}});
  for (const PointName& point : discover(std::nullopt, "")) {
    std::vector<std::int64_t> numbers;
    for (const Argument& argument : point.arguments)
      if (!argument.text) numbers.push_back(argument.value);
    std::ranges::find(result, point.registration, &Registered::registration)->numbers.insert(std::move(numbers));
  }
  return result;
}

/// The numbers of a point with all values that were asked for in place of its own.
void add_replacements(const std::vector<ArgumentChoice>& choices, const std::vector<std::string>& names,
                      std::vector<std::int64_t> numbers, std::size_t index, std::set<std::vector<std::int64_t>>& all) {
  if (index == numbers.size()) {
    all.insert(std::move(numbers));
    return;
  }
  const ArgumentChoice* const choice = choice_of(choices, name_at(names, index));
  const std::vector<std::int64_t> values = choice ? choice->numbers : std::vector<std::int64_t>{numbers[index]};
  for (const std::int64_t value : values) {
    numbers[index] = value;
    add_replacements(choices, names, numbers, index + 1, all);
  }
}

void replace_numbers(const std::vector<ArgumentChoice>& choices, const Registered& points) {
  Registration& registration = *points.registration;
  const auto& names = *registration.number_names;
  std::set<std::vector<std::int64_t>> wanted;
  for (const auto& numbers : points.numbers) add_replacements(choices, names, numbers, 0, wanted);
  for (const auto& numbers : points.numbers)
    if (!wanted.contains(numbers)) registration.replaced.insert(numbers);
  for (const auto& numbers : wanted)
    if (!points.numbers.contains(numbers)) registration.google->Args(numbers);
}

bool has_text(const ArgumentChoice* choice, const std::string& text) {
  return choice == nullptr || contains(choice->texts, text);
}

/// Refuses what no operation has, naming what there is.
void check(const std::vector<ArgumentChoice>& choices, const std::vector<Registered>& points) {
  std::set<std::string> names;
  for (const ArgumentChoice& choice : choices) {
    if (std::ranges::count(choices, choice.name, &ArgumentChoice::name) > 1)
      throw ArgumentError(fmt::format(
          "--arg {0}: it is given twice; give all values at once, as in --arg {0}=1024,4096.", choice.name));
    std::set<std::string> texts;
    bool is_number = false;
    for (const Registered& each : points) {
      if (!each.registration->number_names) continue;
      for (std::size_t i = 0; i < each.registration->number_names->size(); ++i) {
        names.insert(name_at(*each.registration->number_names, i));
        is_number = is_number || name_at(*each.registration->number_names, i) == choice.name;
      }
      for (const Argument& text : each.registration->texts) {
        names.insert(text.name);
        if (text.name == choice.name) texts.insert(*text.text);
      }
    }
    if (!is_number && texts.empty())
      throw ArgumentError(names.empty()
                              ? fmt::format("--arg {}: no operation of this program has arguments.", choice.name)
                              : fmt::format("--arg {}: no operation of this program has an argument of that name; they "
                                            "have {}.",
                                            choice.name, joined(names, ", ")));
    for (const std::string& text : choice.texts)
      if (!is_number && !texts.contains(text))
        throw ArgumentError(fmt::format("--arg {}={}: no operation has that value; it takes {}.", choice.name, text,
                                        joined(texts, ", ")));
    if (is_number && choice.numbers.empty())
      throw ArgumentError(fmt::format("--arg {}={}: it takes whole numbers, such as 1024,4096 or 2^10..2^20:4.",
                                      choice.name, joined(choice.texts, ",")));
  }
}

}  // namespace

ArgumentChoice parse_argument_choice(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw ArgumentError(fmt::format("--arg takes NAME=VALUES, such as n=1024,4096 or n=2^10..2^20:4, not '{}'.", text));
  ArgumentChoice choice;
  choice.name = text.substr(0, equals);
  bool all_numbers = true;
  for (const std::string& value : split(std::string_view(text).substr(equals + 1), ',')) {
    if (const auto dots = value.find(".."); dots != std::string::npos) {
      const auto numbers = numbers_from(choice.name, value, dots);
      choice.numbers.insert(choice.numbers.end(), numbers.begin(), numbers.end());
    } else if (const auto one = number(value)) {
      choice.numbers.push_back(*one);
      choice.texts.push_back(value);
    } else if (value.empty()) {
      throw ArgumentError(fmt::format("--arg {}: there is a comma without a value beside it.", text));
    } else {
      all_numbers = false;
      choice.texts.push_back(value);
    }
  }
  if (!all_numbers) choice.numbers.clear();
  if (choice.numbers.size() > max_values)
    throw ArgumentError(fmt::format("--arg {}: that is more than {} values.", text, max_values));
  return choice;
}

void choose_arguments(const std::vector<ArgumentChoice>& choices) {
  if (choices.empty()) return;
  const std::vector<Registered> points = registered_points();
  check(choices, points);
  for (const Registered& each : points) {
    Registration& registration = *each.registration;
    if (!registration.number_names) continue;
    const bool chosen = std::ranges::all_of(
        registration.texts, [&](const Argument& text) { return has_text(choice_of(choices, text.name), *text.text); });
    if (chosen)
      replace_numbers(choices, each);
    else
      registration.replaced = each.numbers;
  }
}

}  // namespace gpubench::bench
