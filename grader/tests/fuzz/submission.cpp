// A submission: a line with the kind of the file and the name of its folder, then the file's text.
// It is found and read, and all is done with the text that does not need a compiler.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/includes.h"
#include "driver/object/inspect.h"
#include "driver/printable.h"
#include "driver/submission.h"
#include "driver/text.h"
#include "driver/todo/places.h"
#include "tests/fuzz/target.h"

namespace onepass::fuzz {
namespace fs = std::filesystem;
using namespace driver;

namespace {

constexpr const char* kSolution = R"(// y = x / rms(x)
__global__ void kernel(const float* x, float* y, int cols) {
  // TODO 1: the sum
  // [solution 1]
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) {
    sum += x[i] * x[i];
  }
  // [end]
  __syncthreads();
  // TODO 2: the row
  // [solution 2]
  y[0] = x[0] * rsqrtf(sum / cols);
  // [end]
}
)";

// What takes part in a grading of one exercise.
Config config_in(const fs::path& folder) {
  Config config;
  config.source = folder / "workbook";
  config.chapters = {{"rmsnorm", "01", "", {{"rmsnorm/forward", "forward.cu", "", ""}}}};
  return config;
}

void make_file(char kind, const fs::path& file, std::string_view text, const fs::path& outside) {
  const auto write = [&](const fs::path& path) { std::ofstream(path, std::ios::binary) << text; };
  switch (kind) {
    case 'd':
      fs::create_directory(file);
      break;
    case 'p':
      require(mkfifo(file.c_str(), 0600) == 0);
      break;
    case 'l':
      write(file.parent_path() / "other.cu");
      fs::create_symlink("other.cu", file);
      break;
    case 'o':
      write(outside);
      fs::create_symlink(outside, file);
      break;
    case 'c':
      fs::create_symlink(file, file);
      break;
    case 'm':
      break;
    default:
      write(file);
  }
}

auto lines_in(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

void read_text(const std::string& text, const std::string& shown) {
  Json(printable(text)).dump();  // throws if it is no UTF-8
  Json(shown).dump();
  require(shown.find('\n') == std::string::npos);
  forbidden_include("forward.h", text, shown);
  if (const auto refused = refused_assembly("#APP\nnop\n#NO_APP\n", text, shown)) {
    Json(refused->told(shown)).dump();
  }
  static const Skeleton skeleton = take_apart(kSolution, "forward.cu");
  if (const auto places = find_places(skeleton, text)) {
    require(lines_in(places->with_solution({})) == lines_in(text));
    places->with_solution({1});
    places->with_solution({1, 2});
  }
}

}  // namespace

void try_input(std::string_view input) {
  static const ScratchFolder scratch(fs::temp_directory_path());
  std::string_view line = take_until('\n', input);
  const char kind = line.empty() ? 'f' : line[0];
  line.remove_prefix(std::min<std::size_t>(1, line.size()));
  std::string name(line.substr(0, 100));
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '\0', '_');
  const fs::path submission = scratch.path() / "workbook" / ("s" + name);
  fs::create_directories(submission / "01");
  make_file(kind, submission / "01" / "forward.cu", input, scratch.path() / "outside");
  Names names;
  names.submission = submission;
  try {
    const std::vector<Task> tasks = select_tasks(config_in(scratch.path()), names);
    require(tasks.size() == 1 && (kind != 'o' || tasks[0].source.empty()));
    read_text(tasks[0].source, tasks[0].shown);
  } catch (const BadInput& error) {
    Json(printable(error.what())).dump();
  }
  fs::remove_all(scratch.path() / "workbook");
  fs::remove(scratch.path() / "outside");
}

}  // namespace onepass::fuzz
