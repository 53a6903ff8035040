// The list of what was found. A mistake in a kernel shows in thousands of threads: the list keeps
// one finding for each kind and pair of source lines, one of a habit of the kernel, and at most
// kMost of them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simulator.h"
#include "source/source_lines.h"

namespace simulator {

/// Who a race is between: lanes of a warp, warps of a block, blocks of a grid. What orders a wider
/// circle orders those inside it, so of the races at two lines the widest is told.
enum class Reach { warp, block, grid };

class Findings {
 public:
  static constexpr std::size_t kMost = 16;

  /// True the first time in a launch for this kind and place: asked before a finding is composed,
  /// where millions of accesses may have the same to tell.
  bool is_first(Kind kind, CodeAddress site, CodeAddress other = 0, Reach reach = Reach::warp,
                bool as_warning = false);
  bool has_told(Kind kind, CodeAddress site, CodeAddress other, Reach reach) const {
    return told_.count({kind, site, other, reach, false}) > 0;
  }
  void begin_launch();
  /// Puts the launch's findings in order: warnings last, and causes before what follows from them,
  /// so that the first is the one to mend first.
  void end_launch();

  /// Adds a finding unless its like is there. Of two races at the same lines the wider one stays,
  /// and one that is no warning.
  void add(Finding finding);
  /// One that concerns no certain piece of memory.
  void add(Kind kind, const char* kernel, std::string message, std::vector<Party> parties,
           bool warning = false) {
    add({kind, kernel, std::move(message), warning, std::move(parties)});
  }

  /// Takes back what the launch has told of plain reads at these places (races/first_reads.h).
  void withdraw_reads(const std::set<CodeAddress>& places);

  std::vector<Finding> take();

  /// While this lives, a finding is put together. What memory that touches is not the kernel's to
  /// answer for (of the standard library's templates the linker keeps one copy, and that may be
  /// the instrumented one of the student's program), and the time limit must not interrupt it.
  class Writing {
   public:
    explicit Writing(Findings& findings) : findings_(findings), before_(findings.writing_) {
      findings_.writing_ = true;
    }
    ~Writing() { findings_.writing_ = before_; }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    Findings& findings_;
    bool before_;
  };
  bool is_being_written() const { return writing_; }
  /// The thread that wrote is abandoned, and its Writing with it.
  void abandon_writing() { writing_ = false; }

 private:
  std::vector<Finding> findings_;
  std::size_t launch_begin_ = 0;  // the first finding of this launch
  std::set<std::tuple<Kind, CodeAddress, CodeAddress, Reach, bool>> told_;  // the last: a warning
  volatile bool writing_ = false;  // volatile: a signal's handler asks
};

}  // namespace simulator
