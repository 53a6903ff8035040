// What compilers and linkers print of a student's text, and list as read.
#include "driver/compile_errors.h"
#include "driver/includes.h"
#include "driver/printable.h"
#include "driver/text.h"
#include "tests/fuzz/target.h"

namespace onepass::fuzz {

void try_input(std::string_view input) {
  using namespace driver;
  const std::string file = "exercises/01_rmsnorm/forward.cu";
  const std::string output = cut_lines(printable(input));
  Json(missing_function(output, file)).dump();
  if (const auto error =
          first_error(output, file, "grader/chapters/rmsnorm/binding_forward.cu", true)) {
    Json(error->told(file)).dump();
    if (const auto refused = refused_include(*error, output, file)) {
      Json(refused->told(file)).dump();
    }
  }
  for (const auto& read : parse_dependencies(std::string(input))) {
    forbidden_include(read, output, file);
  }
}

}  // namespace onepass::fuzz
