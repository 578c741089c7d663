// SPDX-License-Identifier: Apache-2.0
// gpubench serve: a folder of runs and traces as a page. Reads only.
#include <fmt/format.h>

#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/traces.h"
#include "main/serve/serve_folder.h"

#ifdef GPUBENCH_WITH_HTTPLIB
#include <httplib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <unordered_map>

#include "compare/compare.h"
#include "compare/gate.h"
#include "core/base/elf_image.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/baselines.h"
#include "core/storage/storage.h"
#include "main/serve/front.h"
#include "reports/comparisons.h"
#include "reports/result_table.h"
#include "reports/timelines.h"
#include "timeline/analysis.h"
#include "timeline/difference.h"
#endif

namespace gpubench {
namespace {

struct ServeOptions : Options {
  std::string host = "127.0.0.1";
  int port = 6970;
};

#ifdef GPUBENCH_WITH_HTTPLIB

using Json = nlohmann::ordered_json;
using serve::FileKind;
using serve::ServedFile;

constexpr std::size_t kept_timelines = 3;

/// What a request cannot have; what() is for the one who asked.
struct Refused : std::runtime_error {
  Refused(int code, const std::string& text) : std::runtime_error(text), status(code) {}
  int status;
};

std::string dumped(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

using Timeline = std::shared_ptr<const timeline::Timeline>;

class Site {
 public:
  explicit Site(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Json runs() {
    Json files = Json::array();
    for (const ServedFile& file : serve::served_files(folder_)) {
      Json one = {{"kind", serve::file_kind_names[static_cast<std::size_t>(file.kind)]},
                  {"path", printable(file.path)},
                  {"bytes", file.bytes},
                  {"modified_utc", file.modified_utc},
                  {"stamp", file.stamp}};
      if (file.kind == FileKind::run || file.kind == FileKind::calibration) one.update(about(file));
      if (!file.about.empty()) one["about"] = printable(file.about);
      files.push_back(std::move(one));
    }
    return {{"folder", printable(folder_.filename().string())}, {"files", std::move(files)}};
  }

  /// The file that a parameter names; without one, where `or_newest`, the newest of its kind.
  ServedFile file(const httplib::Request& request, std::initializer_list<FileKind> kinds, bool or_newest = false,
                  const char* parameter = "file") const {
    const bool named = request.has_param(parameter);
    if (!named && !or_newest)
      throw Refused(400, fmt::format("Say which file: ?{}=PATH, as /api/runs lists it.", parameter));
    const std::string path = request.get_param_value(parameter);
    for (ServedFile& one : serve::served_files(folder_))
      if (std::ranges::find(kinds, one.kind) != kinds.end() && (!named || one.path == path)) return std::move(one);
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

  [[nodiscard]] std::filesystem::path place_of(const ServedFile& file) const { return folder_ / file.path; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  /// What a run is, in a few words; kept as long as the file is the same.
  Json about(const ServedFile& file) {
    const std::scoped_lock lock(describing_);
    auto& [stamp, known] = abouts_[file.path];
    if (stamp == file.stamp) return known;
    stamp = file.stamp;
    try {
      if (file.kind == FileKind::calibration) {
        const Calibration calibration = storage::read_calibration(place_of(file));
        known = {{"about", printable(fmt::format("{}, {}", calibration.device.name, calibration.created_utc))}};
      } else {
        const Run run = storage::read_slim_run(place_of(file));
        std::string text = run.context.program;
        for (const Device& device : run.devices) text += ", " + device.name;
        text += fmt::format(", {}, {}", plural(static_cast<long long>(run.points.size()), "point"),
                            run.context.created_utc);
        known = {{"about", printable(text)}, {"points", run.points.size()}};
      }
    } catch (const std::exception& error) {
      known = {{"trouble", printable(error.what())}};
    }
    return known;
  }

  std::filesystem::path folder_;
  std::mutex reading_, describing_;
  std::deque<std::pair<std::string, Timeline>> timelines_;  // the latest read last
  std::unordered_map<std::string, std::pair<std::string, Json>> abouts_;
};

std::optional<timeline::FlameWeight> asked_weight(const httplib::Request& request) {
  const std::string wanted = request.get_param_value("time");
  if (!wanted.empty() && wanted != "gpu" && wanted != "host") throw Refused(400, "time is gpu or host.");
  if (wanted.empty()) return std::nullopt;
  return wanted == "gpu" ? timeline::FlameWeight::gpu : timeline::FlameWeight::host;
}
timeline::FlameWeight weight_of(const httplib::Request& request, const timeline::FlameGraph& graph) {
  return asked_weight(request).value_or(graph.natural_weight());
}

std::string history_text(const std::filesystem::path& folder) {
  const storage::BaselineStore store(folder);
  ConsoleStyle style;
  style.width = 110;
  std::string text;
  for (const storage::BaselineEntry& machine : store.newest_of_each()) {
    for (const auto& [key, value] : machine.fingerprint)
      text += fmt::format("{}: {}\n", printable(key), printable(value));
    text +=
        "\n" + reports::console(compare::history_of(store.entries(machine.fingerprint, 10'000), 0.01), style) + "\n";
  }
  return text;
}

class Http {
 public:
  Http(Site& site, std::string host) : site_(site), host_(std::move(host)) { route(); }

  httplib::Server& server() { return server_; }

 private:
  using Body = std::function<std::string(const httplib::Request&)>;

  /// Answers with a tag of the content, or that what the browser has is still right.
  void get(const char* path, const char* type, Body body) {
    server_.Get(path, [body = std::move(body), type](const httplib::Request& request, httplib::Response& response) {
      const bool is_json = std::string_view(type).starts_with("application/json");
      const auto refuse = [&](int code, std::string_view why) {
        response.status = code;
        if (is_json)
          response.set_content(dumped({{"error", why}}), type);
        else
          response.set_content(std::string(why) + "\n", "text/plain; charset=utf-8");
      };
      try {
        std::string text = body(request);
        Fnv1a64 hash;
        hash.add(text);
        const std::string tag = fmt::format("\"{:016x}\"", hash.value());
        response.set_header("ETag", tag);
        if (request.get_header_value("If-None-Match") == tag) {
          response.status = 304;
          return;
        }
        // A provider, because the library packs plain content by brotli at its slowest: seconds for a page.
        const auto content = std::make_shared<const std::string>(std::move(text));
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
  void get_json(const char* path, std::function<Json(const httplib::Request&)> make) {
    get(path, "application/json; charset=utf-8",
        [make = std::move(make)](const auto& request) { return dumped(make(request)); });
  }
  void route() {
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      for (const auto& [name, value] :
           {std::pair("X-Content-Type-Options", "nosniff"), std::pair("X-Frame-Options", "SAMEORIGIN"),
            std::pair("Cross-Origin-Resource-Policy", "same-origin"), std::pair("Referrer-Policy", "no-referrer"),
            std::pair("Cache-Control", "no-cache")})
        response.set_header(name, value);
      if (request.method != "GET" && request.method != "HEAD") {
        response.status = 405;
        response.set_header("Allow", "GET, HEAD");
        response.set_content("This server only shows; nothing can be changed through it.\n",
                             "text/plain; charset=utf-8");
        return httplib::Server::HandlerResponse::Handled;
      }
      if (serve::is_own_host(request.get_header_value("Host"), host_))
        return httplib::Server::HandlerResponse::Unhandled;
      response.status = 403;
      response.set_content(
          "This server answers to localhost and to the address that --host gave it, and to no other name.\n",
          "text/plain; charset=utf-8");
      return httplib::Server::HandlerResponse::Handled;
    });
    constexpr const char* html = "text/html; charset=utf-8";
    get("/", html, [this](const auto&) {
      return reports::folder_html(printable(site_.folder().filename().string()), std::string(version));
    });
    get("/report", html, [this](const auto& request) {
      const ServedFile file = site_.file(request, {FileKind::run, FileKind::calibration});
      if (file.kind == FileKind::run) return reports::html(storage::read_run(site_.place_of(file)));
      Run run;
      run.calibrations = {storage::read_calibration(site_.place_of(file))};
      run.devices = {run.calibrations.front().device};
      run.context.created_utc = run.calibrations.front().created_utc;
      run.context.gpubench_version = run.calibrations.front().gpubench_version;
      return reports::html(run);
    });
    get("/timeline", html, [this](const auto& request) {
      const ServedFile file = site_.file(request, {FileKind::trace});
      const Timeline timeline = site_.timeline(file);
      return reports::timeline_html(*timeline, about_trace({file.path}, *timeline));
    });
    get("/flame", html, [this](const auto& request) {
      const ServedFile file = site_.file(request, {FileKind::trace});
      const Timeline timeline = site_.timeline(file);
      const timeline::FlameGraph graph = timeline::flame(*timeline);
      return reports::flame_html(graph, weight_of(request, graph), about_trace({file.path}, *timeline));
    });
    get("/diff", html, [this](const auto& request) {
      const ServedFile base = site_.file(request, {FileKind::trace}, false, "base");
      const ServedFile next = site_.file(request, {FileKind::trace}, false, "new");
      const Timeline before = site_.timeline(base), after = site_.timeline(next);
      return diff_page({*before, *after, base.path, next.path},
                       timeline::difference_tables(timeline::difference(*before, *after)), {.by_thread = false},
                       asked_weight(request), false);
    });
    get("/compare", html, [this](const auto& request) {
      const Run base = storage::read_run(site_.place_of(site_.file(request, {FileKind::run}, false, "base")));
      const Run next = storage::read_run(site_.place_of(site_.file(request, {FileKind::run}, false, "new")));
      return reports::html(compare::compare({base}, {next}, {}), reports::join({{"base", base}, {"new", next}}));
    });
    get("/history", html, [this](const auto& request) {
      const ServedFile file = site_.file(request, {FileKind::gate});
      return reports::text_html("Gate history of " + file.path, history_text(site_.place_of(file)),
                                std::string(version));
    });
    get_json("/api/runs", [this](const auto&) { return site_.runs(); });
    for (const auto& [name, analysis] :
         {std::pair("timeline", "timeline"), std::pair("memory", "hta"), std::pair("hta", "hta"),
          std::pair("kernels", "hta"), std::pair("flame", "flame")})
      get(("/api/profiler/" + std::string(name)).c_str(), "application/json; charset=utf-8",
          [this, analysis](const auto& request) {
            const std::string by =
                analysis == std::string_view("flame") && asked_weight(request) ? request.get_param_value("time") : "";
            const Timeline timeline = site_.timeline(site_.file(request, {FileKind::trace}, true));
            return reports::json(timeline::tables_of(*timeline, analysis, by),
                                 fmt::format("gpubench trace {}", analysis), timeline->warnings);
          });
    get_json("/api/profiler/compile", [this](const auto& request) {
      const ServedFile file = site_.file(request, {FileKind::compile}, true);
      Json json = Json::parse(storage::read_text(site_.place_of(file)), nullptr, false);
      if (!json.is_object()) throw Refused(422, printable(file.path) + " is not a JSON object; write it anew.");
      return json;
    });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty() && response.status == 404)
        response.set_content("There is nothing at this address; / lists what there is.\n", "text/plain; charset=utf-8");
    });
    server_.set_keep_alive_timeout(1);
    server_.set_payload_max_length(0);
    server_.set_address_family(AF_UNIX);
  }

  Site& site_;
  std::string host_;
  httplib::Server server_;
};

int run_serve(const ServeOptions& options) {
  const std::string folder = options.inputs.front();
  std::error_code error;
  const auto real = std::filesystem::canonical(folder, error);
  if (error || !std::filesystem::is_directory(real, error))
    throw UsageError(fmt::format("{} is no folder; give one with runs or traces.", folder));
  const std::string host = options.host;
  const PrivateFolder inside;
  const Interruption interruption(nullptr);
  std::optional<serve::Front> front;
  try {
    front.emplace(host, options.port, inside.path() / "pages");
  } catch (const std::system_error& refused) {
    const int reason = refused.code().value();
    throw UsageError(reason == EADDRINUSE
                         ? fmt::format("port {} of {} is in use; give another with --port, or 0 for any that is free.",
                                       options.port, host)
                     : reason == EACCES
                         ? fmt::format("port {} is for root alone; give one from 1024 on with --port.", options.port)
                         : fmt::format("{} cannot be listened on{}; give an address of this machine with --host.", host,
                                       reason == 0 ? "" : fmt::format(" ({})", refused.code().message())));
  }
  Site site(real);
  Http http(site, host);
  if (!http.server().bind_to_port((inside.path() / "pages").string(), 80))  // the number means nothing there
    throw std::runtime_error(
        fmt::format("no socket can be made in {}; set TMPDIR to a place where you may write.", inside.path().string()));
  if (!serve::is_loopback(host))
    say(fmt::format("--host={}: whoever reaches this machine can read what lies in {}.", host, folder));
  const std::string shown = host == "0.0.0.0" || host == "::"     ? "localhost"
                            : host.find(':') != std::string::npos ? "[" + host + "]"
                                                                  : host;
  show(fmt::format("{} is at http://{}:{}/ until Ctrl-C.\n", printable(folder), shown, front->port()));
  (void)std::fflush(stdout);
  std::atomic<bool> ended = false;
  std::thread listener([&] {
    http.server().listen_after_bind();
    ended = true;
  });
  while (Interruption::noted() == 0 && !ended) front->accept_for(std::chrono::milliseconds(50));
  front.reset();
  http.server().stop();
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

OptionRows own_rows() {
  using enum Rank;
  return {{"--port", "PORT", "", "6970", common, once, "Where to listen; 0 takes any port that is free.",
           use::count(&ServeOptions::port, 0, 65535)},
          {"--host", "ADDRESS", "", "127.0.0.1", common, once,
           "The address to listen on. Beyond loopback, whoever reaches this machine can read the "
           "folder's results.",
           use::text(&ServeOptions::host)}};
}

}  // namespace

extern const CommandFile serve_command{
    70, [] {
      return std::vector{with(Command{"serve",
                                      "Show a folder of runs and traces in a browser",
                                      "gpubench serve results/",
                                      {"DIR", "A folder with runs, calibrations, traces.", 1, 1},
                                      Writes::own,
                                      false,
                                      own_rows()},
                              run_serve)};
    }};

}  // namespace gpubench
