// Where a student stands in each exercise: the file as it is now, beside what is known of earlier
// gradings.
#pragma once

#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/naming.h"
#include "driver/student/notebook.h"
#include "wire/exercise.h"

namespace onepass::driver {

enum class State {
  passed,
  broken,       // did not pass when it was graded, but passed with an earlier text
  changed,      // is another text than was graded, or other checks are made now
  failed,       // did not pass; the note's status says how
  not_started,  // as it was given
  not_graded,   // begun, and not graded yet
  missing,      // there is no file that can be read
};

struct Standing {
  Named named;
  std::string number;       // "1.2"
  wire::ExerciseInfo info;  // its title, its page, its checks
  std::string file;         // "exercises/01_rmsnorm/forward.cu"
  std::string text;         // of the file
  Note note;
  State state = State::not_graded;
  int todo = 0;  // to be done next; 0: none is known

  int max_score() const;
  /// Those that count: what is not started has none.
  int score() const;
  /// An optional exercise counts from when it is begun.
  bool is_counted() const;
  /// "not started", "compile error", "failed; passed before".
  std::string state_name() const;
};

/// Of all exercises, in the workbook's order, but of chapters whose grader is not built. Throws
/// GraderFault.
std::vector<Standing> standings(const Config& config);

/// The first that counts and has not passed: of those after `exercise`, else of all. Null if all
/// have.
const Standing* next_after(const std::vector<Standing>& all, const std::string& exercise = "");

/// Of one exercise. Throws BadInput if its chapter's grader is not built.
const Standing& standing_of(const Config& config, const std::vector<Standing>& all,
                            const Named& named);

/// The exercise that is named, which has to be one. `command`: in whose sentence, if none is named.
/// Throws BadInput.
Named one_named(const Config& config, const std::string& name, const char* command);

/// The exercise that is named, or the next one to be passed where none is. Throws BadInput.
const Standing& standing_named(const Config& config, const std::vector<Standing>& all,
                               const std::string& name);

/// "Next: " and what next_after() finds: number, file and line, and the TODO's comment. A few
/// lines.
std::string told_next(const Config& config, const std::vector<Standing>& all,
                      const std::string& exercise = "");

}  // namespace onepass::driver
