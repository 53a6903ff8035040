// How a program comes into being: fork, the layers that hold it back, its descriptors, exec.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "process/process.h"

namespace onepass::process {

void close_if_open(int& descriptor);

/// A pipe between us and a program that is about to start: each closes an end when it is not taken.
class Ends {
 public:
  explicit Ends(Pipe direction);
  Ends(Ends&& other) noexcept;
  ~Ends();

  int theirs() const { return theirs_; }
  int error() const { return error_; }
  /// Keeps our end, which no longer blocks.
  int take();
  /// The number that was written to the program's end before all of these were closed, 0 if none.
  int read_number();

 private:
  int ours_ = -1;
  int theirs_ = -1;
  int error_ = 0;
};

/// One start. All that takes memory is done before the fork: in the child only what is safe there.
class Start {
 public:
  /// Keeps pointers into `program`.
  explicit Start(const Program& program);
  ~Start();
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  /// The number of the child, which becomes the program; -1 if there is none.
  pid_t fork();
  /// Our ends of what it prints, and of the pipes that the program asks for.
  int take_output();
  std::vector<int> take_pipes();
  /// Returns errno if the program could not be started, else 0.
  int wait_for_exec();

 private:
  int nothing_;  // what it reads
  int error_ = 0;
  std::vector<Ends> pipes_;   // what it prints, those that it asks for, why there is no program
  std::vector<int> ends_;     // its descriptors, and the last of those
  std::vector<int> aside_;    // room for as many
  std::vector<char*> words_;  // as exec takes them
  std::vector<char*> environment_;
  std::unique_ptr<Confinement> confinement_;  // nothing if the program is not confined
};

}  // namespace onepass::process
