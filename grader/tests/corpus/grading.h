// An entry graded as a user would, and the verdict on it looked at.
#pragma once

#include <string>

#include "tests/corpus/corpus.h"
#include "tests/corpus/remembered.h"

namespace onepass::corpus {

/// The variable's value, or `otherwise` if it is not set.
std::string environment(const char* name, const char* otherwise);

/// "cpu" unless ONEPASS_CORPUS_DEVICE says otherwise, so that the test means the same everywhere.
std::string device();

/// A run of `make check`, not of `make check_all` or by hand.
bool is_quick();

/// What the simulator counts is tested elsewhere. A timed call on a GPU can go wrong by itself, so
/// there everything is measured too, unless ONEPASS_CORPUS_CHECKS_ONLY is set.
bool checks_only();

/// What is wrong with the verdict on this entry, and on what it leaves behind if it is hostile:
/// `then_honest` is an honest one graded. Empty if nothing is. margin: the least room that any
/// check left.
std::string complaint(const Entry& entry, int seed, bool then_honest, Margin& margin);

}  // namespace onepass::corpus
