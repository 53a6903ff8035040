#include "driver/object/dwarf.h"

#include <cstring>
#include <map>
#include <utility>

namespace onepass::driver::dwarf {
namespace {

// Numbers of the DWARF standard.
enum Attribute : unsigned {
  kLocation = 0x02,
  kName = 0x03,
  kLowPc = 0x11,
  kAbstractOrigin = 0x31,
  kArtificial = 0x34,
  kDeclFile = 0x3a,
  kDeclLine = 0x3b,
  kExternal = 0x3f,
  kSpecification = 0x47,
  kRanges = 0x55,
  kCallFile = 0x58,
  kCallLine = 0x59,
  kLinkageName = 0x6e,
  kAlignment = 0x88,
  kDefaulted = 0x8b,
};
constexpr unsigned char kOperationAddr = 0x03;  // the one operation of a global variable's location
constexpr std::uint64_t kImplicitConst = 0x21;

class Cursor {
 public:
  Cursor(const std::string& bytes, std::size_t begin) : at(begin), bytes_(bytes) {}

  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    std::memcpy(&value, skip(width), width);
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint64_t byte = number(1);
      value |= shift < 64 ? (byte & 0x7f) << shift : 0;
      if ((byte & 0x80) == 0) {
        return value;
      }
    }
  }
  std::string text() {
    const std::size_t end = bytes_.find('\0', at);
    if (end == std::string::npos) {
      throw Unreadable();
    }
    const std::size_t begin = std::exchange(at, end + 1);
    return bytes_.substr(begin, end - begin);
  }
  const char* skip(std::uint64_t count) {
    if (at > bytes_.size() || bytes_.size() - at < count) {
      throw Unreadable();
    }
    return bytes_.data() + std::exchange(at, at + count);
  }

  std::size_t at;

 private:
  const std::string& bytes_;
};

class Parser {
 public:
  explicit Parser(const std::string& object)
      : info_(read_debug_section(object, ".debug_info")),
        abbreviations_(read_debug_section(object, ".debug_abbrev")),
        strings_(read_debug_section(object, ".debug_str")),
        line_strings_(read_debug_section(object, ".debug_line_str")) {
    Cursor cursor(info_.bytes, 0);
    while (cursor.at < info_.bytes.size()) {
      read_unit(cursor);
    }
  }

  std::vector<Entry> entries;

 private:
  struct Form {
    std::uint64_t attribute, form, constant;
  };
  struct Shape {
    unsigned tag = 0;
    bool has_children = false;
    std::vector<Form> forms;
  };
  struct Value {
    std::uint64_t number = 0;
    std::string text;
    std::size_t begin = 0, size = 0;  // of a block
  };

  std::map<std::uint64_t, Shape> read_shapes(std::size_t at) const {
    std::map<std::uint64_t, Shape> shapes;
    Cursor cursor(abbreviations_.bytes, at);
    while (const std::uint64_t code = cursor.uleb()) {
      Shape shape;
      shape.tag = static_cast<unsigned>(cursor.uleb());
      shape.has_children = cursor.number(1) != 0;
      while (true) {
        Form form = {cursor.uleb(), cursor.uleb(), 0};
        if (form.form == kImplicitConst) {
          form.constant = cursor.uleb();
        }
        if (form.attribute == 0 && form.form == 0) {
          break;
        }
        shape.forms.push_back(form);
      }
      shapes[code] = std::move(shape);
    }
    return shapes;
  }

  void read_unit(Cursor& cursor) {
    unit_ = cursor.at;
    const std::uint64_t length = cursor.number(4);
    if (length >= 0xfffffff0) {
      throw Unreadable();  // 64-bit DWARF, which nobody needs here
    }
    const std::size_t end = cursor.at + length;
    const std::uint64_t version = cursor.number(2);
    if (version != 4 && version != 5) {
      throw Unreadable();
    }
    const std::uint64_t kind = version == 5 ? cursor.number(1) : 1;
    if (kind != 1) {
      throw Unreadable();
    }
    std::uint64_t shapes_at = 0;
    if (version == 5) {
      cursor.skip(1);
      shapes_at = cursor.number(4);
    } else {
      shapes_at = cursor.number(4);
      cursor.skip(1);
    }
    shapes_ = read_shapes(shapes_at);
    std::vector<std::size_t> open;
    while (cursor.at < end) {
      const std::size_t offset = cursor.at;
      const std::uint64_t code = cursor.uleb();
      if (code == 0) {
        if (!open.empty()) {
          entries[open.back()].end = entries.size();
          open.pop_back();
        }
        continue;
      }
      const auto shape = shapes_.find(code);
      if (shape == shapes_.end()) {
        throw Unreadable();
      }
      Entry entry = read_entry(cursor, shape->second);
      const std::size_t index = entries.size();
      entry.offset = offset;
      entry.parent = open.empty() ? index : open.back();
      entry.end = index + 1;
      entries.push_back(std::move(entry));
      if (shape->second.has_children) {
        open.push_back(index);
      }
    }
  }

  Entry read_entry(Cursor& cursor, const Shape& shape) const {
    Entry entry;
    entry.tag = shape.tag;
    for (const Form& form : shape.forms) {
      const std::size_t at = cursor.at;
      const Value value = read_value(cursor, form.form, form.constant);
      switch (form.attribute) {
        case kName:
          entry.name = value.text;
          break;
        case kLinkageName:
          entry.linkage_name = value.text;
          break;
        case kDeclFile:
          entry.file = value.number;
          break;
        case kDeclLine:
          entry.line = value.number;
          break;
        case kCallFile:
          entry.call_file = value.number;
          break;
        case kCallLine:
          entry.call_line = value.number;
          break;
        case kAlignment:
          entry.alignment = value.number;
          break;
        case kAbstractOrigin:
        case kSpecification:
          entry.origin = value.number;
          break;
        case kArtificial:
        case kDefaulted:
          entry.is_generated = value.number != 0;
          break;
        case kExternal:
          entry.is_external = value.number != 0;
          break;
        case kRanges:
          entry.is_compiled = true;
          break;
        case kLowPc:
          entry.is_compiled = true;
          set_place(entry, at);
          break;
        case kLocation:
          if (value.size == 9 && info_.bytes[value.begin] == kOperationAddr) {
            set_place(entry, value.begin + 1);
          }
          break;
        default:
          break;
      }
    }
    return entry;
  }

  void set_place(Entry& entry, std::size_t at) const {
    const auto found = info_.places.find(at);
    entry.has_place = found != info_.places.end();
    if (entry.has_place) {
      entry.place = found->second;
    }
  }

  static std::string text_at(const DebugSection& section, std::uint64_t offset) {
    return Cursor(section.bytes, offset).text();
  }

  Value read_value(Cursor& cursor, std::uint64_t form, std::uint64_t constant) const {
    const auto number = [&](std::size_t width) { return Value{cursor.number(width), "", 0, 0}; };
    const auto reference = [&](std::uint64_t offset) { return Value{unit_ + offset, "", 0, 0}; };
    const auto block = [&](std::uint64_t size) {
      const std::size_t begin = cursor.at;
      cursor.skip(size);
      return Value{0, "", begin, size};
    };
    switch (form) {
      case 0x01:  // addr
      case 0x07:  // data8
      case 0x20:  // ref_sig8
        return number(8);
      case 0x03:
        return block(cursor.number(2));
      case 0x04:
        return block(cursor.number(4));
      case 0x09:  // block
      case 0x18:  // exprloc
        return block(cursor.uleb());
      case 0x0a:
        return block(cursor.number(1));
      case 0x1e:  // data16
        return block(16);
      case 0x0b:  // data1
      case 0x0c:  // flag
        return number(1);
      case 0x05:
        return number(2);
      case 0x06:  // data4
      case 0x10:  // ref_addr
      case 0x17:  // sec_offset
        return number(4);
      case 0x0d:  // sdata, which nothing of what is wanted has
      case 0x0f:  // udata
        return {cursor.uleb(), "", 0, 0};
      case 0x08:
        return {0, cursor.text(), 0, 0};
      case 0x0e:
        return {0, text_at(strings_, cursor.number(4)), 0, 0};
      case 0x1f:
        return {0, text_at(line_strings_, cursor.number(4)), 0, 0};
      case 0x11:
        return reference(cursor.number(1));
      case 0x12:
        return reference(cursor.number(2));
      case 0x13:
        return reference(cursor.number(4));
      case 0x14:
        return reference(cursor.number(8));
      case 0x15:
        return reference(cursor.uleb());
      case 0x19:  // flag_present
        return {1, "", 0, 0};
      case kImplicitConst:
        return {constant, "", 0, 0};
      default:
        throw Unreadable();
    }
  }

  DebugSection info_, abbreviations_, strings_, line_strings_;
  std::size_t unit_ = 0;
  std::map<std::uint64_t, Shape> shapes_;
};

}  // namespace

std::vector<Entry> read_entries(const std::string& object) {
  return std::move(Parser(object).entries);
}

}  // namespace onepass::driver::dwarf
