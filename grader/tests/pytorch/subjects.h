// What is compared with PyTorch: of each exercise, calls drawn at random, and what their outputs
// must be. The calls, references and bounds are those of the chapters' own checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/session/session.h"
#include "verdict/values/random.h"

namespace onepass::agreement {

struct Subject {
  std::string exercise;  // "rmsnorm/forward", or with a variant "rmsnorm/backward, llama"
  verdict::Case (*draw)(const verdict::Random& random, verdict::Dtype dtype);
  std::vector<verdict::Expectation> (*expected)(const verdict::Case& call);
};

std::vector<Subject> rmsnorm_subjects();
std::vector<Subject> layernorm_subjects();
std::vector<Subject> rope_subjects();
std::vector<Subject> batchnorm_subjects();

/// Every exercise of the workbook.
const std::vector<Subject>& subjects();

/// The cases of a seed: `each` of every exercise in every dtype, numbered from 0.
struct Plan {
  std::uint64_t seed = 1;
  std::int64_t each = 1;

  std::int64_t size() const;
  const Subject& subject(std::int64_t number) const;
  verdict::Case draw(std::int64_t number) const;
};

}  // namespace onepass::agreement
