#include "driver/student/notebook.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "driver/bad_input.h"
#include "driver/cache.h"
#include "driver/faults.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

constexpr int kSchema = 1;

// Held by whoever reads or changes the file: putting a damaged one aside is a change too.
class Lock {
 public:
  explicit Lock(const fs::path& path)
      : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) {
      const int error = errno;
      close(file_);
      throw GraderFault(cannot("write " + path.string(), error));
    }
  }
  ~Lock() { close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

fs::path file_of(const Config& config) {
  return config.build / "progress.json";
}

Json to_json(const Measured& measured) {
  return {{"shape", measured.shape}, {"best", measured.best}, {"last", measured.last}};
}

Measured measured_in(const Json& json) {
  return {json.at("shape"), json.at("best"), json.at("last")};
}

Json to_json(const Note& note) {
  return {{"status", note.status},
          {"score", note.score},
          {"todo", note.todo},
          {"diagnosis", note.diagnosis},
          {"graded_text", note.graded_text},
          {"checks", note.checks},
          {"passed_text", note.passed_text},
          {"traffic", to_json(note.traffic)},
          {"bandwidth", to_json(note.bandwidth)},
          {"hints", note.hints}};
}

Note note_in(const Json& json) {
  return {json.at("status"),
          json.at("score"),
          json.at("todo"),
          json.at("diagnosis"),
          json.at("graded_text"),
          json.value("checks", std::string()),  // later than the others
          json.at("passed_text"),
          measured_in(json.at("traffic")),
          measured_in(json.at("bandwidth")),
          json.at("hints").get<std::map<std::string, int>>()};
}

// Nothing if that is not what change_notebook() writes.
std::optional<Notebook> parse(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema").get<int>() != kSchema) {
      return std::nullopt;
    }
    Notebook notebook;
    for (const auto& [exercise, note] : json.at("exercises").items()) {
      notebook[exercise] = note_in(note);
    }
    return notebook;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Notebook load(const Config& config) {
  const fs::path file = file_of(config);
  if (!fs::exists(file)) {
    return {};
  }
  std::optional<Notebook> notebook = parse(read_file(file));
  if (!notebook) {
    const fs::path aside = put_aside(file, "damaged");
    fmt::print(stderr,
               "{} is damaged: it is kept as {}, and what you have passed is known again once you "
               "grade it.\n",
               shown_path(file, config.source), aside.filename().string());
  }
  return notebook.value_or(Notebook());
}

}  // namespace

std::string fingerprint_of_checks(const std::vector<wire::CheckInfo>& checks) {
  std::string all;
  for (const wire::CheckInfo& check : checks) {
    all += fmt::format("{} {} {}\n", check.todo, check.points, check.name);
  }
  return fingerprint(all);
}

Notebook read_notebook(const Config& config) {
  if (!fs::exists(file_of(config))) {
    return {};
  }
  const Lock lock(config.build / "progress.lock");
  return load(config);
}

void change_notebook(const Config& config, const std::function<void(Notebook&)>& change) {
  const Lock lock(config.build / "progress.lock");
  Notebook notebook = load(config);
  change(notebook);
  Json exercises = Json::object();
  for (const auto& [exercise, note] : notebook) {
    exercises[exercise] = to_json(note);
  }
  const Json json = {{"schema", kSchema}, {"exercises", exercises}};
  write_file(file_of(config), json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace onepass::driver
