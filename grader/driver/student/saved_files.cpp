#include "driver/student/saved_files.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "driver/bad_input.h"
#include "driver/cache.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;

SavedFiles::SavedFiles(const std::vector<fs::path>& files)
    : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  std::set<fs::path> folders;
  for (const fs::path& path : files) {
    files_.push_back({path, "", ""});
    has_changed(files_.back());
    folders.insert(path.parent_path());
  }
  // Of the folders, for a file that is renamed into place is another one.
  for (const fs::path& folder : folders) {
    if (descriptor_ >= 0) {
      inotify_add_watch(descriptor_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    }
  }
}

SavedFiles::~SavedFiles() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::vector<std::size_t> SavedFiles::take() {
  char events[4096];
  while (descriptor_ >= 0 && read(descriptor_, events, sizeof events) > 0) {
  }
  std::vector<std::size_t> saved;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (has_changed(files_[i])) {
      saved.push_back(i);
    }
  }
  return saved;
}

bool SavedFiles::has_changed(File& file) {
  struct stat status {};
  if (stat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  const std::string stamp = fmt::format("{} {}.{} {}", status.st_ino, status.st_mtim.tv_sec,
                                        status.st_mtim.tv_nsec, status.st_size);
  if (stamp == file.stamp) {
    return false;
  }
  try {
    const std::string text = fingerprint(read_file(file.path));
    file.stamp = stamp;
    return std::exchange(file.text, text) != text;
  } catch (const GraderFault&) {
    return false;  // it is being written, or may not be read: next time
  }
}

}  // namespace onepass::driver
