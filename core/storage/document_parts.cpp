// SPDX-License-Identifier: Apache-2.0
#include "core/storage/document_parts.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

using Json = nlohmann::json;

/// Builds a document from the parser's events.
class Builder {
 public:
  Builder(std::string_view origin, const PartsOptions& options) : origin_(origin), options_(options) {}

  [[nodiscard]] Json take_document() { return std::move(root_); }
  [[nodiscard]] const std::optional<ReadError>& part_error() const { return part_error_; }
  [[nodiscard]] std::size_t error_byte() const { return error_byte_; }
  [[nodiscard]] bool too_large() const { return too_large_; }

  // What nlohmann::json::sax_parse calls.
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(Json::number_integer_t value) { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return put(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*elements*/) { return open(Json::object()); }
  bool start_array(std::size_t /*elements*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    count();
    if (left_out_depth_ == 0) key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*last*/, const nlohmann::detail::exception& error) {
    constexpr int number_out_of_range = 406;
    error_byte_ = position;
    too_large_ = error.id == number_out_of_range;
    return false;
  }

 private:
  void count() {
    if (++values_ > max_values)
      throw ReadError(fmt::format("{}: holds more than {} values; split the run with --filter", origin_, max_values));
  }

  template <class Value>
  bool put(Value&& value) {
    count();
    if (left_out_depth_ == 0) add(std::forward<Value>(value));
    return true;
  }

  template <class Value>
  Json* add(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::forward<Value>(value));
    // A key that stands twice has its last value, as everywhere in nlohmann::json.
    auto& members = parent.get_ref<Json::object_t&>();
    return &members.insert_or_assign(std::move(key_), Json(std::forward<Value>(value))).first->second;
  }

  bool open(Json&& value) {
    count();
    if (++depth_ > deepest_nesting)
      throw ReadError(fmt::format("{}: nested deeper than {} levels, so no file of gpubench; {}", origin_,
                                  deepest_nesting, remedy));
    if (left_out_depth_ > 0) {
      ++left_out_depth_;
      return true;
    }
    const bool named = !open_.empty() && open_.back()->is_object();
    if (in_list_ && value.is_array() && named && options_.left_out.count(key_) > 0) {
      add(std::move(value));
      left_out_depth_ = 1;
      return true;
    }
    const bool is_list = open_.size() == 1 && named && value.is_array() && key_ == options_.list;
    open_.push_back(add(std::move(value)));
    if (is_list) in_list_ = true;
    return true;
  }

  bool close() {
    --depth_;
    if (left_out_depth_ > 0) {
      --left_out_depth_;
      return true;
    }
    open_.pop_back();
    if (in_list_ && open_.size() == 1) in_list_ = false;
    if (in_list_ && open_.size() == 2) finish_part();
    return true;
  }

  /// An element of the list is complete.
  void finish_part() {
    Json part = std::move(open_.back()->back());
    open_.back()->erase(open_.back()->size() - 1);
    if (part_error_) return;
    try {
      options_.take(std::move(part), parts_++);
    } catch (const ReadError& error) {
      part_error_ = error;
    }
  }

  std::string_view origin_;
  const PartsOptions& options_;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  bool in_list_ = false;
  int depth_ = 0;
  int left_out_depth_ = 0;
  std::size_t parts_ = 0;
  std::size_t values_ = 0;
  std::size_t error_byte_ = 0;
  bool too_large_ = false;
  std::optional<ReadError> part_error_;
};

}  // namespace

Json parse_parts(std::string_view text, std::string_view origin, std::string_view schema, int version,
                 const PartsOptions& options) {
  refuse_empty(text, origin, schema);
  Builder builder(origin, options);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    if (builder.too_large()) refuse_number(origin);
    refuse_syntax(text, builder.error_byte(), origin);
  }
  Json document = builder.take_document();
  check_schema(document, origin, schema, version);
  if (builder.part_error()) throw ReadError(*builder.part_error());
  return document;
}

}  // namespace gpubench::storage
