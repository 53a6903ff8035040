// Landlock: which files a program may reach. It binds the calling process and all that it starts,
// for good.
#pragma once

#include <string>
#include <vector>

namespace onepass::process {

enum class Reach {
  read,    // read files, list folders, run programs
  write,   // all that, and make, change and remove files
  change,  // open the files that are there for writing too, and read them
};

/// A file, or a folder with all that lies below it. Links are followed.
struct Place {
  std::string path;
  Reach reach;
};

/// The version that the kernel speaks, 0 if it has no Landlock.
int landlock_version();

/// From now on the calling process reaches these places and no others, with all rights handled that
/// the kernel knows; no TCP, and no signals or abstract sockets to others outside, where the kernel
/// can tell. A place that is not there is passed over. False where there is no Landlock. Takes no
/// memory: may be called between fork and exec.
bool confine_to(const std::vector<Place>& places) noexcept;

/// Sets a limit of setrlimit() to `most` where it is higher, and the soft one to `soft`. Of time,
/// the soft one is the one that a program is told of.
void limit(int resource, unsigned long long most, unsigned long long soft = ~0ull) noexcept;

}  // namespace onepass::process
