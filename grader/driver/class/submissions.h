// The submissions of a class: each a folder or an archive, named by its student.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "driver/naming.h"
#include "driver/submission.h"

namespace onepass::driver::course {

struct Submission {
  std::string student;  // printable, and no other submission's: names what is written about it
  std::filesystem::path path;
  std::filesystem::path folder;   // in which the exercises lie; empty for an archive
  std::string problem;            // why nothing of it can be graded: a sentence; empty if it can
  std::string fault;              // why this machine could not read it; empty if it could
  std::vector<Task> tasks;        // of all exercises asked for, in the workbook's order
  std::int64_t handed_in_at = 0;  // the newest date of its exercises, seconds since 1970
};

struct Submissions {
  std::vector<Submission> all;           // by name
  std::vector<std::string> passed_over;  // names in the folder that are no submission's
};

/// Which they are, unread. What begins with a dot is passed over without a word. Throws BadInput if
/// `folder` is none, or holds none.
Submissions find_submissions(const std::filesystem::path& folder);

/// Reads its texts. The exercises may lie in a folder of the submission's own, such as
/// "homework/exercises". Of a submission that is none, or cannot be read, all tasks are missing,
/// and a `problem` or a `fault` says why. Throws GraderFault after Ctrl-C only.
void read_submission(Submission& submission, const std::vector<Named>& exercises);

}  // namespace onepass::driver::course
