#include "names.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

namespace onepass::docs {
namespace {

/// Calls found(match, line number) for each match in a line of the page.
template <typename Found>
void for_each_match(const Page& page, const std::regex& pattern, Found found) {
  for (size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    for (std::sregex_iterator match(line.begin(), line.end(), pattern), end; match != end;
         ++match) {
      found(*match, static_cast<int>(i) + 1);
    }
  }
}

bool is_on_the_web(const std::string& target) {
  return target.compare(0, 4, "http") == 0;
}

bool has_anchor(const Page& page, const std::string& anchor) {
  return std::any_of(page.headings.begin(), page.headings.end(),
                     [&](const std::string& heading) { return anchor_of(heading) == anchor; });
}

}  // namespace

Complaints check_links(const Page& page, const ReadFile& read,
                       const std::function<bool(const std::string&)>& exists) {
  Complaints complaints;
  const auto folder = std::filesystem::path(page.path).parent_path();
  for (const Link& link : page.links) {
    if (is_on_the_web(link.target)) {
      continue;
    }
    const size_t hash = std::min(link.target.find('#'), link.target.size());
    const std::string file = link.target.substr(0, hash);
    const std::string path =
        file.empty() ? page.path : (folder / file).lexically_normal().generic_string();
    if (!exists(path)) {
      complaints.push_back(complaint(page, link.line, "there is no " + path));
    } else if (hash < link.target.size() && !has_anchor(parse_page(path, read(path).value_or("")),
                                                        link.target.substr(hash + 1))) {
      complaints.push_back(
          complaint(page, link.line, "no heading of " + path + " is " + link.target.substr(hash)));
    }
  }
  return complaints;
}

Complaints check_paths(const Page& page, const std::function<bool(const std::string&)>& exists) {
  // Not in the middle of another path, such as build/exercises/...
  static const std::regex kPath(R"((^|[^\w/.-])((exercises|solutions|grader|docs)/[\w./-]*))");
  Complaints complaints;
  for_each_match(page, kPath, [&](const std::smatch& match, int line) {
    std::string path = match[2].str();
    while (!path.empty() && path.back() == '.') {
      path.pop_back();  // the end of a sentence
    }
    if (!exists(path)) {
      complaints.push_back(complaint(page, line, "there is no " + path));
    }
  });
  return complaints;
}

Complaints check_targets(const Page& page, const std::vector<std::string>& targets) {
  static const std::regex kMake(R"(make -C build((?: -?[\w]+)*))");
  Complaints complaints;
  for_each_match(page, kMake, [&](const std::smatch& match, int line) {
    std::istringstream words(match[1].str());
    for (std::string word; words >> word;) {
      const bool known = std::find(targets.begin(), targets.end(), word) != targets.end();
      if (word.front() != '-' && !known) {
        complaints.push_back(complaint(page, line, "make -C build has no target " + word));
      }
    }
  });
  return complaints;
}

Complaints check_commands(const Page& page, const Help& help) {
  static const std::regex kCall(R"(build/onepass( [a-z]+)?([^`\n]*))");
  static const std::regex kOption(R"((^|\s)(--?[a-z]+))");
  Complaints complaints;
  for_each_match(page, kCall, [&](const std::smatch& call, int line) {
    const std::string command = call[1].matched ? call[1].str().substr(1) : "";
    const auto text = help(command);
    if (!text) {
      complaints.push_back(complaint(page, line, "build/onepass has no command " + command));
      return;
    }
    const std::string rest = call[2].str();
    for (std::sregex_iterator option(rest.begin(), rest.end(), kOption), end; option != end;
         ++option) {
      const std::regex in_help("(^|[\\s,])" + (*option)[2].str() + "([\\s,=]|$)");
      if (!std::regex_search(*text, in_help)) {
        complaints.push_back(complaint(
            page, line, "build/onepass " + command + " has no option " + (*option)[2].str()));
      }
    }
  });
  return complaints;
}

Complaints check_check_names(const Page& page, const std::string& sources) {
  // A long name is written in pieces: "so many " "words". Its tags follow: , points(2), todo(1)).
  static const std::regex kBetweenPieces(R"("\s+")");
  static const std::regex kFailure(R"(^ *[a-z ]+: (.*) \(TODO (\d+), (\d+) points?\)$)");
  static const std::regex kSpace(R"(\s+)");
  const std::string joined =
      std::regex_replace(std::regex_replace(sources, kBetweenPieces, ""), kSpace, " ");
  Complaints complaints;
  for_each_match(page, kFailure, [&](const std::smatch& match, int line) {
    const std::string check = "CHECK_CASE(\"" + match[1].str() + "\", points(" + match[3].str() +
                              "), todo(" + match[2].str() + "))";
    if (joined.find(check) == std::string::npos) {
      complaints.push_back(
          complaint(page, line, "there is no such check, of this TODO and points"));
    }
  });
  return complaints;
}

}  // namespace onepass::docs
