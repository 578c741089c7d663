// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/captures.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "timeline/analysis.h"
#include "timeline/operators/operators.h"
#include "timeline/readers.h"
#include "timeline/selection.h"
#include "timeline/views/flame.h"
#include "timeline/writers.h"

namespace gpubench {
namespace {

using timeline::Timeline;

std::string event(const char* category, const char* name, int start, int length, const std::string& arguments) {
  const bool gpu = std::string_view(category) == "kernel" || std::string_view(category) == "gpu_memcpy";
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}{}}}}},)",
                     category, name, gpu ? 0 : 5, gpu ? 7 : 5, start, length, gpu ? R"("stream":7,)" : "", arguments);
}
std::string trace(std::string events) {
  events.pop_back();
  return "{\"traceEvents\":[" + events + "]}";
}

/// A launch of a graph of a product, a copy and a sum, in an iteration of a batch.
std::string launch(int number, int start, const char* iteration = "execute_30_context_0(0)_generation_30(30)") {
  const std::string tie = fmt::format(R"("correlation":{})", number);
  return event("user_annotation", iteration, start - 5, 100, "\"a\":1") +
         event("cuda_runtime", "hipGraphLaunch", start, 10, tie) + event("kernel", "gemm", start + 20, 30, tie) +
         event("gpu_memcpy", "Memcpy DtoD", start + 50, 5, tie) + event("kernel", "sum", start + 60, 10, tie);
}

/// Its capture: aten::linear has aten::mm, which launches the product, and copies; aten::sum launches the sum.
std::string capture(const char* product = "gemm", const char* shape = "[[32,8],[8,4]]", bool named = true) {
  const auto kernel = [&](const char* name) {
    return named ? fmt::format(R"("correlation":9,"kernel":"{}")", name) : R"("correlation":9)";
  };
  return trace(
      event("cpu_op", "aten::before", 0, 2, "\"a\":1") +
      event("cuda_runtime", "hipLaunchKernel", 1, 1, kernel(product)) +
      event("cuda_runtime", "hipStreamBeginCapture", 5, 2, "\"correlation\":1") +
      event("cpu_op", "aten::linear", 10, 40, "\"a\":1") +
      event("cpu_op", "aten::mm", 12, 20, fmt::format(R"("Input Dims":{},"Input type":["float","float"])", shape)) +
      event("cuda_runtime", "hipLaunchKernel", 15, 5, kernel(product)) +
      event("cuda_runtime", "hipMemcpyAsync", 40, 5, "\"correlation\":10") +
      event("cpu_op", "aten::sum", 60, 20, "\"a\":1") + event("cuda_runtime", "hipLaunchKernel", 65, 5, kernel("sum")) +
      event("cuda_runtime", "hipStreamEndCapture", 90, 2, "\"correlation\":2"));
}

class Captures : public InFolder {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_ / "capture_traces"); }
  Timeline read(const std::string& list, const std::string& program = trace(launch(1, 100))) {
    file("capture_traces/execution_details.json", list);
    return timeline::read_timeline(file("trace.json", program));
  }
  static std::map<std::string, std::int64_t> gpu_self(const Timeline& timeline) {
    std::map<std::string, std::int64_t> result;
    for (const auto& one : timeline::operator_times(timeline))
      if (one.works > 0) result[timeline.names.text(one.name)] = one.gpu_self_ns;
    return result;
  }
};

constexpr const char* list = R"([{"file":"a.json","batch_size":32,"mode":"FULL"}])";

TEST_F(Captures, GiveTheWorksOfGraphsTheirOperators) {
  file("capture_traces/a.json", capture());
  const std::string program = trace(launch(1, 100) + launch(2, 300));
  const Timeline all = read(list, program);
  EXPECT_THAT(all.warnings, IsEmpty());
  EXPECT_THAT(gpu_self(all),
              ElementsAre(Pair("aten::linear", 10'000), Pair("aten::mm", 60'000), Pair("aten::sum", 20'000)));
  for (const auto& one : timeline::operator_times(all)) {
    EXPECT_EQ(one.host_ns, 0);
    EXPECT_TRUE(all.names.text(one.name) != "aten::linear" || one.gpu_ns == 70'000);
  }
  // Shapes go with them, and what is selected keeps them.
  bool has_shape = false;
  for (const auto& call : timeline::operator_calls(all))
    has_shape |= all.slices[call.slice].detail >= 0 &&
                 all.names.text(static_cast<std::uint32_t>(all.slices[call.slice].detail)).starts_with("[[32,8]");
  EXPECT_TRUE(has_shape);
  const timeline::FlameGraph flame = timeline::flame(all, {});
  EXPECT_THAT(timeline::folded(flame, timeline::FlameWeight::gpu),
              HasSubstr("hipGraphLaunch;aten::linear;aten::mm;gemm"));
  timeline::Selection first;
  first.to_seconds = 200e-6;
  EXPECT_THAT(gpu_self(timeline::selected(read(list, program), first)),
              ElementsAre(Pair("aten::linear", 5'000), Pair("aten::mm", 30'000), Pair("aten::sum", 10'000)));
}

TEST_F(Captures, StayInTracesThatAreWritten) {
  file("capture_traces/a.json", capture());
  const Timeline all = read(list);
  std::filesystem::create_directories(folder_ / "written");
  for (const char* const name : {"written/a.trace.json", "written/a.perfetto-trace"}) {
    timeline::write(all, folder_ / name);
    const Timeline again = timeline::read_timeline(folder_ / name);
    EXPECT_THAT(gpu_self(again),
                ElementsAre(Pair("aten::linear", 5'000), Pair("aten::mm", 30'000), Pair("aten::sum", 10'000)))
        << name;
    for (const auto& one : timeline::operator_times(again)) EXPECT_EQ(one.host_ns, 0) << name;
  }
}

TEST_F(Captures, FitByTheNamesOfTheirKernelsAndTheirBatch) {
  file("capture_traces/small.json", capture("gemm", "[[16,8],[8,4]]"));
  file("capture_traces/right.json", capture());
  file("capture_traces/other.json", capture("another"));
  const Timeline all = read(R"([{"file":"small.json","batch_size":16,"mode":"FULL"},
                                {"file":"other.json","batch_size":31,"mode":"FULL"},
                                {"file":"right.json","batch_size":32,"mode":"FULL"}])");
  EXPECT_THAT(all.warnings, IsEmpty());
  ASSERT_EQ(gpu_self(all)["aten::mm"], 30'000);
  for (const auto& call : timeline::operator_calls(all))
    if (all.names.text(all.slices[call.slice].name) == "aten::mm") {
      EXPECT_THAT(all.names.text(static_cast<std::uint32_t>(all.slices[call.slice].detail)), HasSubstr("[[32,8]"));
    }
}

/// The trace has all: a module that calls aten::linear while a stream is captured, and launches of the graph.
TEST_F(Captures, LieInTheTraceItself) {
  const std::string own = capture("gemm", "[[32,8],[8,4]]", false);
  const std::string made = own.substr(own.find('[') + 1, own.rfind(']') - own.find('[') - 1) + ",";
  const Timeline all = timeline::read_timeline(
      file("own.json", trace(made + event("python_function", "nn.Module: Net_0", 8, 75, "\"a\":1") +
                             launch(21, 200, "step 0") + launch(22, 400, "step 1"))));
  EXPECT_THAT(all.warnings, IsEmpty());
  EXPECT_THAT(gpu_self(all),
              ElementsAre(Pair("aten::linear", 10'000), Pair("aten::mm", 60'000), Pair("aten::sum", 20'000)));
  const timeline::FlameGraph flame = timeline::flame(all, {});
  EXPECT_THAT(timeline::folded(flame, timeline::FlameWeight::gpu),
              HasSubstr("hipGraphLaunch;nn.Module: Net_0;aten::linear;aten::mm;gemm"));
  // A graph that was captured before the recording began.
  const Timeline other = timeline::read_timeline(file(
      "other.json",
      trace(made + launch(21, 200, "step 0") + event("cuda_runtime", "hipGraphLaunch", 400, 10, "\"correlation\":99") +
            event("kernel", "unknown", 420, 30, "\"correlation\":99"))));
  EXPECT_THAT(other.warnings, ElementsAre(HasSubstr("of 2 launches of graphs 1 fit no capture in the trace")));
  const auto tables = timeline::tables_of(other, "operators");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_NEAR(std::get<double>(tables[1].rows[0][0]), 45.0 / 75.0, 1e-9);
  EXPECT_NEAR(std::get<double>(tables[1].rows[0][1]), 30.0 / 75.0, 1e-9);
  EXPECT_THAT(tables[0].notes.back(), HasSubstr("Record from before the capture on"));
}

TEST_F(Captures, WithoutNamesOfKernelsTheirOrderDecides) {
  file("capture_traces/a.json", capture("gemm", "[[32,8],[8,4]]", false));
  EXPECT_EQ(gpu_self(read(list))["aten::sum"], 10'000);
}

TEST_F(Captures, ThatDoNotFitAreSaid) {
  file("capture_traces/a.json", capture("another"));
  const Timeline all = read(list);
  EXPECT_THAT(all.warnings, ElementsAre(HasSubstr("of 1 launches of graphs 1 fit no capture")));
  EXPECT_THAT(gpu_self(all), ElementsAre(Pair("", 45'000)));
}

TEST_F(Captures, AreReadFromTheirFolderAlone) {
  file("outside.json", capture());
  for (const std::string& name : {std::string("../outside.json"), (folder_ / "outside.json").string(), std::string("."),
                                  std::string(".."), std::string()}) {
    EXPECT_THAT(gpu_self(read(fmt::format(R"([{{"file":"{}","batch_size":32}}])", name))),
                ElementsAre(Pair("", 45'000)))
        << name;
  }
  EXPECT_THAT(read(list).warnings, ElementsAre(HasSubstr("names a.json, which is not beside it")));
}

TEST_F(Captures, DamagedListsChangeNothing) {
  file("capture_traces/a.json", "no trace");
  for (const char* const text :
       {"", "[", "{}", "[1,null,{}]", R"([{"file":1}])", R"([{"file":"a.json","batch_size":"x"}])",
        R"([{"file":"a.json","batch_size":-9223372036854775808}])"})
    EXPECT_THAT(gpu_self(read(text)), ElementsAre(Pair("", 45'000))) << text;
  EXPECT_THAT(gpu_self(read(std::string((1 << 20) + 1, ' '))), ElementsAre(Pair("", 45'000)));
}

}  // namespace
}  // namespace gpubench
