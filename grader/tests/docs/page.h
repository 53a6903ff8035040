// A page of the docs, taken apart: what stands in fences, the headings, and the links. As much of
// Markdown as the project's own pages use.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace onepass::docs {

/// What a checker has to say of a page, each "name:line: what is wrong".
using Complaints = std::vector<std::string>;

/// The text of a file, by its path from the project's root; nothing where there is no such file.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Lines between ``` and ```.
struct Block {
  std::string language;  // behind the opening ```, such as cpp
  std::string mark;      // what the comment <!-- ... --> on the line before says, or nothing
  int line = 0;          // of the opening ```, counted from 1
  std::vector<std::string> lines;
};

struct Link {
  std::string target;
  int line = 0;
};

struct Page {
  std::string path;                // from the project's root
  std::vector<std::string> lines;  // all of them
  std::vector<Block> blocks;
  std::vector<std::string> headings;  // without the #s
  std::vector<Link> links;            // [text](target), outside of blocks
};

std::vector<std::string> lines_of(const std::string& text);
Page parse_page(const std::string& path, const std::string& text);

/// How a page's reader links to a heading: "1.1 Sum a row" is #11-sum-a-row.
std::string anchor_of(const std::string& heading);

/// "name:line: what".
std::string complaint(const Page& page, int line, const std::string& what);

}  // namespace onepass::docs
