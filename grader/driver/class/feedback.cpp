#include "driver/class/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "driver/printable.h"
#include "driver/text.h"

namespace onepass::driver::course {

namespace {

using Writer = std::back_insert_iterator<std::string>;

std::string heading_of(const ToldCheck& check) {
  return fmt::format("{}: {} (TODO {}, {} of {})", check.status, check.name, check.todo,
                     points_text(check.score), points_text(check.most));
}

// Is there more to say of it than stands in the table?
bool has_section(const ToldExercise& exercise) {
  const bool has_checks = exercise.status != "missing" && !exercise.checks.empty();
  return exercise.status != "passed" && exercise.status != "not started" &&
         (has_checks || !exercise.remarks.empty());
}

// Not what passed; and of a file that is missing or does not compile, its remarks say it all.
bool is_told(const ToldExercise& exercise, const ToldCheck& check) {
  return check.status != "passed" && exercise.status != "missing" &&
         exercise.status != "compile error";
}

// What several checks fail by is told once.
std::vector<std::string> messages_of(const ToldExercise& exercise) {
  std::set<std::string> seen = {""};
  std::vector<std::string> messages;
  for (const ToldCheck& check : exercise.checks) {
    const bool is_new = seen.insert(first_line(check.message)).second;
    messages.push_back(is_new ? check.message : check.message.empty() ? "" : "The same.");
  }
  return messages;
}

bool is_one_line(const std::string& text) {
  return text.find('\n') == std::string::npos;
}

std::string in_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string("\\`*_[]<>#|").find(c) != std::string::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

// A fence that does not occur in the text.
std::string code_block(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) {
    fence += '`';
  }
  return fmt::format("{0}text\n{1}\n{0}\n\n", fence, text);
}

std::string block_of(const std::string& text) {
  return is_one_line(text) ? in_markdown(text) + "\n\n" : code_block(text);
}

constexpr const char* kStyle = R"(
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } td, th { padding: .15rem .9rem .15rem 0; text-align: left }
th:nth-child(2), th:nth-child(3), td:nth-child(2), td:nth-child(3) { text-align: right }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem; border-left: 3px solid #8888; background: #8881 }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem }
)";

}  // namespace

std::string feedback_markdown(const Told& told) {
  std::string page;
  const Writer out(page);
  fmt::format_to(out, "# One Pass: {}\n\n**{} of {}**\n\n", in_markdown(told.student),
                 points_text(told.grade), points_text(told.out_of));
  for (const std::string& remark : told.remarks) {
    fmt::format_to(out, "{}\n\n", in_markdown(remark));
  }
  fmt::format_to(out, "| exercise | points | of | |\n|---|---:|---:|---|\n");
  for (const ToldExercise& exercise : told.exercises) {
    fmt::format_to(out, "| {} | {} | {} | {} |\n", in_markdown(exercise.id),
                   points_text(exercise.score), points_text(exercise.most), exercise.status);
  }
  fmt::format_to(out, "\n");
  for (const ToldExercise& exercise : told.exercises) {
    if (!has_section(exercise)) {
      continue;
    }
    fmt::format_to(out, "## {}: {}\n\n", in_markdown(exercise.id), in_markdown(exercise.title));
    for (const std::string& remark : exercise.remarks) {
      fmt::format_to(out, "{}", block_of(remark));
    }
    const std::vector<std::string> messages = messages_of(exercise);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (is_told(exercise, exercise.checks[i])) {
        fmt::format_to(out, "### {}\n\n{}", in_markdown(heading_of(exercise.checks[i])),
                       messages[i].empty() ? "" : block_of(messages[i]));
      }
    }
  }
  if (!told.figures.empty()) {
    fmt::format_to(out, "## Measured\n\n{}", code_block(told.figures));
  }
  return page;
}

std::string feedback_html(const Told& told) {
  std::string page;
  const Writer out(page);
  const auto block = [&](const char* tag, const std::string& text) {
    fmt::format_to(out, "<{0}>{1}</{0}>\n", tag, in_html(text));
  };
  fmt::format_to(out,
                 "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width\">\n"
                 "<title>One Pass: {}</title>\n<style>{}</style>\n",
                 in_html(told.student), kStyle);
  block("h1", "One Pass: " + told.student);
  fmt::format_to(out, "<p><strong>{} of {}</strong></p>\n", points_text(told.grade),
                 points_text(told.out_of));
  for (const std::string& remark : told.remarks) {
    block("p", remark);
  }
  fmt::format_to(out, "<table>\n<tr><th>exercise<th>points<th>of<th></tr>\n");
  for (const ToldExercise& exercise : told.exercises) {
    fmt::format_to(out, "<tr><td>{}<td>{}<td>{}<td>{}</tr>\n", in_html(exercise.id),
                   points_text(exercise.score), points_text(exercise.most), exercise.status);
  }
  fmt::format_to(out, "</table>\n");
  for (const ToldExercise& exercise : told.exercises) {
    if (!has_section(exercise)) {
      continue;
    }
    block("h2", exercise.id + ": " + exercise.title);
    for (const std::string& remark : exercise.remarks) {
      block(is_one_line(remark) ? "p" : "pre", remark);
    }
    const std::vector<std::string> messages = messages_of(exercise);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (is_told(exercise, exercise.checks[i])) {
        block("h3", heading_of(exercise.checks[i]));
        if (!messages[i].empty()) {
          block(is_one_line(messages[i]) ? "p" : "pre", messages[i]);
        }
      }
    }
  }
  if (!told.figures.empty()) {
    block("h2", "Measured");
    block("pre", told.figures);
  }
  return page + "</html>\n";
}

}  // namespace onepass::driver::course
