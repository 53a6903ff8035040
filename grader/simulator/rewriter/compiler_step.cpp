#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "access_alignments.h"

namespace onepass::rewriter {
namespace {

/// The file that the step makes, if it is assembly.
std::string assembly_of(char** command) {
  for (; *command != nullptr; ++command) {
    if (std::strcmp(*command, "-o") != 0 || command[1] == nullptr) continue;
    const std::string output = command[1];
    const bool is_assembly = output.size() > 2 && output.substr(output.size() - 2) == ".s";
    return is_assembly ? output : "";
  }
  return "";
}

/// Exits, or ends by the signal, as the command did.
int run(char** command) {
  const pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(127);
  }
  int status = 0;
  if (child == -1 || waitpid(child, &status, 0) == -1) {
    std::perror(command[0]);
    return 1;
  }
  if (WIFSIGNALED(status)) std::raise(WTERMSIG(status));
  return WEXITSTATUS(status);
}

std::string read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

int run_compiler_step(char** command) {
  const std::string assembly = assembly_of(command);
  if (assembly.empty()) {
    execvp(command[0], command);
    std::perror(command[0]);
    return 127;
  }
  std::string dump = assembly + ".expand", wanted = "-fdump-rtl-expand=" + dump, numbers = "-dp";
  std::vector<char*> with_dump;
  for (; *command != nullptr; ++command) with_dump.push_back(*command);
  for (std::string* option : {&wanted, &numbers}) with_dump.push_back(option->data());
  with_dump.push_back(nullptr);
  const int status = run(with_dump.data());
  if (status == 0) {
    const std::string text = with_alignments(read(assembly), read(dump));
    std::ofstream out(assembly, std::ios::binary);
    if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
      std::perror(assembly.c_str());
      return 1;
    }
  }
  unlink(dump.c_str());
  return status;
}

}  // namespace onepass::rewriter
