// SPDX-License-Identifier: Apache-2.0
// gpubench serve: a folder of runs and traces as a page. Reads only.
#include <fmt/format.h>

#include "core/storage/document.h"
#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/traces.h"
#include "main/serve/serve_folder.h"

#ifdef GPUBENCH_WITH_HTTPLIB
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "compare/compare.h"
#include "compare/history/history.h"
#include "core/base/text.h"
#include "core/storage/baselines.h"
#include "core/storage/storage.h"
#include "main/serve/front.h"
#include "reports/comparisons.h"
#include "reports/result_table.h"
#include "reports/timelines.h"
#include "timeline/analysis.h"
#include "timeline/statistics/difference.h"
#endif

namespace gpubench {
namespace {

struct ServeOptions : Options {
  int port = 6970;
};

#ifdef GPUBENCH_WITH_HTTPLIB

using Json = nlohmann::ordered_json;
using serve::FileKind;
using serve::ServedFile;

constexpr std::size_t kept_timelines = 3;
constexpr const char* plain = "text/plain; charset=utf-8";
constexpr const char* html = "text/html; charset=utf-8";
constexpr const char* json = "application/json; charset=utf-8";

/// What a request cannot have; what() is for the one who asked.
struct Refused : std::runtime_error {
  Refused(int code, const std::string& text) : std::runtime_error(text), status(code) {}
  int status;
};

std::string dumped(const Json& value) { return storage::json_text(value, 1) + "\n"; }

using Timeline = std::shared_ptr<const timeline::Timeline>;

std::optional<timeline::FlameWeight> asked_weight(const httplib::Request& request) {
  const std::string wanted = request.get_param_value("time");
  if (!wanted.empty() && wanted != "gpu" && wanted != "host") throw Refused(400, "time is gpu or host.");
  if (wanted.empty()) return std::nullopt;
  return wanted == "gpu" ? timeline::FlameWeight::gpu : timeline::FlameWeight::host;
}

std::string history_text(const std::filesystem::path& folder) {
  const storage::BaselineStore store(folder);
  std::string text;
  for (const storage::BaselineEntry& machine : store.newest_of_each()) {
    for (const auto& [key, value] : machine.fingerprint)
      text += fmt::format("{}: {}\n", printable(key), printable(value));
    compare::HistoryBuilder builder;
    store.visit_times(machine.fingerprint, 10'000, [&](const storage::BaselineEntry& entry) { builder.add(entry); });
    const compare::History history = builder.take(0.01);
    text += "\n" + reports::console(history, {.width = 110}) + "\n";
  }
  return text;
}

class Site {
 public:
  explicit Site(std::filesystem::path folder) : folder_(std::move(folder)) { route(); }

  httplib::Server& server() { return server_; }

 private:
  using Body = std::function<std::string(const httplib::Request&)>;

  Json runs() {
    Json files = Json::array();
    for (const ServedFile& file : folder_.files()) {
      Json one = {{"kind", serve::file_kind_names[static_cast<std::size_t>(file.kind)]},
                  {"path", printable(file.path)},
                  {"bytes", file.bytes},
                  {"modified_utc", file.modified_utc},
                  {"stamp", file.stamp}};
      if (!file.about.empty()) one["about"] = printable(file.about);
      if (!file.trouble.empty()) one["trouble"] = printable(file.trouble);
      files.push_back(std::move(one));
    }
    return {{"folder", printable(folder_.place().filename().string())}, {"files", std::move(files)}};
  }

  /// The file that a parameter names; without one, where `or_newest`, the newest of its kind.
  ServedFile file(const httplib::Request& request, std::initializer_list<FileKind> kinds, bool or_newest = false,
                  const char* parameter = "file") {
    const bool named = request.has_param(parameter);
    if (!named && !or_newest)
      throw Refused(400, fmt::format("Say which file: ?{}=PATH, as /api/runs lists it.", parameter));
    const std::string path = request.get_param_value(parameter);
    for (ServedFile& one : folder_.files())
      if (contains(kinds, one.kind) && (!named || printable(one.path) == path)) return std::move(one);
    throw Refused(404, "The folder has no such file of this kind; /api/runs lists what it has.");
  }

  Timeline timeline(const ServedFile& file) {
    const std::scoped_lock lock(reading_);
    const std::string key = file.path + file.stamp;
    const auto known = std::ranges::find(timelines_, key, [](const auto& one) { return one.first; });
    if (known != timelines_.end()) return known->second;
    if (timelines_.size() == kept_timelines) timelines_.pop_front();
    timelines_.emplace_back(key, std::make_shared<const timeline::Timeline>(read_traces({place_of(file).string()})));
    return timelines_.back().second;
  }

  [[nodiscard]] std::filesystem::path place_of(const ServedFile& file) const { return folder_.place() / file.path; }

  void get(const std::string& path, const char* type, Body body) {
    server_.Get(path, [body = std::move(body), type](const httplib::Request& request, httplib::Response& response) {
      const auto refuse = [&](int code, std::string_view why) {
        response.status = code;
        if (type == json)
          response.set_content(dumped({{"error", why}}), type);
        else
          response.set_content(std::string(why) + "\n", plain);
      };
      try {
        // A provider, because the library packs plain content by brotli at its slowest: seconds for a page.
        const auto content = std::make_shared<const std::string>(body(request));
        response.set_content_provider(content->size(), type,
                                      [content](std::size_t from, std::size_t count, httplib::DataSink& sink) {
                                        return sink.write(content->data() + from, count);
                                      });
      } catch (const Refused& error) {
        refuse(error.status, error.what());
      } catch (const storage::ReadError& error) {
        refuse(422, error.what());
      } catch (const std::exception& error) {
        refuse(500, error.what());
      }
    });
  }

  void route() {
    server_.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
      for (const auto& [name, value] :
           {std::pair("X-Content-Type-Options", "nosniff"), std::pair("X-Frame-Options", "SAMEORIGIN"),
            std::pair("Cross-Origin-Resource-Policy", "same-origin"), std::pair("Referrer-Policy", "no-referrer"),
            std::pair("Cache-Control", "no-cache")})
        response.set_header(name, value);
      const bool reads = request.method == "GET" || request.method == "HEAD";
      if (reads && serve::is_own_host(request.get_header_value("Host")))
        return httplib::Server::HandlerResponse::Unhandled;
      response.status = reads ? 403 : 405;
      if (!reads) response.set_header("Allow", "GET, HEAD");
      response.set_content(reads ? "This server answers to localhost, and to no other name.\n"
                                 : "This server only shows; nothing can be changed through it.\n",
                           plain);
      return httplib::Server::HandlerResponse::Handled;
    });
    get("/", html, [this](const auto&) {
      return reports::folder_html(printable(folder_.place().filename().string()), std::string(version));
    });
    get("/report", html, [this](const auto& request) {
      const ServedFile file = this->file(request, {FileKind::run, FileKind::calibration});
      if (file.kind == FileKind::run) return reports::html(storage::read_run(place_of(file)));
      Run run;
      run.calibrations = {storage::read_calibration(place_of(file))};
      run.devices = {run.calibrations.front().device};
      run.context.created_utc = run.calibrations.front().created_utc;
      run.context.gpubench_version = run.calibrations.front().gpubench_version;
      return reports::html(run);
    });
    get("/timeline", html, [this](const auto& request) {
      const ServedFile file = this->file(request, {FileKind::trace});
      const Timeline timeline = this->timeline(file);
      return reports::timeline_html(*timeline, about_trace({file.path}, *timeline));
    });
    get("/flame", html, [this](const auto& request) {
      const ServedFile file = this->file(request, {FileKind::trace});
      const Timeline timeline = this->timeline(file);
      const timeline::FlameGraph graph = timeline::flame(*timeline);
      return reports::flame_html(graph, asked_weight(request).value_or(graph.natural_weight()),
                                 about_trace({file.path}, *timeline));
    });
    get("/diff", html, [this](const auto& request) {
      const ServedFile base = file(request, {FileKind::trace}, false, "base");
      const ServedFile next = file(request, {FileKind::trace}, false, "new");
      const Timeline before = timeline(base), after = timeline(next);
      return diff_page({*before, *after, base.path, next.path},
                       timeline::difference_tables(timeline::difference(*before, *after)), {.by_thread = false},
                       asked_weight(request));
    });
    get("/compare", html, [this](const auto& request) {
      const Run base = storage::read_run(place_of(file(request, {FileKind::run}, false, "base")));
      const Run next = storage::read_run(place_of(file(request, {FileKind::run}, false, "new")));
      return reports::html(compare::compare({base}, {next}, {}), reports::join({{"base", base}, {"new", next}}));
    });
    get("/history", html, [this](const auto& request) {
      const ServedFile file = this->file(request, {FileKind::gate});
      return reports::text_html("Gate history of " + printable(file.path), history_text(place_of(file)),
                                std::string(version));
    });
    get("/api/runs", json, [this](const auto&) { return dumped(runs()); });
    for (const auto& [name, analysis_name] :
         {std::pair("timeline", "timeline"), std::pair("memory", "hta"), std::pair("hta", "hta"),
          std::pair("kernels", "hta"), std::pair("flame", "flame")})
      get("/api/profiler/" + std::string(name), json, [this, analysis = analysis_name](const auto& request) {
        const std::string by =
            analysis == std::string_view("flame") && asked_weight(request) ? request.get_param_value("time") : "";
        const Timeline timeline = this->timeline(file(request, {FileKind::trace}, true));
        return reports::json(timeline::tables_of(*timeline, analysis, by), fmt::format("gpubench trace {}", analysis),
                             timeline->warnings);
      });
    get("/api/profiler/compile", json, [this](const auto& request) {
      const ServedFile file = this->file(request, {FileKind::compile}, true);
      const auto refuse = [&](const char* why) { throw Refused(422, printable(file.path) + why); };
      // Writing is recursive: what is deep would fill a thread's stack.
      const auto is_flat = [&](int depth, Json::parse_event_t, const Json&) {
        if (depth > storage::deepest_nesting) refuse(" is nested too deeply; write it anew.");
        return true;
      };
      const Json report = Json::parse(storage::read_text(place_of(file)), is_flat, false);
      if (!report.is_object()) refuse(" is not a JSON object; write it anew.");
      return dumped(report);
    });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty() && response.status == 404)
        response.set_content("There is nothing at this address; / lists what there is.\n", plain);
    });
    server_.set_keep_alive_timeout(1);
    server_.set_payload_max_length(0);
    server_.set_address_family(AF_UNIX);
  }

  serve::ServedFolder folder_;
  std::mutex reading_;
  std::deque<std::pair<std::string, Timeline>> timelines_;  // the latest read last
  httplib::Server server_;
};

int run_serve(const ServeOptions& options) {
  const std::string folder = options.inputs.front();
  std::error_code error;
  const auto real = std::filesystem::canonical(folder, error);
  if (error || !std::filesystem::is_directory(real, error))
    throw UsageError(fmt::format("{} is no folder; give one with runs or traces.", folder));
  const PrivateFolder inside;
  const Interruption interruption(nullptr);
  std::optional<serve::Front> front;
  try {
    front.emplace(options.port, inside.path() / "pages");
  } catch (const std::system_error& refused) {
    const bool in_use = refused.code().value() == EADDRINUSE;
    throw UsageError(fmt::format("port {} of 127.0.0.1 {}; give another with --port, or 0 for any that is free.",
                                 options.port, in_use ? "is in use" : "is refused: " + refused.code().message()));
  }
  Site site(real);
  if (!site.server().bind_to_port((inside.path() / "pages").string(), 80))  // the number means nothing there
    throw std::runtime_error(
        fmt::format("no socket can be made in {}; set TMPDIR to a place where you may write.", inside.path().string()));
  std::atomic<bool> ended = false;
  std::thread listener([&] {
    site.server().listen_after_bind();
    ended = true;
  });
  // A server that does not run yet cannot be stopped.
  while (!site.server().is_running() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  show(fmt::format("{} is at http://127.0.0.1:{}/ until Ctrl-C.\n", printable(folder), front->port()));
  (void)std::fflush(stdout);
  while (Interruption::noted() == 0 && !ended) front->accept_for(std::chrono::milliseconds(50));
  front.reset();
  site.server().stop();
  listener.join();
  return exit_codes::fine;
}

#else

int run_serve(const ServeOptions&) {
  throw UsageError(
      "This gpubench was built without cpp-httplib and cannot serve. Install libcpp-httplib-dev and pkg-config, and "
      "build it again.");
}

#endif

}  // namespace

extern const CommandFile serve_command{
    70, [] {
      return std::vector{
          with(Command{"serve",
                       "Show a folder of runs and traces in a browser",
                       "gpubench serve results/",
                       {"DIR", "A folder with runs, calibrations, traces.", 1, 1},
                       "",
                       {{"--port", "PORT", "6970", Rank::common, "Where to listen; 0 takes any port that is free.",
                         use::count(&ServeOptions::port, 0, 65535)}}},
               run_serve)};
    }};

}  // namespace gpubench
