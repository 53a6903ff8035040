// The JSON of each struct that crosses between two processes: refused, or the same when it is
// written again.
#include <optional>

#include "tests/fuzz/target.h"
#include "verdict/measure/statistics.h"
#include "wire/json.h"

namespace onepass::fuzz {
namespace {

using nlohmann::json;
using namespace wire;

template <typename T>
std::optional<T> read_as(const json& value) {
  try {
    return read<T>(value);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

template <typename... Ts>
void read_each(const json& value) {
  (read_as<Ts>(value), ...);
}

}  // namespace

void try_input(std::string_view input) {
  const json value = json::parse(input, nullptr, false);
  if (value.is_discarded()) {
    return;
  }
  read_each<Call, SampleOrder, FetchOrder, DeviceFacts, Ending, Ran, std::vector<FetchedBuffer>,
            int>(value);
  if (const auto sampled = read_as<Sampled>(value)) {
    verdict::statistics_of(sampled->ms);
  }
}

}  // namespace onepass::fuzz
