// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "timeline/operators/operator_work.h"
#include "timeline/operators/operators.h"

namespace gpubench::timeline {
namespace {

using ReplayJson = nlohmann::json;
constexpr std::size_t max_replayed = 20;

constexpr std::string_view script_head = R"py(#!/usr/bin/env python3
"""Calls an operator of PyTorch again, with inputs of the shapes, types and strides that a trace recorded.

Made by gpubench trace replay. It needs PyTorch alone: python3 FILE --device=cuda
"""
import argparse
import importlib
import json
import statistics
import time

import torch

)py";

constexpr std::string_view script_body = R"py(
TYPES = {"float": torch.float32, "double": torch.float64, "c10::Half": torch.float16, "c10::BFloat16": torch.bfloat16,
         "int": torch.int32, "long int": torch.int64, "long": torch.int64, "short int": torch.int16,
         "signed char": torch.int8, "unsigned char": torch.uint8, "bool": torch.bool}


def tensor(shape, strides, kind, below, device):
    """Random, but of whole numbers those that may be an index: below the smallest extent of the others."""
    size = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)) if 0 not in shape else 0
    if kind == torch.bool or not kind.is_floating_point:
        values = torch.randint(0, 2 if kind == torch.bool else below, (size,), device=device).to(kind)
    else:
        values = torch.randn(size, device=device).to(kind)
    return values.as_strided(shape, strides)


def number(text):
    return text == "True" if text in ("True", "False") else int(text) if text.lstrip("-").isdigit() else float(text)


def argument(kind, call, i, below, device):
    type_, value = call["types"][i], call["values"][i]
    if kind.startswith("Optional["):
        if type_ == "" or (type_ == "ScalarList" and value == "[]"):
            return None
        kind = kind[len("Optional["):-1]
    if kind == "Tensor":
        return tensor(call["shapes"][i], call["strides"][i], TYPES[type_], below, device)
    if kind in ("List[int]", "List[float]", "List[bool]"):
        return [number(one.strip()) for one in value.strip("[]").split(",") if one.strip()]
    read = {"int": int, "float": float, "number": number, "bool": lambda text: {"True": True, "False": False}[text]}
    return read[kind](value)


def inputs(call, device):
    """Those of the first of the operator's forms that takes them."""
    below = min([extent for shape, type_ in zip(call["shapes"], call["types"])
                 if type_ in TYPES and TYPES[type_].is_floating_point for extent in shape] or [2])
    why = "PyTorch does not know it: import what defines it with --import=MODULE"
    for form in torch._C._jit_get_schemas_for_operator(OPERATOR):
        if len(form.arguments) != len(call["types"]):
            continue
        try:
            values = [one.default_value if one.has_default_value() and not call["types"][i] and not call["values"][i]
                      else argument(str(one.type), call, i, max(below, 1), device) for i, one in enumerate(form.arguments)]
        except (KeyError, ValueError) as error:
            why = f"an input that the trace does not tell: {error}"
            continue
        named = {one.name: value for one, value in zip(form.arguments, values) if one.kwarg_only}
        return values[:len(values) - len(named)], named
    raise ValueError(why)


def seconds(call, device, repeats):
    values, named = inputs(call, device)
    run = torch._C._jit_get_operation(OPERATOR)[0]
    for _ in range(3):
        run(*values, **named)
    times = []
    for _ in range(repeats):
        if device.startswith("cuda"):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            run(*values, **named)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        else:
            begin = time.perf_counter()
            run(*values, **named)
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main():
    options = argparse.ArgumentParser(description=f"Calls {OPERATOR} again, as a trace recorded it.")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--repeats", type=int, default=20)
    options.add_argument("--import", dest="module", help="a module that defines the operator")
    options = options.parse_args()
    if options.module:
        importlib.import_module(options.module)
    failed = 0
    with torch.no_grad():
        for call in CALLS:
            what = " ".join(str(shape) for shape in call["shapes"] if shape)
            try:
                now = f"{seconds(call, options.device, max(options.repeats, 1)) * 1e6:.1f} us"
            except (RuntimeError, ValueError) as error:
                now, failed = str(error).splitlines()[0], failed + 1
            print(f"{OPERATOR} {what}: in the trace {call['seconds'] * 1e6:.1f} us, now {now}")
    return 1 if failed == len(CALLS) else 0


if __name__ == "__main__":
    raise SystemExit(main())
)py";

/// "aten::mm": what may stand in a program as it is.
bool is_operator_name(std::string_view name) {
  const auto colons = name.find("::");
  if (colons == std::string_view::npos || colons == 0 || colons + 2 == name.size() || name.size() > 200) return false;
  for (const std::string_view part : {name.substr(0, colons), name.substr(colons + 2)})
    if (!(is_letter(part.front()) || part.front() == '_') ||
        !std::ranges::all_of(part, [&](char c) { return is_letter_or_digit(c) || c == '_'; }))
      return false;
  return true;
}

bool are_extents(const ReplayJson& list) {
  return list.is_array() && std::ranges::all_of(list, [](const ReplayJson& one) {
           return one.is_number_unsigned() && one.get<std::uint64_t>() < (std::uint64_t{1} << 48U);
         });
}

/// What a script needs of the inputs; `why` says why it is not there.
std::optional<ReplayJson> replayed(std::string_view name, std::string_view inputs, std::string& why) {
  const auto fail = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  const auto list = [&](std::size_t number) { return storage::parsed_json(inputs_list(inputs, number)); };
  ReplayJson call = {
      {"shapes", list(0)}, {"types", list(1)}, {"strides", list(3)}, {"values", list(work_needs_values(name) ? 2 : 4)}};
  for (const ReplayJson& one : call)
    if (!one.is_array() || one.size() != call["types"].size())
      return fail("the trace has no strides or values of its inputs");
  for (std::size_t i = 0; i < call["types"].size(); ++i) {
    const ReplayJson &type = call["types"][i], &shape = call["shapes"][i], &strides = call["strides"][i];
    if (!type.is_string() || !call["values"][i].is_string()) return fail("its inputs are damaged");
    if (type == "TensorList") return fail("the trace does not tell the types of a list of tensors");
    if (!are_extents(shape) || !are_extents(strides) || shape.size() != strides.size())
      return fail("its inputs are damaged");
  }
  return call;
}

}  // namespace

std::vector<ReplayCall> replay_calls(const Linked& linked, std::string_view of) {
  const Timeline& timeline = linked.timeline;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ReplayCall> calls;
  for (const OperatorCall& call : operator_calls(linked)) {
    const Slice& slice = timeline.slices[call.slice];
    const std::string& name = timeline.names.text(slice.name);
    if (slice.detail < 0 || slice.detail >= static_cast<std::int64_t>(timeline.names.size())) continue;
    if (!of.empty() && name != of) continue;
    ReplayCall& sum = calls[{slice.name, static_cast<std::uint32_t>(slice.detail)}];
    ++sum.count;
    sum.gpu_ns += call.gpu_ns;
  }
  std::vector<ReplayCall> result;
  for (auto& [key, call] : calls) {
    std::tie(call.name, call.inputs) = key;
    const std::string& name = timeline.names.text(call.name);
    if (!is_operator_name(name)) {
      call.why_not = "it is no operator of a library";
    } else {
      (void)replayed(name, timeline.names.text(call.inputs), call.why_not);
    }
    result.push_back(std::move(call));
  }
  std::ranges::stable_sort(result, std::ranges::greater(), &ReplayCall::gpu_ns);
  return result;
}

std::string replay_script(const Linked& linked, std::string_view of) {
  const Timeline& timeline = linked.timeline;
  std::vector<ReplayCall> calls = replay_calls(linked, of);
  std::string why = calls.empty() ? "" : calls.front().why_not;
  std::erase_if(calls, [](const ReplayCall& call) { return !call.why_not.empty(); });
  if (calls.empty()) {
    std::map<std::string, std::int64_t> others;
    for (const ReplayCall& call : replay_calls(linked))
      if (call.why_not.empty()) others[timeline.names.text(call.name)] -= call.gpu_ns;
    std::vector<std::pair<std::int64_t, std::string>> order;
    for (const auto& [name, time] : others) order.emplace_back(time, name);
    std::ranges::sort(order);
    order.resize(std::min<std::size_t>(order.size(), 8));
    if (why.empty()) why = "no call of it that launched work has recorded inputs";
    throw std::invalid_argument(fmt::format(
        "{} cannot be called again: {}; {}", of.empty() ? "the trace's work" : "'" + printable(of) + "'", why,
        order.empty() ? std::string("record with record_shapes=True, in PyTorch 2.1 or later")
                      : "there are " + joined(order, ", ", [](const auto& one) { return one.second; })));
  }
  const std::uint32_t name = calls.front().name;
  std::erase_if(calls, [&](const ReplayCall& call) { return call.name != name; });
  calls.resize(std::min(calls.size(), max_replayed));
  std::string script(script_head);
  script += fmt::format("OPERATOR = \"{}\"\nCALLS = [json.loads(text) for text in (\n", timeline.names.text(name));
  for (const ReplayCall& call : calls) {
    ReplayJson json = replayed(timeline.names.text(name), timeline.names.text(call.inputs), why).value_or(ReplayJson());
    json["count"] = call.count;
    json["seconds"] = seconds_of(call.gpu_ns) / static_cast<double>(call.count);
    script += "    " + storage::json_string(storage::json_text(json, -1, true)) + ",\n";
  }
  return script + ")]\n" + std::string(script_body);
}

}  // namespace gpubench::timeline
