// How libFuzzer changes a message: as bytes, or a value of its JSON, which stays JSON then.
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using nlohmann::json;

void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  if (value.is_structured()) {
    for (json& part : value) {
      collect(part, all);
    }
  }
}

json extreme_number(std::mt19937& random) {
  const std::vector<json> numbers = {0,         1,         -1,         2,         31,
                                     32,        33,        INT32_MAX,  INT32_MIN, UINT32_MAX,
                                     INT64_MAX, INT64_MIN, UINT64_MAX, 1e308,     -1e308,
                                     5e-324,    0.5,       1ll << 52,  1ll << 40, -0.0};
  return numbers[random() % numbers.size()];
}

void change(json& value, const json& other, std::mt19937& random) {
  switch (random() % 6) {
    case 0:
      value = other;
      break;
    case 1:
      value = extreme_number(random);
      break;
    case 2:
      if (value.is_array() && !value.empty()) {
        value.erase(random() % value.size());
      }
      break;
    case 3:
      if (value.is_array()) {
        value.push_back(value.empty() ? other : value[random() % value.size()]);
      }
      break;
    case 4:
      if (value.is_boolean()) {
        value = !value.get<bool>();
      } else if (value.is_number_integer()) {
        value = value.get<std::int64_t>() / 2 + static_cast<std::int64_t>(random() % 5);
      }
      break;
    default:
      if (value.is_string()) {
        std::string text = value.get<std::string>();
        text.resize(text.size() + 8);
        const std::size_t size = LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()),
                                                  text.size() - 8, text.size());
        text.resize(size);
        value = text;
      }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::string_view blobs(reinterpret_cast<const char*>(data), size);
  json body = json::parse(onepass::fuzz::take_until('\0', blobs), nullptr, false);
  if (body.is_discarded() || random() % 8 == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
    std::vector<json*> all;
    collect(body, all);
    const json other = *all[random() % all.size()];
    change(*all[random() % all.size()], other, random);
  }
  std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace) + '\0';
  text += blobs;
  if (text.size() > most) {
    return LLVMFuzzerMutate(data, size, most);
  }
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
