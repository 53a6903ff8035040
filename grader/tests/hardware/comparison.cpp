#include "tests/hardware/comparison.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <stdexcept>

#include "wire/json.h"
#include "worker/protocol.h"

namespace onepass::hardware {
namespace {

using nlohmann::json;

constexpr std::int64_t kSectorBytes = 32;
constexpr std::int64_t kBeyondCache = std::int64_t{64} << 20;

Launch launch_from(const simulator::LaunchTraffic& launch) {
  using simulator::AccessType;
  Launch result;
  result.kernel = launch.kernel;
  Counts& counts = result.counts;
  for (const simulator::LineTraffic& line : launch.lines) {
    const auto requests = static_cast<std::int64_t>(line.requests);
    const auto units = static_cast<std::int64_t>(line.units);
    const bool atomic = line.type == AccessType::atomic;
    const bool read = line.type == AccessType::read;
    if (line.space == simulator::MemorySpace::shared) {
      (read ? counts.shared_load_wavefronts : counts.shared_store_wavefronts) += units;
      continue;
    }
    if (line.space == simulator::MemorySpace::distributed) {
      counts.distributed_requests += requests;
      counts.distributed_sectors += units;
      continue;
    }
    if (line.is_bulk) {  // no warp's request
      (read ? counts.bulk_read_sectors : counts.bulk_written_sectors) += units;
      continue;
    }
    (atomic ? counts.atomic_requests
     : read ? counts.load_requests
            : counts.store_requests) += requests;
    (atomic ? counts.atomic_sectors : read ? counts.load_sectors : counts.store_sectors) += units;
  }
  counts.memory_read_bytes = static_cast<std::int64_t>(launch.read_sectors) * kSectorBytes;
  counts.memory_written_bytes = static_cast<std::int64_t>(launch.written_sectors) * kSectorBytes;
  return result;
}

/// One line of CSV in which each cell may be quoted.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

using Row = std::map<std::string, std::string>;

std::int64_t count(const Row& row, const std::string& metric) {
  const auto found = row.find(metric);
  if (found == row.end()) {
    throw std::runtime_error("the profile lacks " + metric);
  }
  std::string digits;
  for (const char c : found->second) {
    if (c != ',') digits += c;  // thousands
  }
  return static_cast<std::int64_t>(std::stod(digits));
}

Counts counts_of(const Row& row) {
  const auto global = [&](const char* what, const char* operation) {
    return count(row, fmt::format("l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum", what, operation));
  };
  const auto shared = [&](const char* operation) {
    return count(row,
                 fmt::format("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", operation));
  };
  Counts counts;
  counts.load_requests = global("requests", "ld");
  counts.load_sectors = global("sectors", "ld");
  counts.store_requests = global("requests", "st");
  counts.store_sectors = global("sectors", "st");
  counts.atomic_requests = global("requests", "atom") + global("requests", "red");
  counts.atomic_sectors = global("sectors", "atom") + global("sectors", "red");
  counts.shared_load_wavefronts = shared("ld");
  counts.shared_store_wavefronts = shared("st");
  // Those that Hopper brought: 0 where nobody asked for them, or the GPU is older.
  const auto newer = [&](const std::string& metric) {
    return row.count(metric) == 0 ? 0 : count(row, metric);
  };
  counts.bulk_read_sectors = newer("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum");
  counts.bulk_written_sectors = newer("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum");
  counts.distributed_requests = newer("l1tex__t_requests_pipe_lsu_mem_dshared.sum");
  counts.distributed_sectors = newer("l1tex__t_sectors_pipe_lsu_mem_dshared.sum");
  counts.memory_read_bytes = count(row, "dram__bytes_read.sum");
  counts.memory_written_bytes = count(row, "dram__bytes_write.sum");
  return counts;
}

constexpr const char* kMicro = "micro-kernels";
constexpr const char* kFast = "micro-kernels of fast kernels";
bool is_micro(const Comparison& one) {
  return one.subject == kMicro || one.subject == kFast;
}

std::string cell(std::int64_t simulator, std::int64_t gpu) {
  return simulator == gpu ? fmt::format("{}", simulator)
                          : fmt::format("**{} / {}**", simulator, gpu);
}

constexpr const char* kHeading =
    "load requests | sectors | store requests | sectors | atomic requests | sectors | shared "
    "loads: wavefronts | stores: wavefronts |\n";

using Count = std::int64_t Counts::*;
const std::vector<Count> kUsual = {
    &Counts::load_requests,          &Counts::load_sectors,           &Counts::store_requests,
    &Counts::store_sectors,          &Counts::atomic_requests,        &Counts::atomic_sectors,
    &Counts::shared_load_wavefronts, &Counts::shared_store_wavefronts};

std::string cells(const Comparison& one, const std::vector<Count>& counts = kUsual) {
  std::string text;
  for (const Count count : counts) {
    text += ' ' + cell(one.simulator.*count, one.gpu.*count) + " |";
  }
  return text;
}

std::string micro_table(const std::vector<Comparison>& all) {
  std::string text =
      fmt::format("| micro-kernel | {}|---|---|---|---|---|---|---|---|---|\n", kHeading);
  for (const Comparison& one : all) {
    if (one.subject == kMicro) text += fmt::format("| `{}` |{}\n", one.kernel, cells(one));
  }
  return text;
}

std::string fast_table(const std::vector<Comparison>& all) {
  std::vector<Count> counts = kUsual;
  counts.insert(counts.end(), {&Counts::bulk_read_sectors, &Counts::bulk_written_sectors,
                               &Counts::distributed_requests, &Counts::distributed_sectors});
  std::string text = fmt::format(
      "| micro-kernel | {} bulk copies: sectors read | written | other blocks' shared memory: "
      "requests | sectors |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      std::string_view(kHeading).substr(0, std::string_view(kHeading).size() - 1));
  for (const Comparison& one : all) {
    if (one.subject == kFast) text += fmt::format("| `{}` |{}\n", one.kernel, cells(one, counts));
  }
  return text;
}

/// How many launches agree, in everything and in what concerns global memory.
std::string summary(const std::vector<Comparison>& all) {
  int agreeing = 0, agreeing_in_global = 0;
  for (Comparison one : all) {
    agreeing += agrees(one);
    one.gpu.shared_load_wavefronts = one.simulator.shared_load_wavefronts;
    one.gpu.shared_store_wavefronts = one.simulator.shared_store_wavefronts;
    agreeing_in_global += agrees(one);
  }
  return fmt::format(
      "Of {} launches, {} agree in every number, and {} in all of global memory.\n\n", all.size(),
      agreeing, agreeing_in_global);
}

std::string agreement_table(const std::vector<Comparison>& all) {
  std::map<std::string, std::pair<int, int>> launches;  // by subject: all, and those that agree
  for (const Comparison& one : all) {
    if (is_micro(one)) continue;
    ++launches[one.subject].first;
    launches[one.subject].second += agrees(one);
  }
  std::string text = "| | launches | agree |\n|---|---|---|\n";
  for (const auto& [subject, count] : launches) {
    text += fmt::format("| {} | {} | {} |\n", subject, count.first, count.second);
  }
  return text;
}

std::string difference_table(const std::vector<Comparison>& all) {
  std::string text = fmt::format("| launch | {}|---|---|---|---|---|---|---|---|---|\n", kHeading);
  for (const Comparison& one : all) {
    if (is_micro(one) || agrees(one)) continue;
    text += fmt::format("| {}, {}: `{}` |{}\n", one.subject, one.call, one.kernel, cells(one));
  }
  return text;
}

std::string memory_table(const std::vector<Comparison>& all) {
  const auto mega = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::string text =
      "| launch | distinct, read | memory, read | distinct, written | memory, written |\n"
      "|---|---|---|---|---|\n";
  for (const Comparison& one : all) {
    const Counts& a = one.simulator;
    const bool is_naive = one.subject.find(", naive") != std::string::npos;
    if (is_naive || a.memory_read_bytes + a.memory_written_bytes < kBeyondCache) continue;
    text +=
        fmt::format("| {}: `{}` | {:.1f} MB | {:.1f} MB | {:.1f} MB | {:.1f} MB |\n", one.subject,
                    one.kernel, mega(a.memory_read_bytes), mega(one.gpu.memory_read_bytes),
                    mega(a.memory_written_bytes), mega(one.gpu.memory_written_bytes));
  }
  return text;
}

/// What came back from each call.
std::vector<wire::Ran> read_all(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor == -1) {
    throw std::runtime_error(file + " cannot be read");
  }
  std::vector<wire::Ran> replies;
  worker::Message message;
  while (worker::read_message(descriptor, message) == worker::Transfer::done) {
    if (message.body.at("op") != "ran") {
      throw std::runtime_error(file + ": " + message.body.dump());
    }
    replies.push_back(wire::read<wire::Ran>(message.body.at("content")));
  }
  close(descriptor);
  return replies;
}

/// The naive versions keep memory for intermediate results, and wait when they take more of it.
/// Nobody else does, and it changes no count.
void check_call(const std::string& file, const wire::Ran& ran) {
  bool is_fine = ran.ending.outcome == wire::Outcome::ok;
  for (const simulator::Finding& finding : ran.observations.findings) {
    is_fine = is_fine && (finding.kind == simulator::Kind::memory_kept ||
                          finding.kind == simulator::Kind::host_waits);
  }
  if (!is_fine) throw std::runtime_error(file + ": a call failed");
}

}  // namespace

std::vector<std::vector<Launch>> read_replies(const std::string& file) {
  std::vector<std::vector<Launch>> replies;
  for (const wire::Ran& ran : read_all(file)) {
    check_call(file, ran);
    replies.emplace_back();
    for (const simulator::LaunchTraffic& launch : ran.observations.traffic) {
      replies.back().push_back(launch_from(launch));
    }
  }
  return replies;
}

std::string first_finding(const std::string& file) {
  for (const wire::Ran& ran : read_all(file)) {
    for (const simulator::Finding& finding : ran.observations.findings) {
      return (finding.warning ? "warning: " : "") + std::string(simulator::kind_name(finding.kind));
    }
  }
  return "-";
}

std::vector<Launch> read_profile(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw std::runtime_error(file + " cannot be read");
  }
  std::vector<std::string> header;
  std::vector<Launch> launches;
  for (std::string line; std::getline(stream, line);) {
    if (header.empty()) {
      if (line.find("\"Kernel Name\"") != std::string::npos) header = cells_of(line);
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    Row row;
    for (std::size_t i = 0; i < cells.size() && i < header.size(); ++i) row[header[i]] = cells[i];
    const std::string& kernel = row["Kernel Name"];
    const bool is_workers_own = kernel.find("hash_fill_kernel<") != std::string::npos;
    if (!kernel.empty() && !is_workers_own) launches.push_back({kernel, counts_of(row)});
  }
  return launches;
}

bool agrees(const Comparison& one) {
  Counts gpu = one.gpu;
  gpu.memory_read_bytes = one.simulator.memory_read_bytes;
  gpu.memory_written_bytes = one.simulator.memory_written_bytes;
  return json(one.simulator) == json(gpu);
}

std::string tables(const std::vector<Comparison>& all) {
  return summary(all) + "### Micro-kernels\n\n" + micro_table(all) +
         "\n### Micro-kernels of fast kernels\n\n" + fast_table(all) +
         "\n### Solutions and naive versions\n\n" + agreement_table(all) +
         "\n### What differs\n\n" + difference_table(all) +
         "\n### Distinct sectors and the memory itself\n\n" + memory_table(all);
}

}  // namespace onepass::hardware
