// The sweep over the calls for which a launcher may launch other kernels on a GPU without clusters.
#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chapters/common/asked.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr int kWithoutClusters = 80;  // the compute capability of a GPU
constexpr std::int64_t kMostNumbers = 1 << 17, kMostNotShared = 1 << 10;
constexpr std::int64_t kVectorApart = 8;  // a whole one of every type
// Rows of which a group has several. Of all rows fewer, where that were more elements than the
// simulator has time for.
constexpr std::int64_t kSummed = 67, kSummedElements = 1 << 20, kOtherElements = 1 << 18;

/// A size, whose numbers are such as fill vectors or such as do not, and what a launcher is asked
/// of it: its doublings, and what it launches for each on the usual GPU.
struct Question {
  const Function& function;
  contract::Size size;
  Dtype dtype;
  bool is_odd;
  std::vector<std::int64_t> steps;
  std::vector<Launches> at_home;

  Asked asked() const { return {function, dtype, size.name, is_odd}; }
};

std::vector<Question> questions(const Function& function) {
  std::vector<Question> all;
  const Dtype half = kSixteenBit[session().random().bits(12) % kSixteenBit.size()];
  for (const contract::Size& size : sizes_to_try(function)) {
    for (const Dtype dtype : {Dtype::fp32, half}) {
      for (const bool is_odd : {false, true}) {
        Question& question = all.emplace_back(Question{function, size, dtype, is_odd, {}, {}});
        const Asked asked = question.asked();
        question.steps = asked.doublings(
            std::min(size.most, is_shared(function, size) ? kMostNumbers : kMostNotShared));
        for (const std::int64_t step : question.steps) {
          question.at_home.push_back(asked.launches_at(step));
        }
      }
    }
  }
  return all;
}

bool are_alike(const Launches& some, const Launches& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const wire::Launch& one, const wire::Launch& other) {
                      return one.kernel == other.kernel && one.threads == other.threads &&
                             one.shared_bytes == other.shared_bytes;
                    });
}

/// On another GPU: does the launcher launch something else for any of them?
bool launches_others(const Question& question) {
  const Asked asked = question.asked();
  asked.ask({question.steps.begin(), question.steps.end()});
  for (std::size_t i = 0; i < question.steps.size(); ++i) {
    const Launches& here = asked.launches_at(question.steps[i]);
    if (!here.empty() && !are_alike(here, question.at_home[i])) {
      return true;
    }
  }
  return false;
}

/// Each tensor that has a stride has another one, and whole vectors between its rows: so many that
/// it makes a difference to a mean which of two is divided by. without: what may be null is.
Arrangement rows_apart(const Function& function, std::int64_t number, bool without) {
  Arrangement apart;
  std::int64_t gap = 0;
  for (const contract::Tensor& tensor : function.tensors) {
    if (tensor.traits.strided) {
      apart.places[tensor.name].gap = gap += kVectorApart * (1 + number / kVectorApart / 8);
    }
    if (tensor.traits.optional && without) {
      apart.left_out.insert(tensor.name);
    }
  }
  return apart;
}

bool sums_rows(const Function& function) {
  return std::any_of(function.tensors.begin(), function.tensors.end(), [](const auto& tensor) {
    return tensor.role != contract::input && tensor.is_data() && tensor.rows == contract::Extent(1);
  });
}

/// How many there are of the others, where there is so much of that size: of rows, beside columns,
/// as many as wanted if these are few elements.
std::int64_t others_of(const contract::Size& size, std::int64_t number, std::int64_t wanted,
                       std::int64_t elements) {
  const std::int64_t fit = elements / number;
  const std::int64_t most =
      is_limited(size) ? wanted : std::min<std::int64_t>(wanted, fit > 8 ? 3 : 2);
  return std::clamp<std::int64_t>(fit, std::min<std::int64_t>(wanted, 2), most);
}

/// What has been launched so far there. Where the same is launched again, the same comes of
/// it.
class Seen {
 public:
  /// The kernels, each with its threads and with what it was given of shared memory.
  bool is_new(const Launches& launches) { return insert("", 0, launches); }
  /// The same for so much of a question's size.
  bool is_new(const Question& question, std::int64_t number, const Launches& launches) {
    return insert(question.size.name, number, launches);
  }
  /// The kernels and their clusters alone, at home too.
  bool is_new_kernel(const Launches& launches) {
    return kernels_.insert(kernels_of(launches)).second;
  }

 private:
  using Launch = std::tuple<std::string, std::uint64_t, std::uint64_t>;

  bool insert(const std::string& size, std::int64_t number, const Launches& launches) {
    std::set<Launch> all;
    for (const wire::Launch& launch : launches) {
      all.emplace(launch.kernel, launch.threads, launch.shared_bytes);
    }
    return seen_.insert({size, number, all}).second;
  }

  std::set<std::tuple<std::string, std::int64_t, std::set<Launch>>> seen_;
  std::set<std::set<std::string>> kernels_;
};

/// So much of a question's size, and of the others as many as wanted and possible.
Case call_of(const Question& question, std::int64_t number, std::int64_t others, bool without) {
  const Function& function = question.function;
  return call(function, question.dtype,
              {.sizes = with_large(function, question.size.name, number, others, kOtherWidth),
               .seed = session().random().bits(13)},
              rows_apart(function, number, without));
}

/// Each kernel has its own eps.
void check_near_zero(const Case& call, const Launches& launches, const CheckCall& check,
                     Seen& seen) {
  if (!seen.is_new_kernel(launches)) {
    return;
  }
  if (const std::optional<Case> small = near_zero(call)) {
    check(*small);
  }
}

/// On another GPU: calls on both sides of where the launcher turns to another kernel there and not
/// at home, with the doubling behind that place, and with the largest number. (An odd doubling is
/// one less than a power of two: parts of such a size may end within the last one's padding.)
void check_there(const Question& question, const CheckCall& check, Seen& seen) {
  const Asked asked = question.asked();
  const std::int64_t several = 2 * session().multiprocessors() + 3;  // come to a block again
  const auto check_with = [&](std::int64_t number, std::int64_t wanted, std::int64_t elements,
                              bool without = false) {
    if (!seen.is_new(question, number, asked.launches(number))) {
      return;
    }
    const std::int64_t others = others_of(question.size, number, wanted, elements);
    const Case there = call_of(question, number, others, without);
    check(there);
    check_near_zero(there, asked.launches(number), check, seen);
  };
  for (std::size_t i = 1; i < question.steps.size(); ++i) {
    const auto before = kernels_of(asked.launches_at(question.steps[i - 1]));
    const auto after = kernels_of(asked.launches_at(question.steps[i]));
    const bool is_as_at_home =
        before == kernels_of(question.at_home[i - 1]) && after == kernels_of(question.at_home[i]);
    if (before == after || is_as_at_home) {
      continue;
    }
    const auto [last, next] =
        ends_between(asked, question.steps[i - 1], question.steps[i], kernels_of);
    check_with(last, several, kOtherElements);
    if (sums_rows(question.function) && question.dtype == Dtype::fp32 &&
        seen.is_new(asked.launches(next))) {
      check_with(next, kSummed, kSummedElements);
    } else {
      check_with(next, 2, kOtherElements);
    }
    check_with(asked.number(question.steps[i]), 1, kOtherElements, true);
  }
  const std::int64_t most = asked.number(question.steps.back());
  const Launches& launches = asked.launches(most);
  if (!are_alike(launches, question.at_home.back()) && seen.is_new(launches)) {
    check_with(most, is_limited(question.size) ? 2 : 1, kOtherElements);
  }
}

}  // namespace

void check_without_clusters(const Function& function, const CheckCall& check) {
  if (session().device() != "cpu") {
    return;
  }
  const std::vector<Question> all = questions(function);
  Seen seen;
  for (const Question& question : all) {
    for (std::size_t i = 0; i < question.steps.size(); ++i) {
      const std::int64_t number = question.asked().number(question.steps[i]);
      const std::int64_t others = number > kMostNotShared ? 1 : 2;  // a variance is of two at least
      check_near_zero(call_of(question, number, others, false), question.at_home[i], check, seen);
    }
  }
  const verdict::Session::OtherGeneration other(session(), kWithoutClusters);
  if (std::any_of(all.begin(), all.end(), launches_others)) {
    for (const Question& question : all) {
      check_there(question, check, seen);
    }
  }
}

}  // namespace onepass::common
