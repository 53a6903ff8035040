#include "driver/class/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ctime>
#include <functional>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/naming.h"
#include "driver/nearest.h"
#include "driver/printable.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

// What is wrong with a field: the end of the sentence "policy.json: seeds ...".
struct WrongField {
  std::string what;
};

std::string string_in(const Json& value) {
  if (!value.is_string()) {
    throw WrongField{"has to be a text in quotes"};
  }
  return value.get<std::string>();
}

std::string one_of(const Json& value, const std::vector<std::string>& words) {
  const std::string word = value.is_string() ? value.get<std::string>() : "";
  for (const std::string& known : words) {
    if (word == known) {
      return word;
    }
  }
  throw WrongField{fmt::format("has to be one of \"{}\"", fmt::join(words, "\", \""))};
}

bool flag_in(const Json& value) {
  if (!value.is_boolean()) {
    throw WrongField{"has to be true or false"};
  }
  return value.get<bool>();
}

double number_in(const Json& value, bool zero_too) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(number) || number < 0 || (number == 0 && !zero_too)) {
    throw WrongField{zero_too ? "has to be a number, 0 or more" : "has to be a number above 0"};
  }
  return number;
}

const Json& list_in(const Json& value, const char* of_what) {
  if (!value.is_array() || value.empty()) {
    throw WrongField{fmt::format("has to be a list of {}", of_what)};
  }
  return value;
}

std::vector<std::uint64_t> seeds_in(const Json& value) {
  std::vector<std::uint64_t> seeds;
  for (const Json& seed : list_in(value, "whole numbers, such as [20, 77]")) {
    if (!seed.is_number_unsigned()) {
      throw WrongField{"has to be a list of whole numbers, such as [20, 77]"};
    }
    seeds.push_back(seed.get<std::uint64_t>());
  }
  return seeds;
}

// As a user may name them anywhere, but no path.
std::vector<Named> named_by(const Config& config, const std::string& name) {
  try {
    return exercises_named(config, {{name}, "", ""});
  } catch (const BadInput& error) {
    throw WrongField{fmt::format("names what is not there. {}", error.what())};
  }
}

std::vector<std::string> exercises_in(const Config& config, const Json& value) {
  std::vector<std::string> exercises;
  for (const Json& name : list_in(value, "exercises or chapters, such as [\"rmsnorm\", \"2.1\"]")) {
    exercises.push_back(string_in(name));
    named_by(config, exercises.back());
  }
  return exercises;
}

// The later of two that name the same exercise counts: chapters come first, therefore, whatever
// the order in the file.
std::map<std::string, double> weights_in(const Config& config, const Json& value) {
  if (!value.is_object()) {
    throw WrongField{"has to be an object, such as {\"rmsnorm\": 1, \"rmsnorm/forward_fast\": 2}"};
  }
  std::map<std::string, double> weights;
  for (const bool chapters : {true, false}) {
    for (const auto& [name, weight] : value.items()) {
      const std::vector<Named> exercises = named_by(config, name);
      if ((exercises.size() > 1) == chapters) {
        for (const Named& one : exercises) {
          weights[one.exercise->id] = number_in(weight, true);
        }
      }
    }
  }
  return weights;
}

Shown shown_in(const Json& value) {
  const std::vector<std::string> words = {"score", "checks", "messages", "output"};
  const std::string word = one_of(value, words);
  return static_cast<Shown>(std::find(words.begin(), words.end(), word) - words.begin());
}

std::string deadline_in(const Json& value) {
  try {
    time_of(string_in(value));
  } catch (const BadInput& error) {
    throw WrongField{error.what()};
  }
  return value.get<std::string>();
}

using Read = std::function<void(const Json& value)>;

std::map<std::string, Read> fields_of(const Config& config, Policy& policy) {
  return {
      {"exercises", [&](const Json& v) { policy.exercises = exercises_in(config, v); }},
      {"weights", [&](const Json& v) { policy.weights = weights_in(config, v); }},
      {"out_of", [&](const Json& v) { policy.out_of = number_in(v, false); }},
      {"device",
       [&](const Json& v) {
         policy.device = one_of(v, {"cpu", "gpu"});
       }},
      {"seeds", [&](const Json& v) { policy.seeds = seeds_in(v); }},
      {"launch_seconds", [&](const Json& v) { policy.launch_seconds = number_in(v, false); }},
      {"measure", [&](const Json& v) { policy.measure = flag_in(v); }},
      {"experiments", [&](const Json& v) { policy.experiments = flag_in(v); }},
      {"nvcc", [&](const Json& v) { policy.nvcc = flag_in(v); }},
      {"require_confinement", [&](const Json& v) { policy.require_confinement = flag_in(v); }},
      {"deadline", [&](const Json& v) { policy.deadline = deadline_in(v); }},
      {"students_see", [&](const Json& v) { policy.shown = shown_in(v); }},
  };
}

}  // namespace

double Policy::weight(const std::string& exercise) const {
  const auto found = weights.find(exercise);
  return found == weights.end() ? 1 : found->second;
}

std::int64_t time_of(const std::string& text) {
  std::tm time = {};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') {
    throw BadInput("has to be a time in UTC, such as \"2026-11-30T23:59:00Z\"");
  }
  return timegm(&time);
}

Policy read_policy(const Config& config, const fs::path& file) {
  const std::string shown = printable_line(file.string());
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw BadInput(fmt::format("There is no policy {}.", shown));
  }
  Json root;
  try {
    root = Json::parse(read_file(file));
  } catch (const nlohmann::json::parse_error& problem) {
    throw BadInput(fmt::format("{} is no JSON at byte {}.", shown, problem.byte));
  }
  if (!root.is_object()) {
    throw BadInput(fmt::format("{} has to be a JSON object: {{ ... }}.", shown));
  }
  Policy policy;
  const std::map<std::string, Read> fields = fields_of(config, policy);
  std::vector<std::string> names;
  for (const auto& field : fields) {
    names.push_back(field.first);
  }
  for (const auto& [name, value] : root.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) {
      throw BadInput(fmt::format(
          "{}: there is no field {}{}", shown, printable_line(name),
          did_you_mean(names, name, fmt::format("the fields are {}", fmt::join(names, ", ")))));
    }
    try {
      field->second(value);
    } catch (const WrongField& wrong) {
      const bool ended = wrong.what.back() == '.';
      throw BadInput(fmt::format("{}: {} {}{}", shown, name, wrong.what, ended ? "" : "."));
    }
  }
  return policy;
}

}  // namespace onepass::driver::course
