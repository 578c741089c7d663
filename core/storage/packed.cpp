// SPDX-License-Identifier: Apache-2.0
// Points of long runs in less than half the size. docs/reference/json-schema.md tells the form.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

using Ordered = nlohmann::ordered_json;
using nlohmann::json;

constexpr std::size_t shortest_shared_text = 4;
constexpr std::size_t fewest_numbers = 4;  ///< that one text holds

void count_texts(const Ordered& value, std::unordered_map<std::string, std::size_t>& counts) {
  if (value.is_string()) ++counts[value.get_ref<const std::string&>()];
  if (value.is_structured())
    for (const Ordered& each : value) count_texts(each, counts);
}

class Packer {
 public:
  explicit Packer(const Ordered& points) {
    std::unordered_map<std::string, std::size_t> counts;
    count_texts(points, counts);
    std::vector<std::pair<std::size_t, std::string>> shared;
    for (auto& [text, count] : counts)
      if (count > 1 && text.size() >= shortest_shared_text) shared.emplace_back(count, text);
    std::ranges::sort(shared, [](const auto& a, const auto& b) {  // the most frequent have the shortest numbers
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (const auto& [count, text] : shared) {
      numbers_.emplace(text, texts_.size());
      texts_.push_back(text);
    }
  }

  Ordered packed(const Ordered& value) {
    switch (value.type()) {
      case Ordered::value_t::object: return packed_object(value);
      case Ordered::value_t::array: return packed_array(value);
      case Ordered::value_t::string: return packed_text(value.get_ref<const std::string&>());
      case Ordered::value_t::number_float: {
        constexpr double whole_below = 9007199254740992.0;  // 2^53
        const double number = value.get<double>();
        const bool whole = number == std::trunc(number) && std::abs(number) < whole_below && !std::signbit(number);
        return whole ? Ordered(static_cast<std::int64_t>(number)) : value;
      }
      default: return value;
    }
  }

  Ordered take_texts() { return std::move(texts_); }
  Ordered take_shapes() { return std::move(shapes_); }

 private:
  Ordered packed_object(const Ordered& object) {
    // In what holds plain values alone, a counter or an argument, shared texts belong to the shape.
    const bool is_plain = std::ranges::none_of(object, [](const Ordered& each) { return each.is_structured(); });
    Ordered shape = Ordered::array();
    Ordered result = Ordered::array({0});
    for (const auto& [key, value] : object.items()) {
      shape.push_back(key);
      const auto text =
          is_plain && value.is_string() ? numbers_.find(value.get_ref<const std::string&>()) : numbers_.end();
      if (text != numbers_.end())
        shape.push_back(text->second);
      else
        result.push_back(packed(value));
    }
    const auto [place, is_new] =
        places_.emplace(shape.dump(-1, ' ', false, Ordered::error_handler_t::replace), shapes_.size());
    if (is_new) shapes_.push_back(std::move(shape));
    result[0] = place->second;
    return result;
  }

  Ordered packed_array(const Ordered& array) {
    const auto is_float = [](const Ordered& each) { return each.is_number_float(); };
    const auto is_whole = [](const Ordered& each) { return each.get<double>() == std::trunc(each.get<double>()); };
    if (array.size() >= fewest_numbers && std::ranges::all_of(array, is_float) &&
        !std::ranges::all_of(array, is_whole)) {
      std::string bytes;
      for (const Ordered& each : array) {
        const auto bits = std::bit_cast<std::uint64_t>(each.get<double>());
        for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(bits >> shift & 255U);
      }
      return "~=" + base64(bytes);
    }
    Ordered result = Ordered::array({-1});
    for (const Ordered& each : array) result.push_back(packed(each));
    return result;
  }

  Ordered packed_text(const std::string& text) const {
    if (const auto number = numbers_.find(text); number != numbers_.end()) return fmt::format("~{}", number->second);
    return text.starts_with('~') ? "~" + text : text;
  }

  std::unordered_map<std::string, std::size_t> numbers_;
  std::unordered_map<std::string, std::size_t> places_;
  Ordered texts_ = Ordered::array();
  Ordered shapes_ = Ordered::array();
};

class Unpacker {
 public:
  Unpacker(const json& texts, const json& shapes, std::string_view origin) : origin_(origin) {
    if (!texts.is_array() || !shapes.is_array()) fail("'texts' and 'shapes' must be lists");
    for (const json& text : texts)
      if (!text.is_string()) fail("'texts' holds what is no text");
    texts_ = &texts;
    for (const json& shape : shapes) {
      auto& members = shapes_.emplace_back();
      if (!shape.is_array()) fail("'shapes' holds what is no list");
      for (const json& part : shape) {
        if (part.is_string())
          members.push_back({part.get<std::string>(), nullptr});
        else if (!members.empty())
          members.back().text = &text_at(part);
        else
          fail("a shape begins with a text's number");
      }
    }
  }

  json unpacked(const json& value) {
    if (++values_ > max_values) fail(fmt::format("has more than {} values", max_values));
    if (value.is_string()) return unpacked_text(value.get_ref<const std::string&>());
    if (!value.is_array()) {
      if (value.is_object()) fail("has an object inside a packed point");
      return value;
    }
    if (value.empty() || !value[0].is_number_integer()) fail("has a packed list without its shape");
    const auto shape = value[0].get<std::int64_t>();
    if (shape == -1) {
      json result = json::array();
      for (std::size_t i = 1; i < value.size(); ++i) result.push_back(unpacked(value[i]));
      return result;
    }
    if (shape < 0 || std::cmp_greater_equal(shape, shapes_.size()))
      fail(fmt::format("names shape {} of {}", shape, shapes_.size()));
    json result = json::object();
    std::size_t next = 1;
    for (const Member& member : shapes_[static_cast<std::size_t>(shape)]) {
      if (member.text != nullptr)
        result[member.key] = counted(*member.text);
      else if (next < value.size())
        result[member.key] = unpacked(value[next++]);
      else
        fail(fmt::format("has too few values for shape {}", shape));
    }
    if (next != value.size()) fail(fmt::format("has too many values for shape {}", shape));
    return result;
  }

 private:
  struct Member {
    std::string key;
    const std::string* text;  ///< null: a value stands in the point
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw ReadError(fmt::format("{}: /points: {}; {}", origin_, what, remedy));
  }

  const std::string& text_at(const json& number) const {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= texts_->size())
      fail(fmt::format("names a text that is not among the {} in 'texts'", texts_->size()));
    return (*texts_)[number.get<std::size_t>()].get_ref<const std::string&>();
  }

  /// A short file can name a long text often: what it unpacks to is bounded as files are.
  const std::string& counted(const std::string& text) {
    text_bytes_ += text.size();
    if (text_bytes_ > max_file_bytes) fail(fmt::format("unpacks to more than {} bytes", max_file_bytes));
    return text;
  }

  json unpacked_text(const std::string& text) {
    if (!text.starts_with('~')) return counted(text);
    if (text.starts_with("~~")) return counted(text).substr(1);
    if (text.starts_with("~=")) return numbers_of(std::string_view(text).substr(2));
    const auto number = number_in<std::uint64_t>(std::string_view(text).substr(1));
    if (!number) fail("has a text that is packed in no known way");
    return counted(text_at(json(*number)));
  }

  json numbers_of(std::string_view text) {
    const auto bytes = from_base64(text);
    if (!bytes || bytes->size() % sizeof(double) != 0) fail("has packed numbers that are damaged");
    json result = json::array();
    values_ += bytes->size() / sizeof(double);
    for (std::size_t i = 0; i < bytes->size(); i += sizeof(double)) {
      std::uint64_t bits = 0;
      for (unsigned k = 0; k < sizeof(double); ++k)
        bits |= static_cast<std::uint64_t>(static_cast<unsigned char>((*bytes)[i + k])) << (8 * k);
      result.push_back(std::bit_cast<double>(bits));
    }
    return result;
  }

  std::string_view origin_;
  const json* texts_ = nullptr;
  std::vector<std::vector<Member>> shapes_;
  std::size_t values_ = 0;
  std::uintmax_t text_bytes_ = 0;
};

}  // namespace

void pack_points(Ordered& run) {
  Packer packer(run["points"]);
  Ordered result;
  for (auto& [key, member] : run.items()) {
    if (key != "points") {
      result[key] = std::move(member);
      continue;
    }
    Ordered points = Ordered::array();
    for (const Ordered& point : member) points.push_back(packer.packed(point));
    result["texts"] = packer.take_texts();
    result["shapes"] = packer.take_shapes();
    result["points"] = std::move(points);
  }
  run = std::move(result);
}

void unpack_points(json& run, std::string_view origin, const std::function<void(json)>& take) {
  const auto texts = run.find("texts"), shapes = run.find("shapes"), points = run.find("points");
  if (texts == run.end() || shapes == run.end() || points == run.end() || !points->is_array()) return;
  Unpacker unpacker(*texts, *shapes, origin);
  json packed = std::move(*points);
  *points = json::array();
  for (json& point : packed) {
    take(unpacker.unpacked(point));
    point = nullptr;
  }
}

}  // namespace gpubench::storage
