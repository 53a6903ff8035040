#include "verdict/worker/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "wire/json.h"

namespace onepass::verdict {
namespace {

// Beyond it JavaScript has no integers.
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 52;
constexpr std::int64_t kMostDistance = std::int64_t{1} << 52;
// Of CUDA, in x, and in y or z.
constexpr unsigned kMostBlocks = 2'147'483'647;
constexpr unsigned kMostBlocksBeside = 65'535;

/// The buffer as a worker is to make it. Appends its elements to the message's blobs, if they are
/// given.
wire::BufferSpec spec_of(const Buffer& buffer, Poison poison, std::vector<worker::Blob>& blobs) {
  wire::BufferSpec spec;
  spec.name = buffer.name;
  spec.dtype = buffer.dtype;
  spec.rows = buffer.rows;
  spec.cols = buffer.cols;
  spec.stride = buffer.stride();
  spec.offset = buffer.layout.offset;
  spec.in = buffer.layout.in;
  spec.is_output = buffer.role == Role::output;
  spec.is_null = buffer.null;
  spec.over = buffer.over;
  spec.send_back = !buffer.null;
  if (spec.is_output) {
    spec.byte = static_cast<std::uint8_t>(poison);
  } else if (buffer.hash) {
    spec.fill = wire::Fill::hash;
    spec.hash = *buffer.hash;
  } else if (!buffer.null) {
    spec.fill = wire::Fill::blob;
    spec.blob = blobs.size();
    blobs.push_back(buffer.values.bytes());
  }
  return spec;
}

/// Does the function compute what is in there? What it keeps in scratch memory is its own affair.
bool holds_results(const Case& call, const std::string& buffer) {
  const contract::Tensor* tensor =
      call.contract() == nullptr ? nullptr : call.contract()->find(buffer);
  return tensor != nullptr && tensor->is_data() && call.buffer(buffer).role != Role::input;
}

void read_trespasses(const wire::SeenBuffer& seen, std::vector<Trespass>& trespasses) {
  if (seen.padding_row >= 0) {
    trespasses.push_back(
        {seen.name, fmt::format("between the end of row {} and the start of row {}",
                                seen.padding_row, seen.padding_row + 1)});
  }
  const bool before = seen.elements_before > 0;
  const std::int64_t far = before ? seen.elements_before : seen.elements_after;
  if (far > 0) {
    trespasses.push_back({seen.name, fmt::format("{} element{} {}", far, far == 1 ? "" : "s",
                                                 before ? "before its first" : "after its last")});
  }
}

std::map<std::string, double> scalars_of(const Case& call) {
  std::map<std::string, double> scalars;
  for (const auto& [name, value] : call.scalars()) {
    scalars[name] = call.real(name);
  }
  return scalars;
}

void require(bool is_sound) {
  if (!is_sound) {
    throw std::out_of_range("what it saw makes no sense");
  }
}

void require_countable(std::initializer_list<std::uint64_t> counts) {
  for (const std::uint64_t count : counts) {
    require(count <= kMostCount);
  }
}

/// The buffers after the call.
void read_buffers(const Case& call, const std::vector<wire::SeenBuffer>& all,
                  const worker::Message& reply, Answer& answer, std::vector<Trespass>& trespasses) {
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.null) {
      continue;
    }
    const auto seen = std::find_if(all.begin(), all.end(), [&](const wire::SeenBuffer& other) {
      return other.name == buffer.name;
    });
    if (seen == all.end()) {
      throw std::runtime_error("a buffer is missing");
    }
    require(seen->padding_row < buffer.rows);
    read_trespasses(*seen, trespasses);
    const worker::Blob& bytes = reply.blobs.at(static_cast<std::size_t>(seen->blob));
    answer.buffers.emplace(buffer.name, Matrix(buffer.dtype, buffer.rows, buffer.cols, bytes));
  }
}

}  // namespace

Request request_of(const Case& call, Poison poison) {
  Request request;
  request.call.function = call.function();
  request.call.dtype = call.dtype_name();
  request.call.scalars = scalars_of(call);
  for (const Buffer& buffer : call.buffers()) {
    request.call.buffers.push_back(spec_of(buffer, poison, request.blobs));
  }
  return request;
}

void add_beside(Request& request, const Case& beside, Poison poison) {
  request.call.beside_scalars = scalars_of(beside);
  for (const Buffer& buffer : beside.buffers()) {
    request.call.beside_buffers.push_back(spec_of(buffer, poison, request.blobs));
  }
}

wire::Question question_of(const std::vector<Case>& calls) {
  wire::Question question;
  std::vector<worker::Blob> none;
  for (const Case& call : calls) {
    question.scalars.push_back(scalars_of(call));
    for (std::size_t i = 0; i < call.buffers().size(); ++i) {
      Buffer buffer = call.buffers()[i];
      buffer.role = Role::output;
      const wire::BufferSpec spec = spec_of(buffer, Poison::nan, none);
      if (question.scalars.size() == 1) {
        question.call.buffers.push_back(spec);
      } else if (spec.span_bytes() > question.call.buffers[i].span_bytes()) {
        question.call.buffers[i] = spec;
      }
    }
  }
  question.call.function = calls.front().function();
  question.call.dtype = calls.front().dtype_name();
  return question;
}

worker::Message message_of(const char* operation, Request request) {
  worker::Message message = worker::message_of(operation, request.call);
  message.blobs = std::move(request.blobs);
  return message;
}

worker::Limits reply_limits(const Case& call) {
  worker::Limits limits;
  limits.blobs = call.buffers().size();
  limits.blob_bytes = 0;
  for (const Buffer& buffer : call.buffers()) {
    limits.blob_bytes +=
        static_cast<std::uint64_t>(buffer.rows * buffer.cols) * size_of(buffer.dtype);
  }
  return limits;
}

void require_sound_trace(const wire::Observations& seen) {
  require(seen.trace.size() == seen.traffic.size());
  for (std::size_t launch = 0; launch < seen.trace.size(); ++launch) {
    const auto& [x, y, z] = seen.traffic[launch].grid;
    require(x <= kMostBlocks && y <= kMostBlocksBeside && z <= kMostBlocksBeside);
    const auto& lines = seen.traffic[launch].lines;
    for (const simulator::LineTraffic& line : lines) {
      require_countable({line.requests, line.lanes, line.bytes, line.units, line.least_units});
      require(line.lane_distance > -kMostDistance && line.lane_distance < kMostDistance);
    }
    for (const simulator::TracedRequest& request : seen.trace[launch]) {
      require_countable({request.block});
      require(request.warp >= 0 && request.line >= 0);
      require(static_cast<std::size_t>(request.line) < lines.size());
      require(request.bytes >= 1 && request.bytes <= 16 && request.lanes != 0);
      require(request.offsets.size() ==
              static_cast<std::size_t>(__builtin_popcount(request.lanes)));
    }
  }
}

Run read_run(const Case& call, Poison poison, const worker::Message& reply, const Case* beside) {
  auto ran = wire::read<wire::Ran>(reply.body.at("content"));
  require_sound_trace(ran.observations);
  Run run{std::move(ran.observations), std::move(ran.ending), {}, {}, {}, {}};
  std::erase_if(run.findings, [&](const Finding& finding) {
    return finding.kind == Kind::host_written && !holds_results(call, finding.buffer);
  });
  if (run.outcome != Outcome::ok) {
    return run;
  }
  run.answer.poison = run.beside.poison = poison;
  read_buffers(call, ran.buffers, reply, run.answer, run.trespasses);
  for (const simulator::LaunchTraffic& launch : run.traffic) {
    run.answer.launches.push_back({std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z,
                                   std::int64_t{launch.block.x} * launch.block.y * launch.block.z,
                                   launch.block.x});
  }
  if (beside != nullptr) {
    read_buffers(*beside, ran.beside_buffers, reply, run.beside, run.trespasses);
  }
  return run;
}

}  // namespace onepass::verdict
