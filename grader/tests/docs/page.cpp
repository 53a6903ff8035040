#include "page.h"

#include <cctype>
#include <regex>
#include <sstream>

namespace onepass::docs {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

namespace {

const std::string kFence = "```";

bool is_fence(const std::string& line) {
  return line.compare(0, kFence.size(), kFence) == 0;
}

/// What <!-- ... --> says, where that is all of the line.
std::string comment_in(const std::string& line) {
  static const std::regex kComment("<!-- (.*) -->");
  std::smatch match;
  return std::regex_match(line, match, kComment) ? match[1].str() : "";
}

void add_links(const std::string& line, int number, std::vector<Link>& links) {
  static const std::regex kLink(R"(\]\(([^)\s]+)\))");
  for (std::sregex_iterator i(line.begin(), line.end(), kLink), end; i != end; ++i) {
    links.push_back({(*i)[1].str(), number});
  }
}

}  // namespace

Page parse_page(const std::string& path, const std::string& text) {
  static const std::regex kHeading("#+ (.*)");
  Page page;
  page.path = path;
  page.lines = lines_of(text);
  bool inside = false;  // of a block
  std::string before;
  for (size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    const int number = static_cast<int>(i) + 1;
    std::smatch match;
    if (is_fence(line)) {
      inside = !inside;
      if (inside) {
        page.blocks.push_back({line.substr(kFence.size()), comment_in(before), number, {}});
      }
    } else if (inside) {
      page.blocks.back().lines.push_back(line);
    } else if (std::regex_match(line, match, kHeading)) {
      page.headings.push_back(match[1].str());
    } else {
      add_links(line, number, page.links);
    }
    before = line;
  }
  return page;
}

std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char letter : heading) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x80 || std::isalnum(byte) != 0 || letter == '-' || letter == '_') {
      anchor += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
    } else if (letter == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::string complaint(const Page& page, int line, const std::string& what) {
  return page.path + ":" + std::to_string(line) + ": " + what;
}

}  // namespace onepass::docs
