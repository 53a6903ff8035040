// Small helpers around files.
#pragma once

#include <filesystem>
#include <string>

namespace onepass::driver {

/// The whole file. Throws GraderFault if it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Writes through a temporary file and a rename, so that a reader sees the old text or the new one,
/// never a part. Makes the folders on the way. What is no regular file, but a link, a device or a
/// pipe, stays so and is written through. Throws GraderFault if it cannot.
void write_file(const std::filesystem::path& path, const std::string& text);

/// Is that a regular file, or nothing yet?
bool can_be_replaced(const std::filesystem::path& path);

/// Writes a file that the user asked for. Throws BadInput, naming the option that gives another.
void write_for_user(const std::filesystem::path& path, const std::string& text, const char* option);

/// Renames a file to "<name>.<word>-1", or the first such number that is free, and returns that.
/// Throws GraderFault if it cannot.
std::filesystem::path put_aside(const std::filesystem::path& file, const std::string& word);

/// A folder of this process's own, removed with all it holds at the end of its life.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Without the slash that a shell puts after a folder.
std::filesystem::path without_slash(const std::filesystem::path& path);

/// The same, absolute and without links.
std::filesystem::path plain(const std::filesystem::path& path);

/// What the files of an exercise are called: "rmsnorm-forward".
std::string file_name_of(std::string exercise);

/// `path` as a user wants to read it: relative to `root` if it lies inside, else absolute.
std::string shown_path(const std::filesystem::path& path, const std::filesystem::path& root);

}  // namespace onepass::driver
