#include "ptx_wait_loops.h"

#include "ptx_pattern.h"

namespace onepass::rewriter {
namespace {

/// Reads the statements of a loop one after another.
class LoopReader {
 public:
  LoopReader(const std::vector<PtxStatement>& statements, std::size_t first)
      : statements_(statements), next_(first) {}

  bool run() {
    const std::string begin = label();
    if (!asks()) return false;
    const std::string predicate = statements_[found_.asks].operands[0].text;
    if (jumps(begin, predicate, true)) return true;
    const std::string end = target();
    if (!jumps(end, predicate, false)) return false;
    if (is("nanosleep.u32") && is_unguarded()) found_.sleeps = next_++;
    return jumps(begin, "", false) && !at_end() && label() == end;
  }

  PtxWaitLoop found() {
    found_.end = next_;
    return found_;
  }

 private:
  bool at_end() const { return next_ == statements_.size(); }
  bool is(const std::string& name) const { return !at_end() && statements_[next_].name == name; }
  bool is_unguarded() const { return statements_[next_].guard.empty(); }

  /// "" if here is none.
  std::string label() {
    if (!is_label(statements_[next_])) return "";
    found_.labels.push_back(next_);
    const std::string& name = statements_[next_++].name;
    return name.substr(0, name.size() - 1);
  }

  bool asks() {
    if (at_end() || !is_unguarded() || statements_[next_].operands.empty()) return false;
    const std::vector<std::string> name = parts_of(statements_[next_].name);
    if (name.size() < 2 || name[0] != "mbarrier" || !is_one_of(name[1], ".try_wait|.test_wait")) {
      return false;
    }
    found_.asks = next_++;
    return true;
  }

  /// Where the statement jumps to; "" if it does not.
  std::string target() const {
    const bool is_jump = is("bra") || is("bra.uni");
    return is_jump && statements_[next_].operands.size() == 1 ? statements_[next_].operands[0].text
                                                              : "";
  }

  bool jumps(const std::string& to, const std::string& guard, bool is_negated) {
    if (to.empty() || target() != to || statements_[next_].guard != guard ||
        statements_[next_].is_negated != is_negated) {
      return false;
    }
    ++next_;
    return true;
  }

  const std::vector<PtxStatement>& statements_;
  std::size_t next_;
  PtxWaitLoop found_ = {{}, 0, 0, 0};
};

}  // namespace

bool is_label(const PtxStatement& statement) {
  return statement.name.back() == ':';
}

PtxWaitLoop wait_loop_at(const std::vector<PtxStatement>& statements, std::size_t first) {
  LoopReader reader(statements, first);
  if (reader.run()) return reader.found();
  const std::string& name = statements[first].name;
  throw PtxError("the label " + name.substr(0, name.size() - 1) +
                 ": of branches in PTX the simulator runs none but the loop that asks "
                 "mbarrier.try_wait again until it says yes: write others in C++, or grade this "
                 "on a GPU");
}

}  // namespace onepass::rewriter
