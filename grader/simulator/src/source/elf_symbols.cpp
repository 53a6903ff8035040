#include "source/elf_symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "source/source_lines.h"

namespace simulator {
namespace {

struct LoadedProgram {
  std::uintptr_t base = 0;
  ThreadLocalBlock thread_locals;
};

/// The loader lists the program itself first.
int describe_program(dl_phdr_info* info, std::size_t, void* out) {
  auto& program = *static_cast<LoadedProgram*>(out);
  program.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_TLS) {
      program.thread_locals = {reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data),
                               info->dlpi_phdr[i].p_memsz};
    }
  }
  return 1;  // no further objects
}

LoadedProgram loaded_program() {
  LoadedProgram program;
  dl_iterate_phdr(describe_program, &program);
  return program;
}

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : name;
  std::free(text);
  return result;
}

/// A file, mapped for reading while this object lives.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file >= 0 && fstat(file, &status) == 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      data_ = memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory);
    }
    if (file >= 0) close(file);
  }
  ~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <typename T>
  const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(data_ + offset);
  }
  bool is_open() const { return data_ != nullptr; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

std::vector<ElfSymbol> read_symbols(unsigned type) {
  std::vector<ElfSymbol> symbols;
  const MappedFile file(program_path());
  if (!file.is_open()) return symbols;
  const std::uintptr_t added = type == STT_TLS ? 0 : program_base();
  const auto* header = file.at<ElfW(Ehdr)>(0);
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff);
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto* table = file.at<ElfW(Sym)>(sections[s].sh_offset);
    const char* names = file.at<char>(sections[sections[s].sh_link].sh_offset);
    for (std::size_t i = 0; i < sections[s].sh_size / sizeof(ElfW(Sym)); ++i) {
      if ((table[i].st_info & 15) == type && table[i].st_shndx != SHN_UNDEF) {
        const char* name = names + table[i].st_name;
        symbols.push_back(
            {type == STT_TLS ? demangle(name) : name, table[i].st_value + added, table[i].st_size});
      }
    }
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const ElfSymbol& a, const ElfSymbol& b) { return a.value < b.value; });
  return symbols;
}

/// Where the bracket that closes at `close` opens: "k<a<b> >" has several inside one another.
std::size_t opening_bracket(const std::string& text, std::size_t close, char left, char right) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == right) ++depth;
    if (text[i] == left && --depth == 0) return i;
  }
  return 0;
}

}  // namespace

const std::string& program_path() {
  static const std::string path = [] {
    char buffer[4096];
    const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
    return std::string(buffer, length > 0 ? static_cast<std::size_t>(length) : 0);
  }();
  return path;
}

std::uintptr_t program_base() {
  static const std::uintptr_t base = loaded_program().base;
  return base;
}

ThreadLocalBlock thread_local_block() {
  return loaded_program().thread_locals;
}

const std::vector<ElfSymbol>& thread_local_symbols() {
  static const std::vector<ElfSymbol> symbols = read_symbols(STT_TLS);
  return symbols;
}

const std::vector<ElfSymbol>& function_symbols() {
  static const std::vector<ElfSymbol> symbols = read_symbols(STT_FUNC);
  return symbols;
}

std::string last_name(const std::string& demangled) {
  std::string text = demangled;
  while (!text.empty() && (text.back() == ')' || text.back() == '>')) {
    const bool round = text.back() == ')';
    text.resize(opening_bracket(text, text.size() - 1, round ? '(' : '<', round ? ')' : '>'));
  }
  const std::size_t start = text.find_last_of(": ");
  return start == std::string::npos ? text : text.substr(start + 1);
}

std::string function_name(std::uintptr_t address) {
  const std::vector<ElfSymbol>& symbols = function_symbols();
  auto next = std::upper_bound(
      symbols.begin(), symbols.end(), address,
      [](std::uintptr_t wanted, const ElfSymbol& symbol) { return wanted < symbol.value; });
  if (next == symbols.begin()) return "";
  --next;
  return address < next->value + std::max<std::size_t>(next->size, 1) ? demangle(next->name.c_str())
                                                                      : "";
}

}  // namespace simulator
