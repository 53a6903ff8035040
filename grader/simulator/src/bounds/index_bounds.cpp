// An index outside an array whose size the compiler knows: a local or a __shared__ one.
//
// g++ -fsanitize=bounds-strict calls before the access and tells the array's type, "float [8]", but
// not its name. If a static shared variable of the running kernel has just that size, it is taken
// for the array that is meant: only a local array of the same type in the same kernel could be
// another. An index into the rows of a matrix comes with the row's type, which fits no whole
// variable, and stays an array without a name. Of an array of structures (float4, __half) it lets
// the element just past the end go: they are copied by address, and that address is legal. There
// the rewriter puts a call of our own.
#include <cstdlib>
#include <string>
#include <utility>

#include "bounds/bounds.h"
#include "findings/texts.h"
#include "source/elf_symbols.h"

namespace simulator {
namespace {

/// The size of one number of this type, 0 for types that are not in the list.
std::size_t size_of_type(const std::string& name) {
  static constexpr std::pair<const char*, std::size_t> kSizes[] = {
      {"bool", 1},      {"char", 1},    {"signed char", 1},   {"unsigned char", 1},
      {"short int", 2}, {"int", 4},     {"unsigned int", 4},  {"short unsigned int", 2},
      {"long int", 8},  {"float", 4},   {"double", 8},        {"long unsigned int", 8},
      {"__half", 2},    {"__half2", 4}, {"__nv_bfloat16", 2}, {"__nv_bfloat162", 4},
      {"float2", 8},    {"float4", 16}, {"int2", 8},          {"int4", 16}};
  for (const auto& [known, size] : kSizes) {
    if (name == known) return size;
  }
  return 0;
}

/// "'float [32][33]'", taken apart.
struct ArrayShape {
  std::string element;
  std::size_t first = 0;  // elements of the dimension that is indexed
  std::size_t total = 1;  // numbers in the whole array
};

ArrayShape shape_of(const std::string& quoted) {
  ArrayShape shape;
  std::size_t bracket = quoted.find('[');
  shape.element = quoted.substr(1, bracket == std::string::npos ? bracket : bracket - 1);
  while (!shape.element.empty() && shape.element.back() == ' ') shape.element.pop_back();
  for (; bracket != std::string::npos; bracket = quoted.find('[', bracket + 1)) {
    const std::size_t extent = std::strtoull(quoted.c_str() + bracket + 1, nullptr, 10);
    if (shape.first == 0) shape.first = extent;
    shape.total *= extent;
  }
  return shape;
}

std::string elements_text(const SharedVariable& array, std::size_t count, std::int64_t index) {
  return array.name + '[' + std::to_string(index) + "]: " + array.name + " has " +
         std::to_string(count) + (count == 1 ? " element." : " elements.");
}

}  // namespace

ErrorCode BoundsChecker::on(const IndexEvent& event) {
  const Findings::Writing writing(findings_);
  const ArrayShape shape = shape_of(event.array_type);
  const SharedVariable* array =
      shape.total == 0
          ? nullptr
          : memory_.shared.variable_of_size(shape.total * size_of_type(shape.element), shape.total,
                                            kernel_names(launch_.launched()).own);
  Finding found{Kind::out_of_bounds_local, launch_.kernel, "", false, {}, "", event.index};
  found.parties.push_back(
      party(launch_, blocks_.running(), event.thread, event.site, "indexes an array"));
  if (array != nullptr) {
    found.kind = Kind::out_of_bounds_shared;
    found.buffer = array->name;
    found.message = "Uses " + elements_text(*array, shape.first, event.index);
  } else {
    found.message = "Index " + std::to_string(event.index) + " is outside an array of type " +
                    event.array_type + '.';
  }
  findings_.add(std::move(found));
  return kErrorIllegalAddress;
}

}  // namespace simulator
