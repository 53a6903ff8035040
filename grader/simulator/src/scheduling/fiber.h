// A fiber: a thread of control with a stack of its own, which runs until it gives way by itself.
//
// Each CUDA thread is a fiber. A switch (Boost.Context's fcontext) saves a handful of registers and
// costs some 6 ns, so a block of 1,024 threads that meets at a barrier costs microseconds;
// operating system threads would cost a thousand times that.
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

  /// Makes the next resume() call body(argument) on `stack`. body must never return. Whatever ran
  /// here before is abandoned: its stack is not unwound.
  void prepare(const Stack& stack, Body body, void* argument);

  /// Runs the fiber until it suspends.
  void resume();

  /// Called on the fiber's own stack: goes back to where resume() was called.
  void suspend();

 private:
  static void enter(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t inside_ = nullptr;   // where the fiber stopped
  boost::context::detail::fcontext_t outside_ = nullptr;  // where resume() was called
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
  static constexpr std::size_t kSlab = 1024;  // stacks mapped together
  std::vector<std::uintptr_t> slabs_;
};

}  // namespace simulator
