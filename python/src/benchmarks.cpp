// SPDX-License-Identifier: Apache-2.0
// Operations written in Python, timed by the harness. The interpreter's lock is held only while Python runs.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>

#include "bench/google/adapter.h"
#include "gpubench/gpubench.h"
#include "main/cli/output.h"
#include "main/cli/parse.h"
#include "main/embedding.h"
#include "main/worker/job.h"
#include "python/src/module.h"

#ifdef GPUBENCH_WITH_CUDA
#include "gpu/cuda/handles.h"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace gpubench::python {
namespace {

/// What holds Python objects, and may be let go of without the interpreter's lock.
template <class Value>
std::shared_ptr<Value> shared(Value value) {
  return {new Value(std::move(value)), [](Value* held) {
            const nb::gil_scoped_acquire lock;
            delete held;
          }};
}

/// What ends a run from Python: KeyboardInterrupt, SystemExit. Later operations of the run are not called.
std::exception_ptr& ending() {
  static std::exception_ptr exception;
  return exception;
}

bool is_capturing([[maybe_unused]] Stream stream) {
#ifdef GPUBENCH_WITH_CUDA
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (stream != nullptr && cudaStreamIsCapturing(stream, &status) == cudaSuccess)
    return status != cudaStreamCaptureStatusNone;
  (void)cudaGetLastError();
#endif
  return false;
}

int current_device() {
  int number = 0;
#ifdef GPUBENCH_WITH_CUDA
  if (cudaGetDevice(&number) != cudaSuccess) (void)cudaGetLastError();
#endif
  return number;
}

std::uintptr_t working_stream() {
#ifdef GPUBENCH_WITH_CUDA
  return reinterpret_cast<std::uintptr_t>(bench::working_stream());
#else
  return 0;
#endif
}

/// What str() makes of it, as UTF-8; nothing where that raises.
std::string words_of(nb::handle thing) {
  const nb::object text = nb::steal(PyObject_Str(thing.ptr()));
  const nb::object bytes =
      text ? nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace")) : nb::object();
  if (!bytes) PyErr_Clear();
  return bytes ? nb::borrow<nb::bytes>(bytes).c_str() : "";
}

std::string text_of(const nb::python_error& error) {
  const std::string name = words_of(error.type().attr("__name__")), message = words_of(error.value());
  return message.empty() ? name : name + ": " + message;
}

/// A Python exception as the harness knows failures. The lock is held.
[[noreturn]] void rethrow(nb::python_error& error, Stream stream) {
  const std::string text = text_of(error);
  if (error.matches(PyExc_KeyboardInterrupt) || error.matches(PyExc_SystemExit)) {
    if (!ending()) ending() = std::make_exception_ptr(nb::python_error(error));
    throw std::runtime_error("the run was stopped");
  }
  if (is_capturing(stream)) throw CudaError("it cannot be captured in a CUDA graph: " + text);
  if (text.starts_with("OutOfMemoryError") || error.matches(PyExc_MemoryError)) throw OutOfMemory(text);
  throw std::runtime_error(text);
}

/// Something that Python has given to be called, with the stream or without. `prepare` makes that stream the one that
/// frameworks launch on, and returns what the callable is handed. As called, the program's own memory pools and garbage
/// collection are in place.
struct Callback {
  void operator()(Stream stream) { call(stream, 1, false); }

  void call(Stream stream, std::int64_t times, bool as_called) {
    const nb::gil_scoped_acquire lock;
    try {
      if (ending()) throw std::runtime_error("the run was stopped");
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!prepared || prepared != std::pair(stream, as_called)) {
        handed = prepare_stream(reinterpret_cast<std::uintptr_t>(stream), as_called);
        prepared = {stream, as_called};
      }
      for (std::int64_t i = 0; i < times; ++i) takes_stream ? function(handed) : function();
    } catch (nb::python_error& error) {
      rethrow(error, stream);
    }
  }

  nb::object function;
  bool takes_stream;
  nb::object prepare_stream;
  nb::object handed = {};
  std::optional<std::pair<Stream, bool>> prepared = {};
};

/// The state of a point while its operation runs.
class StateHandle {
 public:
  explicit StateHandle(State& state) : state_(&state) {}
  void close() { state_ = nullptr; }
  bool has_calls = false;  ///< as State::as_called takes them
  State& get() {
    if (state_ == nullptr) throw std::logic_error("this State is of a point that has ended; use the one at hand");
    return *state_;
  }
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }
  /// Runs something of the harness without the lock. What it throws ends the point, whatever Python makes of it.
  template <class Function>
  void harness(Function function) {
    try {
      const nb::gil_scoped_release unlock;
      function();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

 private:
  State* state_;
  std::exception_ptr failure_;
};

/// A call of the state at hand, as a method of its handle.
template <class... Arguments, class Call>
auto on_state(Call call) {
  return [call](StateHandle& self, Arguments... arguments) { return call(self.get(), arguments...); };
}

/// `nothing` is what an operation of the host that does nothing is.
void measure(StateHandle& handle, nb::object function, bool takes_stream, nb::object prepare, bool on_gpu,
             nb::object nothing) {
  Callback empty{std::move(nothing), false, prepare};
  Callback callback{std::move(function), takes_stream, std::move(prepare)};
  State& state = handle.get();
  if (!std::exchange(handle.has_calls, true)) {  // a second `measure` is refused below, by its own name
    state.as_called([&](Stream stream, std::int64_t calls) { callback.call(stream, calls, on_gpu); });
    state.empty_calls([&](std::int64_t calls) { empty.call(nullptr, calls, on_gpu); });
  }
  handle.harness([&] {
    if (on_gpu)
      state.measure([&](Stream stream) { callback(stream); });
    else
      state.measure([&] { callback(nullptr); });
  });
}

void set_reset(StateHandle& handle, nb::object function, bool takes_stream, nb::object prepare, bool on_gpu) {
  const auto callback = shared(Callback{std::move(function), takes_stream, std::move(prepare)});
  if (on_gpu)
    handle.get().reset([callback](Stream stream) { (*callback)(stream); });
  else
    handle.get().reset([callback] { (*callback)(nullptr); });
}

void set_check(StateHandle& handle, nb::object function) {
  handle.get().verify([kept = shared(std::move(function))]() -> Check {
    const nb::gil_scoped_acquire lock;
    try {
      const auto [passed, message] = nb::cast<std::pair<bool, std::string>>((*kept)());
      return {passed, message};
    } catch (nb::python_error& error) {
      rethrow(error, nullptr);
    }
  });
}

void set_inputs(StateHandle& handle, std::int64_t pool, nb::object fill) {
  handle.get().inputs(pool, [kept = shared(std::move(fill))](std::int64_t set) {
    const nb::gil_scoped_acquire lock;
    try {
      (*kept)(set);
    } catch (nb::python_error& error) {
      rethrow(error, nullptr);
    }
  });
}

Pipe pipe_of(const std::string& name) {
  const auto found = std::ranges::find(pipe_names, name);
  if (found == pipe_names.end()) {
    std::string all;
    for (const auto& each : pipe_names) all += (all.empty() ? "" : ", ") + std::string(each);
    throw std::invalid_argument("there is no pipe '" + name + "'; give one of " + all);
  }
  return static_cast<Pipe>(found - pipe_names.begin());
}

void call_python(const nb::object& function, State& state) {
  const nb::gil_scoped_acquire lock;
  if (ending()) throw std::runtime_error("the run was stopped");
  const nb::object given = nb::cast(StateHandle(state));  // Python may keep it for longer than the point lasts
  StateHandle& handle = *nb::inst_ptr<StateHandle>(given);
  try {
    function(given);
    handle.close();
  } catch (nb::python_error& error) {
    handle.close();
    // What the harness threw inside of `measure` is the failure, whatever it looked like in Python.
    if (handle.failure() && !error.matches(PyExc_KeyboardInterrupt)) std::rethrow_exception(handle.failure());
    rethrow(error, nullptr);
  }
  if (handle.failure()) std::rethrow_exception(handle.failure());
}

void register_operation(const std::string& name, const std::string& kind,
                        const std::vector<std::pair<std::string, std::string>>& texts,
                        const std::vector<std::string>& number_names,
                        const std::vector<std::vector<std::int64_t>>& numbers, nb::object function,
                        std::optional<int> repetitions) {
  bench::Registration registration;
  registration.operation = name;
  registration.kind = kind == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
  for (const auto& [argument, text] : texts) registration.texts.push_back({argument, 0, text});
  registration.function = [kept = shared(std::move(function))](State& state) { call_python(*kept, state); };
  GoogleBenchmark* const google = bench::add_registration(std::move(registration));
  if (!number_names.empty()) google->ArgNames(number_names);
  for (const auto& values : numbers) google->Args(values);
  if (repetitions) google->Repetitions(*repetitions);
}

/// The command line of `gpubench`, over the operations registered.
Run run(std::vector<std::string> words, std::vector<std::string> worker, nb::object say) {
  std::optional<Run> result;
  embedding().worker = std::move(worker);
  embedding().finished = [&result](Run finished) {
    // The interpreter's code says nothing of the operations'.
    for (const char* key : {"host_code", "device_code"}) finished.context.environment.erase(key);
    result = std::move(finished);
  };
  embedding().say = [to_say = shared(std::move(say))](const std::string& message) {
    const nb::gil_scoped_acquire lock;
    try {
      (*to_say)(message);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_KeyboardInterrupt))
        error.discard_as_unraisable("gpubench");
      else if (!ending())
        ending() = std::make_exception_ptr(nb::python_error(error));
    }
  };
  ending() = nullptr;
  int signal = 0;
  std::exception_ptr failure;
  {
    const nb::gil_scoped_release unlock;
    try {
      std::vector<char*> argv;
      argv.reserve(words.size() + 1);
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      const CommandLine line = parse_command_line(static_cast<int>(words.size()), argv.data());
      if (line.command != nullptr && line.command->is_run()) (void)run_command_or_job(*line.command, *line.options);
    } catch (const Interrupted& interrupted) {
      signal = interrupted.signal;
    } catch (...) {
      failure = std::current_exception();
    }
  }
  bench::forget_registrations();
  embedding() = {.worker = {}, .say = {}, .finished = {}, .known = std::move(embedding().known)};
  if (const auto end = std::exchange(ending(), nullptr)) std::rethrow_exception(end);
  if (signal != 0) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  if (failure) std::rethrow_exception(failure);
  if (!result) throw UsageError("This command measures nothing, so that there is no run.");
  return *std::move(result);
}

}  // namespace

void bind_benchmarks(nb::module_& module) {
  using Int = std::int64_t;
  using Text = const std::string&;
  nb::class_<StateHandle>(module, "State", "A point while its operation runs. gpubench.State is what users have.")
      .def("range", on_state<Text>([](State& s, Text name) { return s.range(name); }), "name"_a)
      .def("reads", on_state<Int>([](State& s, Int bytes) { s.reads(bytes); }), "bytes"_a)
      .def("writes", on_state<Int>([](State& s, Int bytes) { s.writes(bytes); }), "bytes"_a)
      .def("flops", on_state<Text, Int>([](State& s, Text pipe, Int count) { s.flops(pipe_of(pipe), count); }),
           "pipe"_a, "count"_a)
      .def("footprint", on_state<Int>([](State& s, Int bytes) { s.footprint(bytes); }), "bytes"_a)
      .def("random_reads", on_state<Int, Int>([](State& s, Int count, Int bytes) { s.random_reads(count, bytes); }),
           "count"_a, "table_bytes"_a)
      .def("random_updates", on_state<Int, Int>([](State& s, Int count, Int bytes) { s.random_updates(count, bytes); }),
           "count"_a, "table_bytes"_a)
      .def("items", on_state<Int>([](State& s, Int count) { s.items(count); }), "count"_a)
      .def("counter", on_state<Text, double, Text>([](State& s, Text name, double value, Text unit) {
             s.counter(name, value, unit);
           }),
           "name"_a, "value"_a, "unit"_a = "")
      .def("label", on_state<Text>([](State& s, Text text) { s.label(text); }), "text"_a)
      .def("skip", on_state<Text>([](State& s, Text reason) { s.skip(reason); }), "reason"_a)
      .def("verify", &set_check, "check"_a)
      .def("inputs", &set_inputs, "pool"_a, "fill"_a)
      .def("reset", &set_reset, "function"_a, "takes_stream"_a, "prepare"_a, "on_gpu"_a)
      .def("measure", &measure, "function"_a, "takes_stream"_a, "prepare"_a, "on_gpu"_a, "nothing"_a);
  module.def("register", &register_operation, "name"_a, "kind"_a, "texts"_a, "number_names"_a, "numbers"_a,
             "function"_a, "repetitions"_a = nb::none());
  module.def("run", &run, "words"_a, "worker"_a, "say"_a);
  module.def("current_device", &current_device, "The number of the GPU that this thread uses.");
  module.def("working_stream", &working_stream, "The stream that points are timed on, while they run; 0 on a CPU.");
  module.def("forget", &bench::forget_registrations);
  module.def(
      "check_pipe", [](Text name) { pipe_of(name); }, "name"_a, "Throws ValueError where there is no such pipe.");
  module.attr("with_cuda") =
#ifdef GPUBENCH_WITH_CUDA
      true;
#else
      false;
#endif
}

}  // namespace gpubench::python
