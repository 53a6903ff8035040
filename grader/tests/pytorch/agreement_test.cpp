// The judge of the comparison with PyTorch, with outputs made from the references in PyTorch's
// place: right ones agree, and each way to be wrong is told. And the docs quote the data.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "process/process.h"
#include "tests/pytorch/agreement.h"

namespace {

using namespace onepass::agreement;
using nlohmann::json;
using onepass::verdict::Expectation;
using onepass::verdict::Matrix;
namespace fs = std::filesystem;

const fs::path kSource = ONEPASS_SOURCE_DIR;

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(ONEPASS_BINARY_DIR) / "agreement_test" / name;
  fs::remove_all(folder);
  return folder;
}

/// An output as it is about to be written. Spoilers change it.
struct Output {
  std::string exercise, dtype, computed_in;
  Expectation expected;     // value: what is written
  std::int64_t number = 0;  // of the case
  bool first = false;       // of its kind, the one that spoilers spoil
  bool left_out = false;
};
using Spoil = std::function<void(Output&)>;

const Spoil kRight = [](Output&) {};

/// Writes outputs.json and outputs.bin as torch_outputs.py would if PyTorch were the references.
void write_outputs(const Plan& plan, const fs::path& folder, const Spoil& spoil) {
  std::ofstream blobs(folder / "outputs.bin", std::ios::binary);
  json records = json::array();
  const auto write = [&](Output output, const std::string& dtype, const std::string& bytes) {
    records.push_back({{"case", output.number},
                       {"output", output.expected.output},
                       {"by", "reference"},
                       {"computed_in", output.computed_in},
                       {"dtype", dtype},
                       {"rows", output.expected.value.rows},
                       {"cols", output.expected.value.cols},
                       {"at", static_cast<std::int64_t>(blobs.tellp())}});
    blobs.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  };
  for (std::int64_t number = 0; number < plan.size(); ++number) {
    const onepass::verdict::Case call = plan.draw(number);
    const std::string dtype = call.dtype_name();
    for (const Expectation& expected : plan.subject(number).expected(call)) {
      for (const std::string& computed_in : {std::string("fp64"), dtype}) {
        Output output{plan.subject(number).exercise, dtype, computed_in, expected, number};
        output.first = number % plan.each == 0;
        spoil(output);
        if (output.left_out) continue;
        const std::vector<double>& values = output.expected.value.values;
        if (computed_in == "fp64") {
          write(output, "fp64",
                {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
        } else {
          const auto own = call.buffer(expected.output).dtype;
          const Matrix rounded = Matrix::rounded(own, output.expected.value);
          write(output, onepass::verdict::name(own),
                {reinterpret_cast<const char*>(rounded.bytes().data()), rounded.bytes().size()});
        }
      }
    }
  }
  std::ofstream(folder / "outputs.json") << json{{"torch", "0.0"},
                                                 {"cuda", "none"},
                                                 {"device", "references"},
                                                 {"date", "2000-01-01"},
                                                 {"outputs", records}};
}

fs::path exchanged(const std::string& name, const Spoil& spoil, Plan plan = {7, 1}) {
  const fs::path folder = fresh_folder(name);
  write_cases(plan, folder);
  write_outputs(plan, folder, spoil);
  return folder;
}

std::vector<std::string> judged(const std::string& name, const Spoil& spoil) {
  return disagreements(judge({exchanged(name, spoil)}));
}

/// Spoils one output of one exercise in one dtype: its middle element.
Spoil in_the_middle(const std::string& exercise, const std::string& output,
                    const std::string& computed_in,
                    const std::function<double(double value, double bound)>& change) {
  return [=](Output& one) {
    if (one.exercise == exercise && one.expected.output == output &&
        one.computed_in == computed_in && one.dtype == "fp16") {
      const std::size_t middle = one.expected.value.values.size() / 2;
      double& value = one.expected.value.values[middle];
      value = change(value, one.expected.bound.values[middle]);
    }
  };
}

double ten_bounds_off(double value, double bound) {
  return value + 10.0 * bound;
}

double not_a_number(double, double) {
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

TEST_CASE("every exercise of the workbook is compared") {
  std::set<std::string> exercises, compared;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "solutions")) {
    if (entry.path().extension() == ".cu") {
      const std::string chapter = entry.path().parent_path().filename().string().substr(3);
      exercises.insert(chapter + "/" + entry.path().stem().string());
    }
  }
  for (const Subject& subject : subjects()) {
    compared.insert(subject.exercise.substr(0, subject.exercise.find(',')));
  }
  // Their references are those of the plain exercises.
  compared.insert({"rmsnorm/wide_rows", "rmsnorm/backward_fast", "layernorm/forward_fast",
                   "layernorm/backward_fast", "rope/fast", "batchnorm/forward_fast"});
  CHECK(exercises.size() == 21);
  CHECK(compared == exercises);
}

TEST_CASE("write: all exercises in all dtypes, each tensor where the index says") {
  const Plan plan{3, 2};
  const fs::path folder = fresh_folder("write");
  write_cases(plan, folder);
  const json index = json::parse(read_file(folder / "cases.json"));
  const std::string inputs = read_file(folder / "inputs.bin");
  std::map<std::string, int> drawn;
  std::set<std::string> shapes;
  std::size_t end = 0;
  REQUIRE(static_cast<std::int64_t>(index.at("cases").size()) == plan.size());
  for (std::int64_t number = 0; number < plan.size(); ++number) {
    const json& one = index.at("cases").at(static_cast<std::size_t>(number));
    const onepass::verdict::Case call = plan.draw(number);
    ++drawn[one.at("exercise").get<std::string>() + one.at("dtype").get<std::string>()];
    CHECK_FALSE(one.at("outputs").empty());
    for (const json& tensor : one.at("tensors")) {
      const Matrix values = call.values(tensor.at("name"));
      const auto at = tensor.at("at").get<std::size_t>();
      const std::string bytes(reinterpret_cast<const char*>(values.bytes().data()),
                              values.bytes().size());
      CHECK(at == end);
      CHECK(inputs.compare(at, bytes.size(), bytes) == 0);
      for (const double value : values.field().values) REQUIRE(std::isfinite(value));
      shapes.insert(fmt::format("{} x {}", values.rows(), values.cols()));
      end = at + bytes.size();
    }
  }
  CHECK(end == inputs.size());
  CHECK(drawn.size() == 3 * subjects().size());
  for (const auto& [kind, count] : drawn) CHECK_MESSAGE(count == 2, kind);
  CHECK(shapes.size() > 50);  // drawn, not repeated
}

TEST_CASE("another seed draws other cases, the same seed the same") {
  const Plan plan{1, 1}, other{2, 1};
  CHECK(plan.draw(0).values("x").bytes() == plan.draw(0).values("x").bytes());
  CHECK(plan.draw(0).values("x").bytes() != other.draw(0).values("x").bytes());
}

TEST_CASE("the references agree with themselves, rounded to the tensors' type") {
  const Agreement agreement = judge({exchanged("right", kRight)});
  CHECK(disagreements(agreement).empty());
  for (const Row& row : agreement.rows) {
    CAPTURE(row.exercise + " " + row.output);
    CHECK(row.cases == 1);
    CHECK(row.elements > 0);
    CHECK(row.over_bound <= 1.0);
    CHECK(row.before_rounding == 0.0);
  }
}

TEST_CASE("two seeds are one agreement, a seed twice is none") {
  const fs::path one = exchanged("seed1", kRight, {1, 1}), two = exchanged("seed2", kRight, {2, 1});
  const Agreement agreement = judge({one, two});
  CHECK(agreement.cases == 2);
  CHECK(disagreements(agreement).empty());
  CHECK_THROWS_AS(judge({one, one}), BadExchange);
}

TEST_CASE("ten bounds off in fp64: told with its exercise, output and dtype") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.exercise);
    const onepass::verdict::Case call =
        subject.draw(onepass::verdict::Random(1), onepass::verdict::Dtype::fp16);
    for (const Expectation& expected : subject.expected(call)) {
      const auto found =
          judged("off", in_the_middle(subject.exercise, expected.output, "fp64", ten_bounds_off));
      REQUIRE_FALSE(found.empty());
      CHECK(found[0].find(expected.output + " of " + subject.exercise + " in fp16") == 0);
    }
  }
}

TEST_CASE("another formula that rounding would hide: within the bound, but not the same in fp64") {
  const auto found = judged(
      "near", in_the_middle("rmsnorm/forward", "y", "fp64",
                            [](double value, double bound) { return value + 1e-3 * bound; }));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("before rounding") != std::string::npos);
}

TEST_CASE("PyTorch's own kernels may round as they like, but give numbers") {
  CHECK(judged("own", in_the_middle("rope/half_split", "q", "fp16", ten_bounds_off)).empty());
  CHECK(judged("own_nan", in_the_middle("rope/half_split", "q", "fp16", not_a_number)).size() == 1);
}

TEST_CASE("NaN in fp64 is a disagreement") {
  CHECK(judged("nan", in_the_middle("layernorm/forward", "mean", "fp64", not_a_number)).size() ==
        1);
}

TEST_CASE("an output that is missing, in one case or in all, is a disagreement") {
  const auto leave_out = [](const std::string& computed_in, bool all) {
    return Spoil([=](Output& one) {
      one.left_out = one.exercise == "batchnorm/forward" && one.expected.output == "save_rstd" &&
                     one.dtype == "bf16" && (all || one.first) &&
                     (computed_in.empty() || one.computed_in == computed_in);
    });
  };
  const Plan plan{7, 2};
  for (const char* computed_in : {"fp64", "bf16"}) {
    CAPTURE(computed_in);
    const Agreement agreement = judge({exchanged("gap", leave_out(computed_in, false), plan)});
    const auto found = disagreements(agreement);
    REQUIRE(found.size() == 1);
    CHECK(found[0].find("there are 1 of 2 cases") != std::string::npos);
  }
  CHECK_FALSE(judged("gone", leave_out("", true)).empty());
  CHECK_FALSE(judged("no_fp64", leave_out("fp64", true)).empty());
}

TEST_CASE("nothing compared is no agreement") {
  CHECK(disagreements(judge({})).size() == subjects().size());
}

TEST_CASE("files that are cut off, of another shape, or not there") {
  const fs::path cut = exchanged("cut", kRight);
  fs::resize_file(cut / "outputs.bin", fs::file_size(cut / "outputs.bin") - 1);
  CHECK_THROWS_AS(judge({cut}), BadExchange);

  const fs::path shape = exchanged("shape", kRight);
  json outputs = json::parse(read_file(shape / "outputs.json"));
  json& first = outputs.at("outputs").at(0);
  std::swap(first.at("rows"), first.at("cols"));
  first["rows"] = first.at("rows").get<int>() + 1;
  std::ofstream(shape / "outputs.json") << outputs;
  CHECK_THROWS_AS(judge({shape}), BadExchange);

  const fs::path none = fresh_folder("none");
  write_cases({1, 1}, none);
  CHECK_THROWS_AS(judge({none}), BadExchange);
}

TEST_CASE("the program's exit status: 0 agrees, 1 does not, 2 cannot tell") {
  const auto status = [](const fs::path& folder) {
    const fs::path out = folder.string() + ".json";
    return onepass::process::run(
               {{ONEPASS_AGREEMENT, "judge", folder.string(), "--out", out.string()}}, 120)
        .code;
  };
  CHECK(status(exchanged("program", kRight)) == 0);
  CHECK(status(exchanged("program_nan",
                         in_the_middle("rmsnorm/block_sum", "sums", "fp64", not_a_number))) == 1);
  CHECK(status(fresh_folder("program_none")) == 2);
}

TEST_CASE("data and back is the same, infinity too") {
  Agreement agreement = judge({exchanged("data", kRight)});
  agreement.rows[0].over_bound = std::numeric_limits<double>::infinity();
  const Agreement back = from_data(json::parse(to_data(agreement).dump()));
  CHECK(to_data(back) == to_data(agreement));
  CHECK(table(back) == table(agreement));
}

TEST_CASE("docs/data/agreement.json: PyTorch agrees, and docs/agreement.md shows it") {
  const fs::path data = kSource / "docs/data/agreement.json";
  if (!fs::exists(data)) {
    MESSAGE("left out: there is no docs/data/agreement.json");
    return;
  }
  const Agreement agreement = from_data(json::parse(read_file(data)));
  for (const std::string& sentence : disagreements(agreement)) FAIL_CHECK(sentence);
  CHECK(agreement.cases >= 20);
  CHECK(agreement.about.device.find("NVIDIA") != std::string::npos);
  CHECK_MESSAGE(
      read_file(kSource / "docs/agreement.md").find(table(agreement)) != std::string::npos,
      "docs/agreement.md: put in what `agreement table docs/data/agreement.json` prints");
}
