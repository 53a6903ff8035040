// The sweeps over sizes at which a launcher turns to another kernel: nobody can list them, for they
// are the launcher's own. So it is asked, at more sizes than could be calculated with.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chapters/common/asked.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;
using Launch = onepass::wire::Launch;

namespace {

constexpr std::int64_t kMostInRows = 1024;  // many have checks of their own
// Doublings of a size of which some numbers are tried, one in each of so many cells.
constexpr std::int64_t kFirstOctave = 64, kCells = 8;
// Widths of models, for which a launcher may have a kernel: multiples of 64, 256 and 1000 among
// them.
constexpr std::int64_t kPopular[] = {
    64,   80,   96,   128,  192,  256,  320,   384,   512,   640,   768,   896,   960,  1000,
    1024, 1280, 1536, 1600, 1792, 2000, 2048,  2304,  2560,  3072,  3584,  4000,  4096, 4608,
    5000, 5120, 6144, 7168, 8192, 9216, 10000, 10240, 11008, 12288, 13824, 14336, 16384};
// In wider calls than these a kernel for narrow ones has nothing to do.
constexpr std::int64_t kMostNarrow = 1024;
constexpr std::int64_t kMostOfMany = 8192;  // narrow rows, or the like

std::set<std::pair<std::string, std::uint64_t>> with_threads(const Launches& launches) {
  std::set<std::pair<std::string, std::uint64_t>> kernels;
  for (const Launch& launch : launches) {
    kernels.emplace(launch.kernel, launch.threads);
  }
  return kernels;
}

/// Sizes from 1 to `most` at which the launcher turns to another kernel, or gives it other threads:
/// the last before and the first after, of the first such place in each doubling. Nothing on a GPU,
/// which does not tell its kernels.
std::vector<std::int64_t> ends_in_doublings(const Asked& asked, std::int64_t most) {
  std::vector<std::int64_t> ends;
  const std::vector<std::int64_t> steps = asked.doublings(most);
  for (std::size_t i = 1; session().device() == "cpu" && i < steps.size(); ++i) {
    if (with_threads(asked.launches_at(steps[i - 1])) !=
        with_threads(asked.launches_at(steps[i]))) {
      const auto [before, after] = ends_between(asked, steps[i - 1], steps[i], with_threads);
      ends.insert(ends.end(), {before, after});
    }
  }
  return ends;
}

/// Steps at which the launcher is asked besides: some of each doubling, drawn from the seed; and
/// what many models have, with the steps on both sides.
std::set<std::int64_t> steps_to_try(const Asked& asked, bool is_odd, std::int64_t most) {
  std::set<std::int64_t> steps;
  const verdict::Random draw = session().random().stream("steps");
  for (std::int64_t octave = kFirstOctave; 2 * octave <= most; octave *= 2) {
    const std::int64_t cells = is_odd ? kCells / 2 : kCells;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const std::int64_t begin = octave + octave * cell / cells;
      steps.insert(asked.step(draw.integer(static_cast<std::uint64_t>(octave + cell), begin,
                                           begin + octave / cells - 1)));
    }
  }
  for (const std::int64_t popular : kPopular) {
    const std::int64_t step = asked.step(popular);
    if (!is_odd && asked.number(step) == popular && asked.number(step + 1) <= most) {
      steps.insert({step - 1, step, step + 1});
    }
  }
  steps.erase(0);
  return steps;
}

/// Has the middle one of three launches of one kernel more of something than the others, or less?
bool sticks_out(const Launches& before, const Launches& launches, const Launches& after) {
  const auto most = [](const Launches& all, std::uint64_t Launch::*what) {
    std::uint64_t value = 0;
    for (const Launch& launch : all) {
      value = std::max(value, launch.*what);
    }
    return value;
  };
  const auto between = [&](std::uint64_t Launch::*what) {
    const auto [least, largest] = std::minmax({most(before, what), most(after, what)});
    return least <= most(launches, what) && most(launches, what) <= largest;
  };
  return !between(&Launch::threads) || !between(&Launch::shared_bytes);
}

/// Likewise where it turns to another kernel between any two of steps_to_try(), as for a band of
/// sizes; and where it gives the same one other threads, or other shared memory, than on both
/// sides.
std::vector<std::int64_t> ends_at_steps(const Asked& asked, bool is_odd, std::int64_t most) {
  std::vector<std::int64_t> ends;
  const std::set<std::int64_t> tried = steps_to_try(asked, is_odd, most);
  asked.ask(tried);
  const std::vector<std::int64_t> steps(tried.begin(), tried.end());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const Launches& before = asked.launches_at(steps[i - 1]);
    const Launches& launches = asked.launches_at(steps[i]);
    if (kernels_of(before) != kernels_of(launches)) {
      const auto [last, next] = ends_between(asked, steps[i - 1], steps[i], kernels_of);
      ends.insert(ends.end(), {last, next});
    } else if (i + 1 < steps.size()) {
      const Launches& after = asked.launches_at(steps[i + 1]);
      if (kernels_of(launches) == kernels_of(after) && sticks_out(before, launches, after)) {
        ends.push_back(asked.number(steps[i]));
      }
    }
  }
  return ends;
}

/// Sizes that fill a part of a vector, for which the launcher has a kernel that it has neither for
/// whole ones nor for odd ones.
std::vector<std::int64_t> between_vectors(const Asked& asked, std::int64_t most) {
  std::vector<std::int64_t> sizes;
  const verdict::Random draw = session().random().stream("between");
  for (std::int64_t octave = kFirstOctave; 2 * octave <= most; octave *= 4) {
    const std::int64_t whole =
        octave + 16 * draw.integer(static_cast<std::uint64_t>(octave), 0, octave / 16 - 1);
    for (const std::int64_t part : {2, 4}) {
      const auto kernels = kernels_of(asked.launches(whole + part));
      if (kernels != kernels_of(asked.launches(whole)) &&
          kernels != kernels_of(asked.launches(whole + 1))) {
        sizes.push_back(whole + part);
      }
    }
  }
  return sizes;
}

std::set<std::int64_t> ends_of_kernels(const Function& function, Dtype dtype,
                                       const std::string& size, bool is_odd, std::int64_t most) {
  const Asked asked(function, dtype, size, is_odd);
  std::set<std::int64_t> ends;
  const auto add = [&](const std::vector<std::int64_t>& more) {
    ends.insert(more.begin(), more.end());
  };
  add(ends_in_doublings(asked, most));
  if (session().device() == "cpu") {
    add(ends_at_steps(asked, is_odd, most));
    add(is_odd ? between_vectors(asked, most) : std::vector<std::int64_t>());
  }
  return ends;
}

/// Numbers of which each fills packs of so many, for which there may be kernels, but no larger
/// ones; a quarter of a size at most: who takes the part for the size chooses another kernel.
std::set<std::int64_t> small_parts(std::int64_t whole) {
  const verdict::Random draw = session().random().stream("part");
  std::set<std::int64_t> parts;
  for (const std::int64_t pack : {4, 8, 16}) {
    const std::int64_t most = whole / 4 / pack;
    const auto number = static_cast<std::uint64_t>(whole * 32 + pack);
    parts.insert(most == 0 ? 2 : pack * (2 * draw.integer(number, 0, (most - 1) / 2) + 1));
  }
  return parts;
}

void look_at_ends(const Function& function, const contract::Size& size,
                  const std::vector<bool>& odd, const LookAtEnd& look) {
  const Dtype half = kSixteenBit[session().random().bits(10) % kSixteenBit.size()];
  for (const Dtype dtype : {Dtype::fp32, half}) {
    for (const bool is_odd : odd) {
      for (const std::int64_t end :
           ends_of_kernels(function, dtype, size.name, is_odd, size.most)) {
        if (end >= size.least) {
          look(dtype, others_at_end(end), end);
        }
      }
    }
  }
}

}  // namespace

void for_ends_of_kernels(const Function& function, const contract::Size& size,
                         const LookAtEnd& look) {
  look_at_ends(function, size, {false, true}, look);
}

void for_ends_of_vectors(const Function& function, const contract::Size& size,
                         const LookAtEnd& look) {
  look_at_ends(function, size, {false}, look);
}

void check_ends_of_kernels(const Function& function, const CheckCall& check, std::int64_t most) {
  const auto check_sizes = [&](Dtype dtype, const contract::Sizes& sizes) {
    check(call(function, dtype, {.sizes = sizes, .seed = session().random().bits(11)}));
  };
  for (const contract::Size& size : sizes_to_try(function)) {
    const std::int64_t most_of_it = is_shared(function, size) ? most : kMostInRows;
    for_ends_of_kernels(function, {size.name, 1, std::min(size.most, most_of_it)},
                        [&](Dtype dtype, std::int64_t, std::int64_t end) {
                          contract::Sizes sizes = sizes_at_end(function, size.name, end);
                          check_sizes(dtype, sizes);
                          for (const contract::Size& part : function.sizes) {
                            if (part.part_of != size.name) {
                              continue;
                            }
                            for (const std::int64_t number : small_parts(end)) {
                              sizes[part.name] = number;
                              check_sizes(dtype, sizes);
                            }
                          }
                        });
  }
}

void for_kernels_of_many(const Function& function, const std::string& size,
                         const contract::Sizes& others,
                         const std::function<void(Dtype dtype, std::int64_t number)>& look) {
  if (session().device() != "cpu") {
    return;
  }
  const verdict::Random draw = session().random().stream("kernels of many");
  for (const Dtype dtype : {Dtype::fp32, kSixteenBit[draw.bits(0) % kSixteenBit.size()]}) {
    const auto call = [&](std::int64_t number) {
      contract::Sizes sizes = others;
      sizes[size] = number;
      return contract::hollow(function, dtype, sizes, draw.bits(1));
    };
    std::vector<Case> doublings;
    for (std::int64_t number = 2; number <= kMostOfMany; number *= 2) {
      doublings.push_back(call(number));
    }
    session().ask(doublings);
    const auto kernels = [&](std::int64_t number) {
      return kernels_of(session().launches_of(call(number)));
    };
    for (std::int64_t number = 2; 2 * number <= kMostOfMany; number *= 2) {
      if (kernels(number) != kernels(2 * number)) {
        look(dtype, end_between(number, 2 * number, kernels).second);
      }
    }
  }
}

void check_each_kernel_not_finite(const Function& function, const std::string& size,
                                  const std::function<Case(std::int64_t number)>& call_of,
                                  const verdict::Outputs& outputs, const CheckOutputs& check) {
  for (const bool is_odd : {false, true}) {
    const std::vector<std::int64_t> ends =
        ends_in_doublings(Asked(function, Dtype::fp16, size, is_odd), kMostNarrow);
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      check_one_not_finite(call_of(ends[i]), outputs, check);
    }
  }
}

}  // namespace onepass::common
