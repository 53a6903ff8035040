// Looks up what a binding asks for, and enters the student's code.
#include <cmath>

#include "worker/device.h"

namespace onepass::worker {
namespace {

/// The binding asked for a name or a kind of number that the request does not have.
struct MissingArgument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename Value>
const Value& look_up(const std::map<std::string, Value>& values, const char* name,
                     const char* what) {
  const auto found = values.find(name);
  if (found == values.end()) {
    throw MissingArgument(std::string("the request has no ") + what + " named " + name);
  }
  return found->second;
}

}  // namespace

void* Arguments::address(const char* name) const {
  return look_up(table_->buffers, name, "buffer");
}

double Arguments::real(const char* name) const {
  return look_up(table_->scalars, name, "scalar");
}

int64_t Arguments::integer(const char* name) const {
  const double value = real(name);
  if (value != std::floor(value) || std::abs(value) > 0x1p53) {
    throw MissingArgument(std::string("the scalar ") + name + " is no integer");
  }
  return static_cast<int64_t>(value);
}

Stream Arguments::stream() const {
  return {table_->stream};
}

std::string enter(const Function& function, const ArgumentTable& table) {
  try {
    function.call(Arguments(table));
    return "";
  } catch (const MissingArgument&) {
    throw;
  } catch (const std::exception& thrown) {
    return std::string("the launcher threw an exception: ") + thrown.what();
  } catch (...) {
    return "the launcher threw an exception";
  }
}

}  // namespace onepass::worker
