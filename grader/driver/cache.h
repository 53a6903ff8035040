// Workers that have been built, found again by what went into them.
//
// An entry is a folder named by a fingerprint of its key. It holds the key itself, which is
// compared byte by byte, so a fingerprint that two keys share does no harm; and a fingerprint of
// its files, so that one that was cut or changed is found out and made anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onepass::driver {

/// 64 bits of a text, in hexadecimal. Good against accidents, not against malice: whoever relies on
/// it compares the texts too.
std::string fingerprint(const std::string& text);

/// All that a program we build or a header of ours can change in a worker: the names and contents
/// of the files in these folders (and of single files) as one fingerprint.
std::string fingerprint_of_files(const std::vector<std::filesystem::path>& paths);

class CacheEntry {
 public:
  /// `label` makes the folder's name readable: "cpu-rmsnorm-forward".
  CacheEntry(const std::filesystem::path& cache, const std::string& label, std::string key);

  const std::filesystem::path& folder() const { return folder_; }
  /// Is there an entry with this very key, as it was put there? Notes that it has been used.
  bool holds_key() const;
  /// Moves `finished`, a folder beside it, into place, unless another process has done so already,
  /// and removes the entries of the same label that have not been used for longest.
  void put(const std::filesystem::path& finished) const;

 private:
  bool is_as_put() const;
  void remove_old() const;

  std::filesystem::path cache_;
  std::filesystem::path folder_;
  std::string label_;
  std::string key_;
};

}  // namespace onepass::driver
