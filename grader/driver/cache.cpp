#include "driver/cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "driver/files.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using FileTime = fs::file_time_type;

namespace {

constexpr std::size_t kKept = 8;                   // entries of one label
constexpr auto kInUse = std::chrono::minutes(30);  // another process may be working with these

constexpr const char* kKey = "key";
constexpr const char* kSeal = "seal";

// All that matters of the files in a folder of ours, wherever it lies: names, contents, and whether
// they may be run.
std::string seal_of(const fs::path& folder) {
  std::set<std::string> lines;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != kSeal) {
      const auto mode = static_cast<unsigned>(entry.status().permissions() & fs::perms::owner_exec);
      lines.insert(fmt::format("{} {} {}\n", entry.path().filename().string(), mode,
                               fingerprint(read_file(entry.path()))));
    }
  }
  return fingerprint(fmt::format("{}", fmt::join(lines, "")));
}

}  // namespace

std::string fingerprint(const std::string& text) {
  return fmt::format("{:016x}", std::hash<std::string>()(text));
}

std::string fingerprint_of_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  std::string list;
  for (const fs::path& file : files) {
    list += fmt::format("{} {}\n", file.string(), fingerprint(read_file(file)));
  }
  return fingerprint(list);
}

CacheEntry::CacheEntry(const fs::path& cache, const std::string& label, std::string key)
    : cache_(cache),
      folder_(cache / fmt::format("{}-{}", label, fingerprint(key))),
      label_(label),
      key_(std::move(key)) {}

bool CacheEntry::is_as_put() const {
  try {
    return read_file(folder_ / kKey) == key_ && read_file(folder_ / kSeal) == seal_of(folder_);
  } catch (const GraderFault&) {  // something cannot be read
    return false;
  } catch (const fs::filesystem_error&) {
    return false;
  }
}

bool CacheEntry::holds_key() const {
  std::error_code error;
  if (!is_as_put()) {
    return false;
  }
  fs::last_write_time(folder_, FileTime::clock::now(), error);
  return true;
}

void CacheEntry::put(const fs::path& finished) const {
  write_file(finished / kKey, key_);
  write_file(finished / kSeal, seal_of(finished));
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder_, error)) && !holds_key()) {
    fs::remove_all(folder_, error);  // damaged, or another key with the same fingerprint
  }
  fs::rename(finished, folder_, error);
  if (error && !holds_key()) {
    throw GraderFault(cannot("write " + folder_.string(), error.value()));
  }
  remove_old();
}

void CacheEntry::remove_old() const {
  std::vector<std::pair<FileTime, fs::path>> entries;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache_, error)) {
    if (entry.path().filename().string().rfind(label_ + "-", 0) == 0) {
      entries.emplace_back(entry.last_write_time(error), entry.path());
    }
  }
  std::sort(entries.rbegin(), entries.rend());  // the newest first
  for (std::size_t i = kKept; i < entries.size(); ++i) {
    if (FileTime::clock::now() - entries[i].first > kInUse) {
      fs::remove_all(entries[i].second, error);
    }
  }
}

}  // namespace onepass::driver
