// Which of some files has been saved?
//
// The kernel says so at once (inotify) where it can. Of a network drive, or a folder that a
// container shares with its host, it may say nothing: so whoever uses this looks every second or so
// as well. Editors write a file in its place, or write another and rename it; either way its text
// is another then, and a save that changed nothing is none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onepass::driver {

class SavedFiles {
 public:
  /// Of what there is now nothing counts as saved.
  explicit SavedFiles(const std::vector<std::filesystem::path>& files);
  ~SavedFiles();
  SavedFiles(const SavedFiles&) = delete;
  SavedFiles& operator=(const SavedFiles&) = delete;

  /// Readable when it is time to look; -1 if the kernel does not tell.
  int descriptor() const { return descriptor_; }

  /// The numbers of the files that have another text than at the last call. One that is gone does
  /// not count until it is there again.
  std::vector<std::size_t> take();

 private:
  struct File {
    std::filesystem::path path;
    std::string stamp;  // of the file: when it was written, and its size
    std::string text;   // its fingerprint
  };
  static bool has_changed(File& file);

  std::vector<File> files_;
  int descriptor_;
};

}  // namespace onepass::driver
