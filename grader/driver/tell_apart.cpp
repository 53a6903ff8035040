#include "driver/tell_apart.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

namespace onepass::driver {
namespace {

bool is_open(const Json& check) {
  return check.contains("possible") && !check["possible"].empty();
}

std::string topic_of(const std::string& warning) {
  const std::string place = warning.substr(0, warning.find(": "));
  const std::size_t advice = warning.find('\n');
  const bool is_line = std::isdigit(static_cast<unsigned char>(place.back())) != 0;
  return is_line && advice != std::string::npos ? place + warning.substr(advice) : warning;
}

}  // namespace

// A mistake that alone explains a failure speaks for itself, more than one that only does so best.
void tell_apart(Json& checks) {
  std::map<std::string, int> explained;
  for (const Json& check : checks) {
    const std::string diagnosis = text(check, "diagnosis");
    if (!diagnosis.empty()) {
      explained[diagnosis] += is_open(check) ? 1 : 2;
    } else if (is_open(check)) {
      for (const Json& possible : check["possible"]) {
        ++explained[text(possible, "diagnosis")];
      }
    }
  }
  for (Json& check : checks) {
    if (is_open(check)) {
      const Json& possible = check["possible"];
      const auto most =
          std::max_element(possible.begin(), possible.end(), [&](const Json& a, const Json& b) {
            return explained[text(a, "diagnosis")] < explained[text(b, "diagnosis")];
          });
      if (!text(check, "diagnosis").empty() || explained[text(*most, "diagnosis")] > 1) {
        check["message"] = text(check, "message") + "\n" + text(*most, "sentence");
        check["diagnosis"] = text(*most, "diagnosis");
      }
    }
    check.erase("possible");
  }
}

void tell_warnings_once(Json& checks) {
  std::set<std::string> told;
  for (Json& check : checks) {
    Json once = Json::array();
    for (const Json& warning : check.value("warnings", Json::array())) {
      if (told.insert(topic_of(warning.get<std::string>())).second) {
        once.push_back(warning);
      }
    }
    if (check.contains("warnings")) {
      check["warnings"] = once;
    }
  }
}

bool is_told_by(const Json& check, const std::string& warning) {
  const std::string place = text(check, "location") + ": ";
  if (place == ": " || warning.rfind(place, 0) != 0) {
    return false;
  }
  const std::string what = warning.substr(place.size(), warning.find('\n') - place.size());
  return text(check, "message").find(what) != std::string::npos;
}

}  // namespace onepass::driver
