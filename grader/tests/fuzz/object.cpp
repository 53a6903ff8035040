// What an assembler has made of a student's text: an object, or, without its first bytes, the
// assembly.
#include "driver/bad_input.h"
#include "driver/object/device_code.h"
#include "driver/object/inspect.h"
#include "driver/printable.h"
#include "tests/fuzz/target.h"

namespace onepass::fuzz {

void try_input(std::string_view input) {
  using namespace driver;
  const std::string bytes(input);
  const std::string source = "float f();\nint main() {\n  asm(\"\");\n}\n";
  if (const auto refused = refused_assembly(bytes, source, "a.cu")) {
    Json(refused->told("a.cu")).dump();
  }
  try {
    const ObjectFile object = read_object(bytes);
    if (const auto refused = refused_object(object, source, "a.cu")) {
      Json(refused->told("a.cu")).dump();
    }
    if (const auto refused = refused_device_code(
            object, bytes, bytes, read_written_calls(bytes, bytes), source, "a.cu")) {
      Json(refused->told("a.cu")).dump();
    }
  } catch (const GraderFault&) {
  }
}

}  // namespace onepass::fuzz
