// The files through which cases go to torch_outputs.py and outputs come back. A folder holds
//
//   cases.json    {"seed", "each", "cases": [{"exercise", "dtype", "scalars": {name: number},
//                 "outputs": [name], "tensors": [{"name", "dtype", "rows", "cols", "stride",
//                 "offset", "at"}]}]}
//   inputs.bin    the tensors' elements, dense, each tensor from byte "at" on. stride and offset
//                 (elements) are where it is to lie on the device
//   outputs.json  {"torch", "cuda", "device", "date", "outputs": [{"case", "output", "by",
//                 "computed_in", "dtype", "rows", "cols", "at"}]}
//   outputs.bin   likewise; dtype is fp64, or that of the output
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "tests/pytorch/subjects.h"
#include "verdict/values/field.h"
#include "verdict/values/matrix.h"

namespace onepass::agreement {

/// A folder, or a file in it, that cannot be used as it is.
struct BadExchange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Draws the cases and writes cases.json and inputs.bin.
void write_cases(const Plan& plan, const std::filesystem::path& folder);

/// An output as PyTorch has it.
struct Computed {
  std::string by;           // the operator
  std::string computed_in;  // "fp64", or the type that it was computed in
  std::variant<verdict::Field, verdict::Matrix> values;  // Field if fp64
};

/// What was computed, by what.
struct About {
  std::string torch, cuda, device, date;

  bool operator==(const About&) const = default;
};

/// The outputs of a folder.
class Outputs {
 public:
  /// Reads cases.json and outputs.json. Throws BadExchange.
  explicit Outputs(const std::filesystem::path& folder);

  const Plan& plan() const { return plan_; }
  const About& about() const { return about_; }
  /// Of one case and one output of it. Throws BadExchange if outputs.bin ends before.
  std::vector<Computed> computed(std::int64_t number, const std::string& output) const;

 private:
  struct Record {
    std::string by, computed_in, dtype;
    std::int64_t rows = 0, cols = 0, at = 0;
  };
  std::vector<std::byte> bytes_of(const Record& record, std::int64_t element_bytes) const;

  std::filesystem::path file_;
  Plan plan_;
  About about_;
  std::map<std::pair<std::int64_t, std::string>, std::vector<Record>> records_;
};

}  // namespace onepass::agreement
