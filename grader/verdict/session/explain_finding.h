// What a finding of the simulator means for the call that it was made in: the same access is
// another mistake where rows lie far apart, or where one block does several rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/diagnosis.h"
#include "verdict/session/explain_race.h"
#include "verdict/session/failure.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// The error to tell of a run, or nullptr if there are warnings only. The first one, but a barrier
/// that not all threads reach comes before what follows from it: races and slots nobody wrote. What
/// the launcher does beside its launches, wait or use another stream, comes after all errors of
/// kernels.
const Finding* telling_error(const std::vector<Finding>& findings);

/// Why a launch was refused, or nullptr.
const Finding* refused_launch(const std::vector<Finding>& findings);

/// The warning that some threads returned before a barrier or a shuffle, that a shuffle reads a
/// lane that takes no part, or that rows write to one place: what may be the reason of wrong
/// numbers. nullptr if there is none.
const Finding* telling_warning(const std::vector<Finding>& findings);

/// Does another call of the function go well? Asked of calls that differ in one thing from the one
/// that failed: is it the reason?
using GoesWell = std::function<bool(const Case&)>;
/// Where no call is made for that: nothing is said to be the reason.
inline const GoesWell kNobodyAsked = [](const Case&) { return false; };

/// The size, rounded up to what fills all blocks mostly: the rows that one has, or the columns of a
/// step of it.
std::int64_t in_whole_blocks(const Case& call, const std::string& size);

/// Does the call go well with so many rows and columns that nothing is left over at the end of
/// blocks, vectors and steps?
bool goes_well_in_whole(const Case& call, const GoesWell& goes_well);
/// Does the call go well with rows that lie as near as an `int` can count, gaps or not?
bool goes_well_nearer(const Case& call, const GoesWell& goes_well);
/// How the call goes with rows that follow one another without gaps, or else with one stride for
/// all tensors. That may change which rows can be read in vectors, and so what the kernel does.
enum class Densely { well, well_in_another_way, badly, unknown };
Densely goes_densely(const Case& call, const GoesWell& goes_well);

/// The simulator's message, and what to do.
Diagnosis explain_finding(const Case& call, const Run& run, const Finding& finding,
                          const GoesWell& goes_well);

/// The first row of some buffer that an `int` cannot find: row * stride is 2^31 or more. Nothing if
/// there is none.
std::optional<std::int64_t> first_far_row(const Case& call);

extern const char* const kOverflowAdvice;

/// The failure of a call that is right where it is smaller: an index that lost bits, unless what it
/// says cannot come of that.
Failure as_overflow(const Failure& failure, const std::string& advice = kOverflowAdvice);

/// Is it an access just behind the end of a buffer that is short?
bool is_just_past(const Case& call, const Finding& finding);

/// Does the error say that there is no memory left? Then it is no index.
bool is_out_of_memory(const std::string& error);
/// For who looks for rows of that buffer where they are not, in a call that goes_densely().
std::string stride_advice(const Case& call, const std::string& buffer);
/// For who came to a place outside of that buffer's rows, for whatever reason.
std::string place_advice(const Case& call, const std::string& buffer);
/// For who wrote past the end of that buffer.
std::string scratch_advice(const std::string& buffer);

}  // namespace onepass::verdict
