#include "driver/object/elf_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "driver/bad_input.h"

namespace onepass::driver {
namespace {

/// By these a loader finds what runs before main(), or after it.
bool is_list_of_functions(const std::string& section) {
  constexpr const char* kNames[] = {".init_array", ".fini_array", ".preinit_array", ".ctors",
                                    ".dtors"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return section.rfind(name, 0) == 0; });
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64) {
      throw GraderFault("The compiler did not write a 64-bit ELF object.");
    }
    // Where there are too many sections for the header, the first of them has the numbers.
    const auto first = at<Elf64_Shdr>(header.e_shoff);
    const std::size_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
    const std::size_t names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
    for (std::size_t i = 0; i < count; ++i) {
      sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    for (const Elf64_Shdr& section : sections_) {
      object_.sections.push_back(text_in(names, section.sh_name));
      if (section.sh_type == SHT_SYMTAB) {
        read_symbols(section);
      }
    }
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type != SHT_RELA && is_list_of_functions(object_.sections[i])) {
        read_run_unasked(i);
      }
    }
  }

  ObjectFile result() && { return std::move(object_); }

  DebugSection debug_section(const std::string& name) const {
    DebugSection result;
    const auto found = std::find(object_.sections.begin(), object_.sections.end(), name);
    if (found == object_.sections.end()) {
      return result;
    }
    const auto index = static_cast<std::size_t>(found - object_.sections.begin());
    const std::size_t size = sections_[index].sh_size;
    if (size > 0) {
      at<char>(sections_[index].sh_offset + size - 1);
      result.bytes = bytes_.substr(sections_[index].sh_offset, size);
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_RELA || section.sh_info != index) {
        continue;
      }
      for (const auto& one : entries_of<Elf64_Rela>(section)) {
        const Elf64_Sym& symbol = elf_symbols_.at(ELF64_R_SYM(one.r_info));
        const std::uint64_t value = symbol.st_value + static_cast<std::uint64_t>(one.r_addend);
        const auto type = ELF64_R_TYPE(one.r_info);
        const bool is_wide = type == R_X86_64_64 || type == R_AARCH64_ABS64;
        const std::size_t width = is_wide ? 8 : 4;
        if (one.r_offset <= result.bytes.size() && result.bytes.size() - one.r_offset >= width) {
          std::memcpy(&result.bytes[one.r_offset], &value, width);
          result.places[one.r_offset] = {symbol.st_shndx, value};
        }
      }
    }
    return result;
  }

 private:
  template <typename T>
  T at(std::size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      throw GraderFault("The compiler's object file is cut short.");
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::string text_in(std::size_t table, std::size_t offset) const {
    const Elf64_Shdr& section = sections_.at(table);
    at<char>(section.sh_offset + offset);
    return bytes_.c_str() + (section.sh_offset + offset);
  }

  // `table` holds the entries; what they are is the caller's to know.
  template <typename Entry>
  std::vector<Entry> entries_of(const Elf64_Shdr& table) const {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < table.sh_size / sizeof(Entry); ++i) {
      entries.push_back(at<Entry>(table.sh_offset + i * sizeof(Entry)));
    }
    return entries;
  }

  void read_symbols(const Elf64_Shdr& table) {
    elf_symbols_ = entries_of<Elf64_Sym>(table);
    for (const Elf64_Sym& symbol : elf_symbols_) {
      object_.symbols.push_back(
          {text_in(table.sh_link, symbol.st_name),
           kind_of(symbol),
           ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT || ELF64_ST_TYPE(symbol.st_info) == STT_TLS,
           ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC,
           ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx < sections_.size() &&
               (sections_[symbol.st_shndx].sh_flags & SHF_EXECINSTR) != 0,
           ELF64_ST_TYPE(symbol.st_info) == STT_TLS,
           {symbol.st_shndx, symbol.st_value},
           symbol.st_size});
    }
  }

  static ObjectSymbol::Kind kind_of(const Elf64_Sym& symbol) {
    using Kind = ObjectSymbol::Kind;
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    return binding == STB_LOCAL           ? Kind::local
           : symbol.st_shndx == SHN_UNDEF ? Kind::undefined
           : binding == STB_GLOBAL        ? Kind::strong
                                          : Kind::weak;
  }

  /// What a linker fills in are functions; what stands there already is none.
  void read_run_unasked(std::size_t list) {
    std::size_t missing = sections_[list].sh_size / sizeof(Elf64_Addr);
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_RELA || section.sh_info != list) {
        continue;
      }
      for (const auto& one : entries_of<Elf64_Rela>(section)) {
        const std::string function = function_of(one);
        object_.run_unasked.push_back(function.empty() ? object_.sections[list] : function);
        missing -= std::min<std::size_t>(missing, 1);
      }
    }
    if (missing > 0) {
      object_.run_unasked.push_back(object_.sections[list]);
    }
  }

  std::string function_of(const Elf64_Rela& relocation) const {
    const std::size_t index = ELF64_R_SYM(relocation.r_info);
    const Elf64_Sym& symbol = elf_symbols_.at(index);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION) {
      return function_at(symbol.st_shndx, relocation.r_addend);
    }
    return relocation.r_addend == 0 ? object_.symbols[index].name : "";
  }

  std::string function_at(unsigned section, Elf64_Sxword offset) const {
    for (std::size_t i = 0; i < elf_symbols_.size(); ++i) {
      const Elf64_Sym& symbol = elf_symbols_[i];
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx == section &&
          symbol.st_value == static_cast<Elf64_Addr>(offset)) {
        return object_.symbols[i].name;
      }
    }
    return "";
  }

  const std::string& bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> elf_symbols_;  // as many as object_.symbols
  ObjectFile object_;
};

}  // namespace

namespace {

template <typename Read>
auto from_object(const std::string& bytes, const Read& read) {
  try {
    return read(Reader(bytes));
  } catch (const std::out_of_range&) {
    throw GraderFault("The compiler's object file names a part that it does not have.");
  }
}

}  // namespace

ObjectFile read_object(const std::string& bytes) {
  return from_object(bytes, [](Reader&& reader) { return std::move(reader).result(); });
}

DebugSection read_debug_section(const std::string& bytes, const std::string& name) {
  return from_object(bytes, [&](const Reader& reader) { return reader.debug_section(name); });
}

}  // namespace onepass::driver
