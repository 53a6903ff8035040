// What follows from the description of a function: calls, bytes, the sweep.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "verdict/contract/call.h"
#include "verdict/contract/sweep.h"

using namespace onepass::verdict;
using namespace onepass::verdict::contract;

namespace {

const Function kNorm = {
    "norm",
    {{"rows", 0}, {"cols", 1, 1000}},
    {{"x", input, "rows", "cols", {.strided = true}},
     {"weight", input, 1, "cols", {.optional = true, .mean = 1.0, .scale = 0.5}},
     {"y", output, "rows", "cols", {.strided = true, .over = "x"}},
     {"rstd", output, "rows", 1, {.dtype = Dtype::fp32}},
     {"scratch",
      output,
      1,
      1,
      {.dtype = Dtype::fp32, .scratch = [](const Sizes& sizes) { return 2 * sizes.at("rows"); }}}},
    {{"eps", 1e-6}, {"order", std::int64_t{1}}}};

/// Each way as a set of choices: "x + 3", "y gap 7", "no weight", "y over", "odd".
std::set<std::string> choices(const Way& way) {
  std::set<std::string> all;
  for (const auto& [tensor, place] : way.arrangement.places) {
    if (place.offset > 0) {
      all.insert(tensor + " off");
    }
    if (place.gap > 0) {
      all.insert(tensor + (place.gap % 8 != 0 ? " odd gap" : " gap"));
    }
  }
  for (const std::string& tensor : way.arrangement.left_out) {
    all.insert("no " + tensor);
  }
  for (const std::string& tensor : way.arrangement.over) {
    all.insert(tensor + " over");
  }
  if (!way.arrangement.views.empty()) {
    all.insert("views");
  }
  const auto padded = way.arrangement.places.find("x");
  if (padded != way.arrangement.places.end() && padded->second.padded) {
    all.insert("padded rows");
  } else if (way.odd_rows || way.more > 0) {
    all.insert("odd rows");
  }
  return all;
}

const std::set<std::string> kChoices = {
    "x off",     "weight off", "y off",     "rstd off", "x gap",       "x odd gap", "y gap",
    "y odd gap", "y over",     "no weight", "odd rows", "padded rows", "views"};

/// What no call can have both of.
bool exclude(const std::string& a, const std::string& b) {
  const std::set<std::string> both = {a, b};
  const auto is = [&](const char* one, const char* other) {
    return both == std::set<std::string>{one, other};
  };
  if (both.count("padded rows") > 0 &&
      (both.count("odd rows") > 0 || (a + b).find("gap") != std::string::npos)) {
    return true;
  }
  return is("x gap", "x odd gap") || is("y gap", "y odd gap") || is("no weight", "weight off") ||
         is("y over", "y off") || is("y over", "y gap") || is("y over", "y odd gap") ||
         is("y over", "views");
}

}  // namespace

TEST_CASE("an extent is a product of sizes, and tells the one that is not known") {
  const Extent extent = "heads * head_dim / 2";
  CHECK(extent.in({{"heads", 3}, {"head_dim", 8}}) == 12);
  CHECK(extent.text() == "heads * head_dim / 2");
  Sizes sizes = {{"heads", 3}};
  extent.tell(12, sizes);
  CHECK(sizes.at("head_dim") == 8);
  Sizes neither;
  extent.tell(12, neither);
  CHECK(neither.empty());
  CHECK_THROWS_AS(extent.in(neither), std::logic_error);
  CHECK(Extent(1).in({}) == 1);
}

TEST_CASE("a call has sizes, strides and scalars in order, and sizes from its tensors") {
  const Case made = call(kNorm, Dtype::fp16,
                         {.values = {{"x", Matrix(Dtype::fp16, 3, 10)}}, .scalars = {{"eps", 0.5}}},
                         {{"x", {.gap = 2}}, {"y", {.gap = 6, .offset = 3}}});
  CHECK(made.describe() ==
        "fp16, rows 3, cols 10, x_stride 12, y_stride 16, eps 0.5, order 1, weight null, "
        "y 6 bytes past a multiple of 16");
  CHECK(made.buffer("weight").null);  // optional, and not given
  CHECK(made.buffer("y").layout.offset == 3);
  CHECK(made.buffer("rstd").dtype == Dtype::fp32);
  CHECK(made.buffer("scratch").cols == 6);
}

TEST_CASE("an input that is null may be given") {
  const Case made = call(kNorm, Dtype::fp16, {.values = {{"x", Matrix(Dtype::fp16, 3, 10)}}},
                         {{"x", {.gap = 2}}});
  const std::optional<Case> given = with_given(made, {"weight"});
  REQUIRE(given);
  CHECK_FALSE(given->buffer("weight").null);
  CHECK(given->values("weight").size() == 10);
  CHECK(given->integer("x_stride") == made.integer("x_stride"));
  CHECK_FALSE(with_given(made, {"x"}));
}

TEST_CASE("an output over its input lies as that does") {
  Arrangement arrangement = {{"x", {.gap = 2, .offset = 1}}, {"y", {.gap = 5}}};
  arrangement.over = {"y"};
  const Case made =
      call(kNorm, Dtype::fp32, {.sizes = {{"rows", 3}, {"cols", 10}}, .seed = 1}, arrangement);
  CHECK(made.place_of("y") == "x");
  CHECK(made.buffer("x").role == Role::in_place);
  CHECK(made.integer("y_stride") == 12);
  CHECK(made.buffer("weight").hash->mean == 1.0);
}

TEST_CASE("views of one matrix lie side by side, each with a stride of its own") {
  Arrangement arrangement = {{"x", {.gap = 1, .offset = 3}}, {"y", {.gap = 2, .offset = 4}}};
  arrangement.views = {{"y", 1}, {"x", 2}};
  const Arguments arguments = {.values = {{"x", Matrix(Dtype::fp32, 3, 10)}}};
  const Case made = call(kNorm, arguments, arrangement);
  CHECK(made.integer("y_stride") == 10 + 2 + 3 + 10 + 1);
  CHECK(made.integer("x_stride") == 2 * made.integer("y_stride"));
  CHECK(made.buffer("y").layout.in.empty());
  CHECK(made.buffer("y").layout.offset == 4);
  CHECK(made.buffer("x").layout.in == "y");
  CHECK(made.buffer("x").layout.offset == 10 + 2 + 3);
  CHECK(made.describe().find("x = y + 15") != std::string::npos);
  // They stay what they are in a call of another size; one over the other has no place of its own.
  const std::optional<Case> wider = resized(made, {{"cols", 20}}, 1000);
  REQUIRE(wider);
  CHECK(wider->integer("y_stride") == 20 + 5 + 20 + 1);
  CHECK(wider->integer("x_stride") == 2 * wider->integer("y_stride"));
  CHECK(wider->buffer("x").layout.offset == 25);
  CHECK(wider->buffer("y").layout.offset == 4);
  arrangement.over = {"y"};
  const Case over = call(kNorm, arguments, arrangement);
  CHECK(over.buffer("x").layout.in.empty());
  CHECK(over.integer("x_stride") == over.integer("y_stride"));
}

TEST_CASE("with none of a size the call says 0, and what it would change is an input") {
  Arrangement arrangement;
  arrangement.over = {"y"};
  Arguments arguments = {.sizes = {{"rows", 3}, {"cols", 10}}, .seed = 1, .none = "rows"};
  const Case made = call(kNorm, Dtype::fp32, arguments, arrangement);
  CHECK(made.integer("rows") == 0);
  CHECK(made.buffer("x").rows == 3);
  CHECK(made.buffer("x").role == Role::input);
  CHECK(made.buffer("scratch").cols == 1);
}

TEST_CASE("arguments that do not fit are refused") {
  CHECK_THROWS_AS(call(kNorm, Dtype::fp32, {.sizes = {{"rows", 3}, {"cols", 10}}}),
                  std::logic_error);
  CHECK_THROWS_AS(
      call(kNorm, Dtype::fp32,
           {.values = {{"x", Matrix(Dtype::fp32, 3, 10)}, {"weight", Matrix(Dtype::fp32, 1, 9)}}}),
      std::logic_error);
}

TEST_CASE("the least bytes: inputs and outputs once, scratch not at all") {
  CHECK(least_bytes(kNorm, Dtype::fp16, {{"rows", 3}, {"cols", 10}}) ==
        2 * 3 * 10 * 2 + 10 * 2 + 3 * 4);
}

TEST_CASE("the sweep has each way alone, in each of its offsets") {
  const std::vector<Way> ways = sweep(kNorm, Dtype::fp16, Random(1));
  CHECK(choices(ways.front()).empty());
  for (const std::string& choice : kChoices) {
    CAPTURE(choice);
    CHECK(std::count_if(ways.begin(), ways.end(), [&](const Way& way) {
            return choices(way) == std::set<std::string>{choice};
          }) >= 1);
  }
  for (std::int64_t offset = 1; offset < 8; ++offset) {
    CHECK(std::any_of(ways.begin(), ways.end(), [&](const Way& way) {
      return choices(way).size() == 1 && way.arrangement.places.count("y") == 1 &&
             way.arrangement.places.at("y").offset == offset;
    }));
  }
}

TEST_CASE("in the sweep every two ways meet, and none that exclude each other") {
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    for (Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
      std::set<std::pair<std::string, std::string>> met;
      const std::vector<Way> ways = sweep(kNorm, dtype, Random(seed));
      for (const Way& way : ways) {
        const std::set<std::string> of_way = choices(way);
        for (const std::string& a : of_way) {
          for (const std::string& b : of_way) {
            CHECK((a == b || !exclude(a, b)));
            met.emplace(a, b);
          }
        }
      }
      for (const std::string& a : kChoices) {
        for (const std::string& b : kChoices) {
          CAPTURE(a);
          CAPTURE(b);
          CHECK((exclude(a, b) || met.count({a, b}) == 1));
        }
      }
      CHECK(ways.size() < (dtype == Dtype::fp32 ? 56 : 62));
    }
  }
}

TEST_CASE(
    "rows are longer than whole vectors by each number, off a boundary by an even one and odd") {
  std::set<std::pair<std::int64_t, bool>> seen;
  for (const Way& way : sweep(kNorm, Dtype::fp16, Random(1))) {
    if (way.more > 0) {
      const std::int64_t offset = way.arrangement.places.at("x").offset;
      CHECK(way.arrangement.places.at("weight").offset == offset);
      CHECK(way.row(64, 61) == 64 + way.more);
      seen.emplace(way.more, offset % 2 == 1);
    }
  }
  CHECK(seen.size() == 2 * 7);
}

TEST_CASE("two tensors are off a boundary by as many bytes, each two of few, and no third one") {
  for (Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    std::set<std::set<std::string>> pairs;
    std::set<std::int64_t> distances;
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      for (const Arrangement& pair : pairs_off_boundaries(kNorm, dtype, Random(seed))) {
        std::set<std::string> names;
        std::set<std::int64_t> bytes;
        for (const auto& [tensor, place] : pair.places) {
          names.insert(tensor);
          bytes.insert(place.offset *
                       static_cast<std::int64_t>(size_of(kNorm.find(tensor)->dtype_in(dtype))));
        }
        CHECK(names.size() == 2);
        CHECK(bytes.size() == 1);
        pairs.insert(names);
        distances.merge(bytes);
      }
    }
    CHECK(pairs.size() == 6);  // of x, weight, y and rstd
    CHECK(distances == std::set<std::int64_t>{4, 8});
  }
}

TEST_CASE("among the sweep's ways are those in which all tensors are alike") {
  const auto is_off = [](const auto& named) { return named.second.offset == 1; };
  const auto all_off = [&](const Way& way) {
    const auto& places = way.arrangement.places;
    return places.size() > 2 && std::all_of(places.begin(), places.end(), is_off);
  };
  const std::vector<Way> ways = sweep(kNorm, Dtype::fp32, Random(1));
  CHECK(std::any_of(ways.begin(), ways.end(), all_off));
  CHECK(std::any_of(ways.begin(), ways.end(), [](const Way& way) {
    const auto& places = way.arrangement.places;
    return places.size() > 2 && std::all_of(places.begin(), places.end(), [](const auto& named) {
             return named.second.offset == 4;
           });
  }));
  const std::vector<Way> wide = sweep_wide(kNorm, Dtype::fp32, Random(1), 4096);
  CHECK(std::any_of(wide.begin(), wide.end(), all_off));
  CHECK(std::any_of(wide.begin(), wide.end(), [&](const Way& way) {
    return all_off(way) && !way.arrangement.left_out.empty();
  }));
  CHECK(wide.size() < 7);
}

TEST_CASE("widths past ends: of each octave its first, and one that is drawn") {
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    const std::vector<std::int64_t> past = widths_past_ends(5000, Random(seed));
    CHECK(std::count(past.begin(), past.end(), 1025) == 1);
    CHECK(std::count(past.begin(), past.end(), 2001) == 1);  // of 1000, the only one there
    CHECK(std::count(past.begin(), past.end(), 4097) == 1);
    for (const std::int64_t width : past) {
      CHECK(((width - 1) % 1000 == 0 || (width - 1) % 1024 == 0));
      CHECK(width <= 5000);
    }
  }
}

TEST_CASE("drawn sizes: of any two, either alone fills vectors in some shape") {
  for (std::uint64_t a = 0; a < 5; ++a) {
    for (std::uint64_t b = 0; b < 5; ++b) {
      bool only_a = a == b;
      for (std::uint64_t shape = 0; shape < 10; ++shape) {
        const auto fills = [&](std::uint64_t size) {
          const std::int64_t drawn = drawn_size(Random(shape), shape, size, 9);
          CHECK((3 <= drawn && drawn <= 9 && (drawn % 8 == 0 || drawn % 2 == 1)));
          return drawn % 8 == 0;
        };
        only_a = (fills(a) && !fills(b)) || only_a;
      }
      CHECK(only_a);
    }
  }
}

TEST_CASE("the sweep is the same for the same seed") {
  const auto all = [](std::uint64_t seed) {
    std::vector<std::int64_t> offsets;
    for (const Way& way : sweep(kNorm, Dtype::fp16, Random(seed))) {
      for (const auto& [tensor, place] : way.arrangement.places) {
        offsets.push_back(place.offset);
      }
    }
    return offsets;
  };
  CHECK(all(1) == all(1));
  CHECK(all(1) != all(2));
}

TEST_CASE("widths stand around the ends of vectors, warps and blocks") {
  CHECK(widths(2, 9) == std::vector<std::int64_t>{2, 3, 4, 5, 7, 8, 9});
  CHECK(widths(255, 2000) ==
        std::vector<std::int64_t>{255, 256, 257, 511, 512, 513, 1023, 1024, 1025});
  CHECK(some_widths(1, 33) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33});
}

TEST_CASE("the widest is what the header promises, where that is an end") {
  CHECK(widest(kNorm, "cols") == std::vector<std::int64_t>{1000});
  CHECK(widest(kNorm, "rows").empty());
}

TEST_CASE("padded rows each start with a vector of 16 bytes") {
  const Case made = call(kNorm, Dtype::fp16, {.sizes = {{"rows", 2}, {"cols", 61}}, .seed = 1},
                         {{"x", {.offset = 1, .padded = true}}});
  CHECK(made.integer("x_stride") == 64);
}

TEST_CASE("one element off: inputs and their rows begin at odd elements, with the same numbers") {
  const Matrix x = matrix_of(Dtype::fp16, 2, 61, [](auto row, auto col) { return row - col; });
  const Matrix weight = matrix_of(Dtype::fp16, 1, 61, [](auto, auto col) { return col; });
  const Case made = call(kNorm, {.values = {{"x", x}, {"weight", weight}}});
  const std::optional<Case> off = one_element_off(made);
  REQUIRE(off.has_value());
  CHECK(off->buffer("x").layout.offset == 1);
  CHECK(off->buffer("weight").layout.offset == 1);
  CHECK(off->integer("x_stride") == 62);
  CHECK(off->values("x").bytes() == x.bytes());
  CHECK_FALSE(one_element_off(*off).has_value());
}

TEST_CASE("one tensor aligned: the others stay where they are") {
  const Matrix x = matrix_of(Dtype::fp16, 2, 61, [](auto row, auto col) { return row - col; });
  const Case made = call(kNorm, {.values = {{"x", x}, {"weight", Matrix(Dtype::fp16, 1, 61)}}},
                         {{"x", {.offset = 3}}, {"weight", {.offset = 1}}});
  const std::optional<Case> other = aligned(made, "x");
  REQUIRE(other.has_value());
  CHECK(other->buffer("x").layout.offset == 0);
  CHECK(other->integer("x_stride") == 64);
  CHECK(other->buffer("weight").layout.offset == 1);
  CHECK_FALSE(aligned(*other, "x"));
  CHECK(aligned(*other, "weight"));
}

TEST_CASE("another number for a scalar") {
  const Case made = call(kNorm, Dtype::fp32, {.sizes = {{"rows", 2}, {"cols", 8}}, .seed = 1});
  CHECK_FALSE(with_scalar(made, "eps", 0.0));  // hash filled
  const Case other = *with_scalar(*resized(made, {}, 1 << 10), "eps", 0.0);
  CHECK(other.real("eps") == 0.0);
  CHECK(other.integer("order") == 1);
}

TEST_CASE("a size that is a part of another: all of it as before, or at most that") {
  const Function turned = {"turned",
                           {{"rows", 0}, {"width", 2, 100, 2}, {"part", 2, 100, 2, "width"}},
                           {{"x", in_place, "rows", "width"}, {"cos", input, 1, "part"}}};
  const auto resized_from = [&](std::int64_t part, std::int64_t width) {
    const Case made =
        call(turned,
             {.values = {{"x", Matrix(Dtype::fp16, 2, 8)}, {"cos", Matrix(Dtype::fp16, 1, part)}}});
    CHECK(with_parts(made, "width") == (part == 8 ? "width = part" : "width"));
    return resized(made, {{"width", width}}, 1000)->integer("part");
  };
  CHECK(resized_from(8, 20) == 20);
  CHECK(resized_from(6, 20) == 6);
  CHECK(resized_from(6, 4) == 4);
  CHECK(turned.size("width").nearest(7) == 8);
  CHECK(turned.size("part").nearest(1000) == 100);
}

TEST_CASE("a call whose rows are spread has too few of them to be changed") {
  const Case near = call(kNorm, Dtype::fp32, {.sizes = {{"rows", 4}, {"cols", 8}}, .seed = 1});
  const Case values = *resized(near, {}, 1 << 10);
  CHECK(in_dtype(values, Dtype::bf16));
  CHECK(one_element_off(values));
  const Case far = spread(values, "rows", 1'000'000'000);
  CHECK_FALSE(in_dtype(far, Dtype::bf16));
  CHECK_FALSE(one_element_off(far));
  CHECK_FALSE(with_gaps(far, 0));
  CHECK_FALSE(resized(far, {{"rows", 2}}, 1 << 10));
}

TEST_CASE("far apart: each stride alone, the third row beyond 2^31, and the second") {
  const std::vector<Arrangement> arrangements = far_apart(kNorm);
  REQUIRE(arrangements.size() == 4);
  for (std::size_t i = 0; i < arrangements.size(); ++i) {
    REQUIRE(arrangements[i].places.size() == 1);
    const std::int64_t rows = i < 2 ? 2 : 1;
    CHECK(rows * arrangements[i].places.begin()->second.gap >= std::int64_t{1} << 31);
  }
}

TEST_CASE("beyond ints: of some tensors each stride alone, or of all at once, no two alike") {
  REQUIRE(beyond_vectors(kNorm, true, {"x", "weight"}).size() == 1);
  CHECK(beyond_vectors(kNorm, true, {"x"})[0].places.count("x") == 1);
  CHECK(beyond_ints(kNorm, false).size() == 2);
  const std::vector<Arrangement> at_once = beyond_ints(kNorm, true, {"x"});
  REQUIRE(at_once.size() == 1);
  std::set<std::int64_t> gaps;
  for (const auto& [tensor, place] : at_once[0].places) {
    CHECK(place.gap >= std::int64_t{1} << 31);
    gaps.insert(place.gap);
  }
  CHECK(gaps.size() == 2);
}

TEST_CASE(
    "a hollow call has the room of its sizes, and numbers at the ends of what is large only") {
  constexpr std::int64_t kRows = 1'000'000;
  const Case call = hollow(kNorm, Dtype::fp16, {{"rows", kRows}, {"cols", 1000}}, 7);
  CHECK(call.integer("rows") == kRows);
  CHECK(call.integer("x_stride") == 1000);
  CHECK(call.buffer("x").rows * call.buffer("x").cols == 2);
  CHECK(call.buffer("weight").cols == 1000);
  CHECK(call.span_bytes() == kRows * (2 * 1000 * 2 + 4 + 2 * 4) + 1000 * 2);
  CHECK_FALSE(resized(call, {{"rows", 2}}, 1 << 10));
}
