#include "driver/student/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/bad_input.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// Files are completed where no word fits. No word has a blank or a quote in it.
std::string for_bash(const std::vector<CommandWords>& commands) {
  std::string cases;
  for (const CommandWords& one : commands) {
    if (!one.command.empty()) {
      cases += fmt::format("    {}) words='{}' ;;\n", one.command, fmt::join(one.words, " "));
    } else {
      cases += fmt::format("    *) words='{}' ;;\n", fmt::join(one.words, " "));
    }
  }
  return fmt::format(R"(_onepass() {{
  local words command=''
  [ "$COMP_CWORD" -gt 1 ] && command=${{COMP_WORDS[1]}}
  case "$command" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _onepass onepass
)",
                     cases);
}

std::string for_fish(const std::vector<CommandWords>& commands) {
  std::string script;
  for (const CommandWords& one : commands) {
    script += fmt::format("complete -c onepass -n '{}' -a '{}'\n",
                          one.command.empty() ? "__fish_use_subcommand"
                                              : "__fish_seen_subcommand_from " + one.command,
                          fmt::join(one.words, " "));
  }
  return script;
}

}  // namespace

std::string completion(const std::string& shell, const std::vector<CommandWords>& commands) {
  if (shell == "bash") {
    return for_bash(commands);
  }
  if (shell == "zsh") {
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" +
           for_bash(commands);
  }
  if (shell == "fish") {
    return for_fish(commands);
  }
  throw BadInput(shell.empty()
                     ? "Name the shell: bash, zsh or fish."
                     : fmt::format("There is no completion for {}: choose bash, zsh or fish.",
                                   shell_word(shell)));
}

}  // namespace onepass::driver
