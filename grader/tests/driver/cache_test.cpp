// Workers that have been built are found again, and only by all that went into them.
#include "driver/cache.h"

#include <doctest/doctest.h>

#include "driver/files.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

TEST_CASE("an entry is found by its key and by no other") {
  const ScratchFolder cache(fs::temp_directory_path());
  const CacheEntry entry(cache.path(), "cpu-toy", "source and flags");
  CHECK_FALSE(entry.holds_key());
  const fs::path finished = cache.path() / "finished";
  write_file(finished / "worker", "built");
  entry.put(finished);
  CHECK(entry.holds_key());
  CHECK(read_file(entry.folder() / "worker") == "built");
  CHECK_FALSE(CacheEntry(cache.path(), "cpu-toy", "source and other flags").holds_key());
  CHECK_FALSE(CacheEntry(cache.path(), "gpu-toy", "source and flags").holds_key());
}

TEST_CASE("a fingerprint shared by two keys does not pass one for the other") {
  const ScratchFolder cache(fs::temp_directory_path());
  const CacheEntry entry(cache.path(), "cpu-toy", "mine");
  write_file(entry.folder() / "key", "somebody else's");
  CHECK_FALSE(entry.holds_key());
  write_file(cache.path() / "finished/worker", "built");
  entry.put(cache.path() / "finished");
  CHECK(entry.holds_key());
}

TEST_CASE("whoever comes second keeps the first one's entry") {
  const ScratchFolder cache(fs::temp_directory_path());
  const CacheEntry entry(cache.path(), "cpu-toy", "key");
  for (const char* name : {"first", "second"}) {
    write_file(cache.path() / name / "worker", name);
    entry.put(cache.path() / name);
  }
  CHECK(entry.holds_key());
  CHECK(read_file(entry.folder() / "worker") == "first");
}

TEST_CASE("a file that is added, changed or renamed changes the fingerprint of its folder") {
  const ScratchFolder folder(fs::temp_directory_path());
  write_file(folder.path() / "a.h", "1");
  const std::string first = fingerprint_of_files({folder.path()});
  CHECK(first == fingerprint_of_files({folder.path()}));
  write_file(folder.path() / "deep/b.h", "");
  const std::string second = fingerprint_of_files({folder.path()});
  CHECK(first != second);
  write_file(folder.path() / "a.h", "2");
  CHECK(second != fingerprint_of_files({folder.path()}));
}
