#include "verdict/session/explain_finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "verdict/contract/call.h"
#include "verdict/diagnosis.h"

namespace onepass::verdict {

namespace {

constexpr std::int64_t kBeyondInt = std::int64_t{1} << 31;
constexpr std::int64_t kNearRows = 1024;  // the largest gap, in elements
// What the rows of a block, and the columns of one step of it, are a part of mostly.
constexpr std::int64_t kWholeRows = 32, kWholeColumns = 256;
constexpr std::int64_t kMostInWhole = std::int64_t{1} << 20;  // elements

/// What the function calls the number of its columns.
std::string columns_of(const Case& call, const std::string& buffer) {
  const contract::Tensor* tensor = contract::tensor_of(call, buffer);
  return tensor == nullptr ? "cols" : tensor->cols.text();
}

bool is_far(const Buffer& buffer) {
  return !buffer.null && buffer.rows > 1 && (buffer.rows - 1) * buffer.stride() >= kBeyondInt;
}

/// What the launcher does, whatever its kernels do: told if there is nothing else to tell.
constexpr std::initializer_list<Kind> kOfHostCode = {Kind::other_stream, Kind::host_waits,
                                                     Kind::memory_kept};

bool is_any(const Finding& finding, std::initializer_list<Kind> kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](Kind kind) { return finding.kind == kind; });
}

const Finding* first_of_kind(const std::vector<Finding>& findings, Kind kind) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.kind == kind; });
  return found == findings.end() ? nullptr : &*found;
}

/// Rows of a block that write to one place of shared memory.
const Finding* in_one_place(const std::vector<Finding>& findings) {
  const auto found = std::find_if(findings.begin(), findings.end(), lacks_thread_y);
  return found == findings.end() ? nullptr : &*found;
}

/// An address far from every buffer, in a call whose offsets do not fit an int. An index that
/// counts from the start of the far buffer is no overflow, which leads to before the start; unless
/// nothing is there, between two rows, where an offset without a sign ends.
bool may_be_overflow(const Case& call, const Finding& finding) {
  if (!first_far_row(call) || !is_any(finding, {Kind::out_of_bounds_global, Kind::use_after_free,
                                                Kind::host_pointer, Kind::uninitialised_global})) {
    return false;
  }
  const Buffer* buffer = call.find(finding.buffer);
  if (is_just_past(call, finding)) {
    return false;
  }
  return buffer == nullptr || !is_far(*buffer) || finding.index < 0 ||
         finding.kind == Kind::uninitialised_global;
}

/// Does it lie between the end of a row and the start of the next?
bool is_in_gap(const Case& call, const Finding& finding) {
  const Buffer* buffer = call.find(finding.buffer);
  return buffer != nullptr && finding.index >= 0 &&
         finding.index % buffer->stride() >= buffer->cols;
}

bool has_gaps(const Case& call) {
  return std::any_of(call.buffers().begin(), call.buffers().end(),
                     [&](const Buffer& buffer) { return call.is_strided(buffer.name); });
}

bool has_rows(const Case& call) {
  const std::vector<std::string> rows = call.contract()->row_sizes();
  return std::none_of(rows.begin(), rows.end(),
                      [&](const std::string& size) { return call.integer(size) == 0; });
}

/// May a row have been looked for where it is not?
bool may_be_misplaced(const Case& call, const Finding& finding) {
  return (has_gaps(call) || contract::with_one_stride(call)) &&
         (is_any(finding, {Kind::out_of_bounds_global, Kind::global_race}) ||
          (finding.kind == Kind::uninitialised_global && is_in_gap(call, finding)));
}

/// Elements that a row, or a channel, has at most in any tensor.
std::int64_t longest_row(const Case& call) {
  std::int64_t rows = 1, elements = 0;
  if (call.contract() != nullptr) {
    for (const std::string& size : call.contract()->row_sizes()) {
      rows *= std::max<std::int64_t>(1, call.integer(size));
    }
  }
  for (const Buffer& buffer : call.buffers()) {
    elements = std::max(elements, buffer.rows * buffer.cols);
  }
  return elements / rows;
}

/// Blocks, threads and rows come in order: who goes wrong in the first row of all may as well have
/// run past its end, and who does so in a later one has begun at the wrong place.
bool is_beyond_row_0(const Case& call, const Finding& finding) {
  const Buffer* buffer = call.find(finding.buffer);
  const bool in_later_block =
      !finding.parties.empty() && finding.parties[0].block != simulator::Dim3{};
  return in_later_block || (buffer != nullptr && finding.index >= buffer->stride());
}

/// Does an access begin in a row and reach past the end of the tensor?
bool is_pack_over_the_end(const Case& call, const Finding& finding) {
  const Buffer* buffer = call.find(finding.buffer);
  return finding.kind == Kind::out_of_bounds_global && buffer != nullptr && finding.index >= 0 &&
         finding.index / buffer->stride() < buffer->rows &&
         finding.index % buffer->stride() < buffer->cols;
}

bool is_aligned(const Buffer& buffer, std::int64_t stride) {
  return stride * static_cast<std::int64_t>(size_of(buffer.dtype)) % 16 == 0;
}

/// Does a row of it end within 16 bytes?
bool fills_no_packs(const Case& call, const std::string& name) {
  const contract::Tensor* tensor = contract::tensor_of(call, name);
  const Buffer& buffer = call.buffer(name);
  return tensor != nullptr && tensor->traits.strided && !is_aligned(buffer, buffer.cols);
}

/// Does an access begin where a row would be that the tensor does not have?
bool in_a_row_past_the_end(const Case& call, const Finding& finding) {
  const Buffer& buffer = call.buffer(finding.buffer);
  return finding.kind == Kind::out_of_bounds_global &&
         finding.index / buffer.stride() >= buffer.rows &&
         finding.index % buffer.stride() < buffer.cols;
}

}  // namespace

bool is_out_of_memory(const std::string& error) {
  return error.find("cudaErrorMemoryAllocation") != std::string::npos;
}

const char* const kOverflowAdvice =
    "In this call row * stride, the number of elements or threads, that of rows rounded up, or a "
    "row's plus that of rows at once, is beyond 2^31: compute it in 64 bits, as int64_t.";

bool is_just_past(const Case& call, const Finding& finding) {
  const Buffer* buffer = call.find(finding.buffer);
  const std::int64_t elements = buffer == nullptr ? 0 : buffer->rows * buffer->cols;
  return buffer != nullptr && finding.kind == Kind::out_of_bounds_global && !is_far(*buffer) &&
         finding.index >= elements && finding.index <= 2 * elements;
}

Failure as_overflow(const Failure& failure, const std::string& advice) {
  return failure.is_just_past ? failure : with_reason(failure, "index-overflow", advice);
}

std::string stride_advice(const Case& call, const std::string& buffer) {
  // A call without gaps was tried in one way only.
  const std::string tried = has_gaps(call) ? ", or without gaps, the same" : " the same";
  return "With rows as far apart in all tensors" + tried +
         " call is right: find a row with its own tensor's stride, not with " +
         columns_of(call, buffer) + " or another tensor's.";
}

std::string place_advice(const Case& call, const std::string& buffer) {
  return "Check the column against " + columns_of(call, buffer) +
         ", and find each row with its own tensor's stride.";
}

std::string scratch_advice(const std::string& buffer) {
  return buffer +
         " has room for a limited number of partial results: take no more groups of rows, or parts "
         "of a channel, than the header grants, and count in floats, not in bytes.";
}

std::optional<std::int64_t> first_far_row(const Case& call) {
  std::optional<std::int64_t> first;
  for (const Buffer& buffer : call.buffers()) {
    if (is_far(buffer)) {
      const std::int64_t row = (kBeyondInt + buffer.stride() - 1) / buffer.stride();
      first = std::min(first.value_or(row), row);
    }
  }
  return first;
}

const Finding* telling_error(const std::vector<Finding>& findings) {
  const Finding* first = nullptr;
  for (const Finding& finding : findings) {
    if (finding.warning || is_any(finding, kOfHostCode)) {
      continue;
    }
    first = first == nullptr ? &finding : first;
    if (!is_any(*first, {Kind::shared_race, Kind::global_race, Kind::uninitialised_shared,
                         Kind::uninitialised_global})) {
      return first;
    }
    // Who leaves a tensor takes what is not its own: the race is of the same index, and so is what
    // nobody has written.
    const bool is_index =
        finding.kind == Kind::out_of_bounds_global &&
        (first->kind == Kind::global_race ||
         (first->kind == Kind::uninitialised_global && first->kernel == finding.kernel));
    if (is_index || is_any(finding, {Kind::barrier_divergence, Kind::deadlock})) {
      return &finding;
    }
  }
  for (const Kind kind : kOfHostCode) {
    first = first == nullptr ? first_of_kind(findings, kind) : first;
  }
  return first;
}

const Finding* refused_launch(const std::vector<Finding>& findings) {
  const Finding* copy = first_of_kind(findings, Kind::refused_copy);
  return copy != nullptr ? copy : first_of_kind(findings, Kind::invalid_launch);
}

const Finding* telling_warning(const std::vector<Finding>& findings) {
  for (const Kind kind : {Kind::undefined_result, Kind::early_return, Kind::inactive_lane_read}) {
    if (const Finding* finding = first_of_kind(findings, kind)) {
      return finding;
    }
  }
  return in_one_place(findings);
}

std::int64_t in_whole_blocks(const Case& call, const std::string& size) {
  const std::vector<std::string> rows = call.contract()->row_sizes();
  const bool is_of_rows = std::count(rows.begin(), rows.end(), size) > 0;
  const std::int64_t whole = is_of_rows ? kWholeRows : kWholeColumns;
  return (call.integer(size) + whole - 1) / whole * whole;
}

bool goes_well_in_whole(const Case& call, const GoesWell& goes_well) {
  if (call.contract() == nullptr) {
    return false;
  }
  contract::Sizes sizes = contract::sizes_of(call);
  const std::vector<std::string> rows = call.contract()->row_sizes();
  for (auto& [name, size] : sizes) {
    const bool is_width = call.contract()->size(name).is_width;
    const bool is_one_of_many =
        size == 1 && !is_width && std::count(rows.begin(), rows.end(), name) == 0;
    size = is_one_of_many ? size : in_whole_blocks(call, name);
  }
  const std::optional<Case> in_whole = contract::resized(call, sizes, kMostInWhole);
  return in_whole && goes_well(*in_whole);
}

bool goes_well_nearer(const Case& call, const GoesWell& goes_well) {
  const std::optional<Case> nearer = contract::with_gaps(call, kNearRows);
  return nearer && goes_well(*nearer);
}

Densely goes_densely(const Case& call, const GoesWell& goes_well) {
  const auto in_same_ways = [&](const Case& other) {
    return std::all_of(call.buffers().begin(), call.buffers().end(), [&](const Buffer& buffer) {
      const std::int64_t stride = other.buffer(buffer.name).stride();
      return buffer.null || is_aligned(buffer, buffer.stride()) == is_aligned(buffer, stride);
    });
  };
  const std::optional<Case> dense = contract::with_gaps(call, 0);
  for (const std::optional<Case>& other : {dense, contract::with_one_stride(call)}) {
    if (other && goes_well(*other)) {
      return in_same_ways(*other) ? Densely::well : Densely::well_in_another_way;
    }
  }
  return dense && in_same_ways(*dense) ? Densely::badly : Densely::unknown;
}

/// Right with gaps between the rows, where these fill vectors?
bool goes_well_in_vectors(const Case& call, const GoesWell& goes_well) {
  constexpr std::int64_t kVector = 8;  // fills vectors of every type
  contract::Sizes sizes = contract::sizes_of(call);
  for (const std::string& cols : call.contract()->col_sizes()) {
    sizes[cols] = sizes[cols] > kVector ? sizes[cols] / kVector * kVector : sizes[cols];
  }
  const std::optional<Case> in_vectors = contract::resized(call, sizes, kMostInWhole);
  return in_vectors && has_gaps(*in_vectors) && goes_well(*in_vectors);
}

namespace {

Diagnosis explain_pack_over_the_end(const Case& call, const Finding& finding) {
  return with_advice(
      finding, "no-tail-mask",
      fmt::format("This access begins in the row and reaches past its end, which nobody may, be it "
                  "used or not: where {} is no multiple of a pack, what is left over is read and "
                  "written element by element.",
                  columns_of(call, finding.buffer)));
}

}  // namespace

Diagnosis explain_finding(const Case& call, const Run& run, const Finding& finding,
                          const GoesWell& goes_well) {
  if (may_be_overflow(call, finding) && goes_well_nearer(call, goes_well)) {
    return with_advice(finding, "index-overflow", kOverflowAdvice);
  }
  if (finding.kind == Kind::out_of_bounds_global && contract::is_scratch(call, finding.buffer)) {
    return with_advice(finding, "scratch-overrun",
                       has_rows(call) ? scratch_advice(finding.buffer)
                                      : "Where there are no rows " + finding.buffer +
                                            " has no room at all: leave it alone there.");
  }
  if (may_be_misplaced(call, finding)) {
    const Densely densely = goes_densely(call, goes_well);
    // Where a row has another distance, packs may be taken no more: that says nothing of strides.
    if (densely != Densely::well && is_pack_over_the_end(call, finding)) {
      return explain_pack_over_the_end(call, finding);
    }
    if (densely == Densely::well_in_another_way && goes_well_in_vectors(call, goes_well)) {
      return with_advice(
          finding, "no-tail-mask",
          fmt::format("With rows as far apart that fill vectors the same call is "
                      "right: where {} is no multiple of a pack, the last one reaches "
                      "past the row's end, and what is there is neither read nor "
                      "written, be it used or not.",
                      columns_of(call, finding.buffer)));
    }
    if (densely == Densely::well ||
        (densely == Densely::well_in_another_way && is_beyond_row_0(call, finding))) {
      return with_advice(finding, "stride-ignored", stride_advice(call, finding.buffer));
    }
    const contract::Tensor* tensor = contract::tensor_of(call, finding.buffer);
    const bool has_stride = tensor != nullptr && tensor->traits.strided;
    if (finding.kind != Kind::global_race && has_gaps(call) && has_stride) {
      return with_advice(
          finding,
          densely == Densely::badly ? std::optional<std::string>("no-tail-mask") : std::nullopt,
          in_a_row_past_the_end(call, finding)
              ? fmt::format("Row {} would be there, and {} has {}: check the row as well, and find "
                            "each row with its own tensor's stride.",
                            finding.index / call.buffer(finding.buffer).stride(), finding.buffer,
                            call.buffer(finding.buffer).rows)
              : place_advice(call, finding.buffer));
    }
  }
  if (is_pack_over_the_end(call, finding) && fills_no_packs(call, finding.buffer)) {
    return explain_pack_over_the_end(call, finding);
  }
  if (finding.kind == Kind::uninitialised_global && contract::is_scratch(call, finding.buffer)) {
    if (goes_well_in_whole(call, goes_well)) {
      return with_advice(
          finding, "no-tail-mask",
          "Where rows and columns fill all blocks the same call is right: let nobody "
          "read there whose row or column does not exist.");
    }
    return with_advice(
        finding, mistake_of(finding),
        "Scratch holds nothing yet: write each place before it is read or added to.");
  }
  if (finding.kind == Kind::out_of_bounds_shared && finding.index >= kMostThreads &&
      longest_row(call) > finding.index) {
    return with_advice(finding, "shared-row-too-big",
                       "A row may be longer than any array in shared memory: keep a part of it "
                       "there, or read it again.");
  }
  // Lanes that returned cannot take part in a shuffle, and the slots of their warps stay empty.
  const Finding* returned = first_of_kind(run.findings, Kind::early_return);
  if (returned != nullptr &&
      is_any(finding, {Kind::inactive_lane_read, Kind::uninitialised_shared})) {
    return with_advice(finding, mistake_of(*returned), sentence_of(*returned));
  }
  if (finding.kind == Kind::global_race && finding.parties.size() == 2) {
    return explain_global_race(call, run, finding);
  }
  const Finding* written = in_one_place(run.findings);
  if (written != nullptr && finding.kind == Kind::shared_race &&
      written->buffer == finding.buffer) {
    return with_advice(finding, mistake_of(*written), kThreadYAdvice);
  }
  if (is_overwriting(finding)) {
    return explain_overwriting(call, run, finding);
  }
  return {mistake_of(finding), sentence_of(finding)};
}

}  // namespace onepass::verdict
