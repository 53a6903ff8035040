# How a .cu file (rewritten to C++) is compiled for the CPU simulator. The one place for it: CMake
# uses the list, and the driver gets it through build/onepass.json.
#
# -fsanitize=thread makes the compiler call the simulator before each load and store. The flags
# after it keep those calls the ones a reader of the source expects: scalar replacement would split
# a float4 into four loads, jump threading would copy barriers to several places, -O2 would drop
# loads that nvcc keeps, and -O0 would load x[i] twice in x[i] * x[i].
set(ONEPASS_SIMULATOR_COMPILE_FLAGS
  -O1 -g -UNDEBUG                     # assert() is a lesson, in every build type
  -fno-var-tracking                   # where variables are takes a quarter of the time; lines stay
  -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 --param=tsan-distinguish-volatile=1
  -fsanitize=bounds-strict            # indices into local and shared arrays
  # Steps that come after those calls are in, which neither add nor remove one: a tenth of the time.
  -fira-region=one -fno-forward-propagate -fno-if-conversion -fno-if-conversion2
  -fno-tree-sra -fno-ipa-sra -fno-thread-jumps -fno-tree-dominator-opts
  -fno-ipa-reference-addressable      # a host variable that nobody writes is no constant of a kernel's
  -ffp-contract=off                   # the same arithmetic on every CPU
  -fwrapv                             # what overflows is seen, not optimised away,
  -fno-delete-null-pointer-checks     # and an access by a null pointer
  -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset  # calls, however few bytes
  -fno-builtin-printf                 # which would become puts(), and kernels have none
  -U_FORTIFY_SOURCE                   # which would replace them
  -wrapper $<TARGET_FILE:onepass-rewrite>,--compiler-step  # alignments (access_alignments.h)
  -fno-extern-tls-init                # __shared__ is thread_local, and never initialised
  -fstack-clash-protection)           # a stack that overflows touches its guard page

# What the program is linked with is the simulator instead of the sanitizers' own libraries, so
# -fsanitize is not among the link flags: link onepass_simulator.

# Where g++ has no libbacktrace (simulator/src/CMakeLists.txt looks for it), addr2line tells the
# lines. That of binutils 2.40 takes one file for another in DWARF 5.
if(NOT ONEPASS_HAS_LIBBACKTRACE)
  list(APPEND ONEPASS_SIMULATOR_COMPILE_FLAGS -gdwarf-4)
endif()
