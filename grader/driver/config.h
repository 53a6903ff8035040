// What CMake knows and the driver needs: build/onepass.json, written by
// grader/driver/CMakeLists.txt.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace onepass::driver {

enum class Device { cpu, gpu };
const char* device_name(Device device);  // "cpu", "gpu"

/// One exercise: a file of the student's, and what the chapter adds to make a worker of it.
struct Exercise {
  std::string id;                 // "rmsnorm/forward"
  std::string file;               // "forward.cu"
  std::filesystem::path binding;  // the translation unit that #includes the student's
  std::filesystem::path naive;    // a multi-pass version of the same functions; empty: none
};

struct Chapter {
  std::string name;    // "rmsnorm"
  std::string folder;  // "01_rmsnorm", in any submission
  std::filesystem::path grader;
  std::vector<Exercise> exercises;
};

/// How an implementation is made into a worker for one device.
struct Toolchain {
  std::filesystem::path compiler;
  std::filesystem::path rewriter;              // makes plain C++ of a .cu; empty if none is needed
  std::vector<std::string> compile_flags;      // language, warnings, include folders
  std::vector<std::string> link_flags;         // before the object
  std::vector<std::filesystem::path> inputs;   // files and folders of ours that go into a worker
  std::vector<std::filesystem::path> allowed;  // folders whose headers a student may include
};

struct Config {
  std::filesystem::path source;  // the repository
  std::filesystem::path build;
  std::vector<Chapter> chapters;
  Toolchain cpu;
  std::optional<Toolchain> gpu;  // absent where there is no toolkit
  std::optional<Toolchain>
      gpu_code;            // of kernels without a GPU: compile_flags make PTX, link_flags
                           // go with what makes machine code of it. Absent as above
  std::string gpu_reason;  // why not on a GPU: the end of a sentence; empty where it is possible

  std::filesystem::path exercises() const { return source / "exercises"; }
  /// A student's copy of the workbook has none, but outlines in their place: the marks are there,
  /// and nothing is between them.
  bool has_solutions() const { return !std::filesystem::exists(source / "grader/outlines"); }
  std::filesystem::path solution_of(const Chapter& chapter, const Exercise& exercise) const {
    return source / (has_solutions() ? "solutions" : "grader/outlines") / chapter.folder /
           exercise.file;
  }
  /// That of a GPU must be there.
  const Toolchain& toolchain(Device device) const { return device == Device::cpu ? cpu : *gpu; }
};

/// Reads `file`. Throws GraderFault if it is missing or not as expected, and BadInput if the
/// workbook was moved or copied since cmake wrote it.
Config read_config(const std::filesystem::path& file);

/// As a user types it, from the repository: "build/onepass".
std::string program_of(const Config& config);

/// The folder that the running program lies in; onepass.json is its neighbour.
std::filesystem::path program_folder();

}  // namespace onepass::driver
