// A fiber: a thread of control with a stack of its own, which runs until it gives way by itself.
//
// Each CUDA thread is a fiber, and so is the scheduler. A switch from one to the other
// (Boost.Context's fcontext) saves a handful of registers and costs some 20 ns with what the
// processor guesses wrong after it, so a block of 1,024 threads that meets at a barrier costs
// microseconds; operating system threads would cost a thousand times that.
//
// Below every stack lies a guard that must not be touched: a kernel that uses too much local memory
// runs into it and is stopped by a signal (see stopping.h) instead of damaging another thread.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace simulator {

/// The bytes [bottom, top), growing downwards from top.
struct Stack {
  std::uintptr_t bottom = 0;
  std::uintptr_t top = 0;

  bool contains(std::uintptr_t address) const { return address - bottom < top - bottom; }
};

class Fiber {
 public:
  using Body = void (*)(void* argument);

  /// Makes the next switch to this one call body(argument) on `stack`. body must never return.
  /// Whatever ran here before is abandoned: its stack is not unwound.
  void prepare(const Stack& stack, Body body, void* argument);

  /// Where its stack ends while it does not run.
  std::uintptr_t stopped_at() const { return reinterpret_cast<std::uintptr_t>(stopped_); }

  /// Called on this one's own stack: `other` goes on where it stopped, until somebody switches
  /// back.
  void switch_to(Fiber& other) {
    const Switch wish = {this, &other};
    note_stop(boost::context::detail::jump_fcontext(other.stopped_, const_cast<Switch*>(&wish)));
  }

 private:
  struct Switch {
    Fiber* from;
    Fiber* to;
  };

  /// The one that switched to the running one stopped there.
  static const Switch& note_stop(boost::context::detail::transfer_t transfer) {
    const Switch& done = *static_cast<const Switch*>(transfer.data);
    done.from->stopped_ = transfer.fctx;
    return done;
  }
  static void enter(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t stopped_ = nullptr;  // where it goes on
  Body body_ = nullptr;
  void* argument_ = nullptr;
};

/// Stacks with guards, made on demand and kept for the next launches. A stack's pages cost
/// memory only once they are touched.
class StackPool {
 public:
  /// Stack number `index`; asked in any order.
  Stack get(std::size_t index);

  /// True if `address` is in the guard of one of the stacks.
  bool is_guard(std::uintptr_t address) const;

  static constexpr std::size_t kMaxStacks = 16384;  // each costs two of Linux's 65,530 mappings

 private:
  static constexpr std::size_t kSlab = 32;  // stacks mapped together
  std::vector<std::uintptr_t> slabs_;
};

}  // namespace simulator
