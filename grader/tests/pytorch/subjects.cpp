// What is compared with PyTorch, over all chapters.
#include "tests/pytorch/subjects.h"

#include <array>

namespace onepass::agreement {
namespace {

using verdict::Dtype;

constexpr std::array kDtypes = {Dtype::fp32, Dtype::fp16, Dtype::bf16};

}  // namespace

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> joined;
    for (const auto& chapter :
         {rmsnorm_subjects(), layernorm_subjects(), rope_subjects(), batchnorm_subjects()}) {
      joined.insert(joined.end(), chapter.begin(), chapter.end());
    }
    return joined;
  }();
  return all;
}

std::int64_t Plan::size() const {
  return static_cast<std::int64_t>(subjects().size() * kDtypes.size()) * each;
}

const Subject& Plan::subject(std::int64_t number) const {
  const auto dtypes = static_cast<std::int64_t>(kDtypes.size());
  return subjects().at(static_cast<std::size_t>(number / (dtypes * each)));
}

verdict::Case Plan::draw(std::int64_t number) const {
  const Subject& drawn = subject(number);
  const auto dtype = static_cast<std::size_t>(number / each) % kDtypes.size();
  const verdict::Random random = verdict::Random(seed).stream(drawn.exercise);
  return drawn.draw(verdict::Random(random.bits(static_cast<std::uint64_t>(number))),
                    kDtypes.at(dtype));
}

}  // namespace onepass::agreement
