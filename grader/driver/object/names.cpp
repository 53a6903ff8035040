#include "driver/object/names.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

namespace onepass::driver {
namespace {

// Patterns with blanks between them.
std::string one_of(const std::string& patterns) {
  static const std::regex blanks(R"(\s+)");
  return "(?:" + std::regex_replace(patterns, blanks, "|") + ")";
}

// What no student writes and every compiler may: callbacks of the sanitizers (which the simulator
// is), exceptions, guards of statics, type information, arithmetic that the processor lacks,
// operators new and delete.
constexpr const char* kCompiler =
    R"(__tsan_\w+ __ubsan_handle_\w+ __cxa_\w+ __gxx_personality_v0 _Unwind_Resume __stack_chk_fail
       __dso_handle _GLOBAL_OFFSET_TABLE_ __tls_get_addr __libc_single_threaded __pthread_key_create
       __(?:add|sub|mul|u?div|u?mod|u?divmod|neg|pow|floatu?n?|fix|fixuns|extend|trunc)[a-z]{2,4}\d?
       __(?:cmp|clz|ctz|ffs|popcount|parity|bswap|ashl|ashr|lshr|unord|[engl][eqt])[a-z]{2}\d
       __aarch64_\w+ _ZTIP?K?[a-z] _Zn[wa][mj]\w* _Zd[la]Pv\w*)";

// What launchers have a use for. What runs host code later (host functions, graphs) or gives
// functions by other names (the driver's entry points) is not among it. On a GPU
// worker/watched_calls_gpu.cu watches those that wait or take a stream.
// __cuda...: what nvcc makes of kernels and their launches.
constexpr const char* kCuda =
    R"(cuda(?:(?:Get|PeekAt)LastError|GetError(?:Name|String)|(?:Driver|Runtime)GetVersion)
       cuda(?:(?:Get|Set)Device|GetDevice(?:Count|Properties(?:_v2)?)|Device(?:GetAttribute|Synchronize|Reset))
       cuda(?:Malloc(?:Async|Host|Managed)?|HostAlloc|Free(?:Async|Host)?|MemGetInfo|Mem(?:cpy|set)(?:2D)?(?:Async)?)
       cuda(?:Memcpy(?:To|From)Symbol(?:Async)?|GetSymbol(?:Address|Size))
       cudaStream(?:Create(?:With\w+)?|Destroy|Synchronize|Query|WaitEvent)
       cudaEvent(?:Create(?:WithFlags)?|Destroy|Record|Synchronize|Query|ElapsedTime(?:_v2)?)
       cuda(?:Func[GS]et\w+|Occupancy\w+|Launch(?:Kernel(?:ExC)?|CooperativeKernel))
       __cuda(?:(?:Register|Unregister|PushCall|PopCall|GetKernel|InitModule)\w*|LaunchKernel))";

constexpr const char* kMathematics =
    R"((?:a?(?:sin|cos|tan)h?|atan2|sincos|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|ilogb)[fl]?
       (?:pow|sqrt|cbrt|hypot|erfc?|[tl]gamma|[jy][01n])[fl]?
       (?:ceil|floor|trunc|l?l?round|l?l?rint|nearbyint|fmod|remainder|remquo)[fl]?
       (?:fabs|fdim|fmax|fmin|fma|frexp|ldexp|modf|scalbl?n|nextafter|nexttoward|copysign)[fl]?
       (?:nan|isnan|isinf|finite|__(?:signbit|fpclassify|isnan|isinf|finite|iscanonical|iseqsig|issignaling|exp10))[fl]?)";

constexpr const char* kC =
    R"(mem(?:cpy|move|set|cmp|chr)
       str(?:n?cpy|n?cat|n?cmp|n?len|r?chr|str|c?spn|pbrk|error|to(?:[dfl]|ld|ul|u?ll))
       ato(?:[ifl]|ll) __isoc23_strto\w+ is(?:alnum|alpha|digit|space|upper|lower|punct|xdigit)
       to(?:upper|lower) (?:m|c|re)alloc free aligned_alloc posix_memalign
       v?(?:f|sn?)?printf __v?(?:f|sn?)?printf_chk __(?:mem|str)\w+_chk
       f?put[sc] putchar fwrite fflush perror std(?:out|err)
       l?l?abs l?l?div qsort bsearch s?rand time clock clock_gettime
       abort _?[Ee]xit atexit __assert_fail __errno_location)";

// device_calls.h, and what a binding asks of its arguments.
const std::string kOurs =
    R"(_ZN9simulator\d+(?:threadIdx|blockIdx|blockDim|gridDim|launch|kernel_name|)"
    R"(block_barrier|grid_barrier|is_cooperative_launch|wait_for_primary|trigger_dependents|cluster_size|cluster_barrier|)"
    R"(map_shared|map_shared_address|rank_of_shared|keep_to_cluster_dims|warp_operation|active_mask|)"
    R"(exceed_launch_bounds|wrong_block_shape|too_many_valid|make_undefined|compare_and_swap|)"
    R"(atomic_update|keep|use_unset|memory_fence|acquire_memory|)"
    R"(async_copy|async_piece|commit_copies|wait_for_copies|)"
    R"(init_barrier|invalidate_barrier|meet_at_named_barrier|arrive_at_named_barrier|arrive_at_barrier|copies_arrive|wait_at_barrier|wait_for_parity|)"
    R"(expect_bytes|ask_barrier|ask_for_parity|store_async|bulk_copy_in|bulk_copy_out|commit_bulk_copies|)"
    R"(wait_for_bulk_copies|proxy_fence|read_only|)"
    R"(shared_address|shared_pointer|is_shared|is_global|global_pointer|load|store|keep_order|)"
    R"(dynamic_shared|yield|trap|clock_ticks|index_out_of_bounds)E|)"
    R"(_ZNK7onepass6worker9Arguments\d)";

// After "St", or an abbreviation for a string or a stream. A length stands before a name.
const std::string kStandardLibrary =
    R"(_Z(?:T[VTIS])?N?[KVRO]*(?:S[absiod]|10__cxxabiv1\d+__\w*_type_info|)"
    R"(St(?:ls|rs|7__cxx11|\d+)" +
    one_of(R"(__throw_ __glibcxx_assert_fail basic_string char_traits allocator c(?:out|err|log)
              basic_(?:io?|o)stream basic_ios basic_streambuf basic_[io]?stringstream
              __ostream_insert ios_base endl flush locale ctype num_put use_facet has_facet
              exception(?!_) bad_ (?:logic|runtime|domain|length|range|overflow|underflow)_error
              invalid_argument out_of_range type_info terminate nothrow
              _Rb_tree_ _Hash_bytes __detail chrono to_chars from_chars)") +
    "))";

// simulator/include/cuda_runtime.h
const std::string kOurMemmove = "__tsan_memmove";

/// Of the name's beginning; patterns end in $ if they mean the whole.
bool begins_so(const std::string& name, const std::regex& pattern) {
  // A longer one is a template's. std::regex runs out of stack on very long text.
  return std::regex_search(name.substr(0, 500), pattern, std::regex_constants::match_continuous);
}

}  // namespace

bool may_ask_for(const std::string& name) {
  static const std::regex allowed("(?:" + one_of(kCompiler) + "|" + one_of(kCuda) + "|" +
                                  one_of(kMathematics) + "|" + one_of(kC) + ")$|" + kOurs + "|" +
                                  kStandardLibrary);
  return begins_so(name, allowed);
}

bool may_ask_for_in_kernels(const std::string& name) {
  static const std::regex allowed("(?:" + one_of(kCompiler) + "|" + one_of(kMathematics) + "|" +
                                  one_of(R"(mem(?:cpy|set) printf __assert_fail clock abs)") +
                                  ")$|" + kOurs);
  return name != kOurMemmove && begins_so(name, allowed);
}

std::string about_kernels_without(const std::string& name) {
  static const std::regex heap("(?:malloc|free|_Zn[wa]m\\w*|_Zd[la]Pv\\w*)$");
  static const std::regex exceptions("__cxa_(?:throw|allocate_exception|begin_catch)$");
  static const std::regex runtime("cuda[A-Z]\\w*$");
  if (begins_so(name, heap)) {
    return "malloc() and new in a kernel, which take memory of the device's heap, cannot be "
           "simulated on a CPU: grade this on a GPU";
  }
  if (begins_so(name, exceptions)) {
    return "device code does not support exception handling";
  }
  if (begins_so(name, runtime)) {
    return name + "() is called in a kernel: here only the host calls the runtime library";
  }
  return "";
}

bool may_define(const std::string& name, bool weak) {
  static const std::regex unmangled("DW\\.ref\\.");
  static const std::regex replaced("_Z(?:n[wa]|d[la])");
  static const std::regex reserved(
      "_Z(?:T[VTIS])?N?[KVRO]*(?:S[tabsiod]|9__gnu_cxx|10__cxxabiv1|9simulator|7onepass4wire|"
      "7onepass6worker(?!15bound_functionsEv)|8nlohmann|5boost)");
  if (name.rfind("_Z", 0) != 0) {
    return begins_so(name, unmangled);
  }
  return !begins_so(name, replaced) && (weak || !begins_so(name, reserved));
}

bool may_be_variable(const std::string& name) {
  return name.rfind("_", 0) != 0 && name.rfind("cuda", 0) != 0 &&
         dlsym(RTLD_DEFAULT, name.c_str()) == nullptr;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string result = text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string readable_name(const std::string& name) {
  std::string readable = name == kOurMemmove ? "memmove" : demangled(name);
  readable.resize(std::min(readable.size(), readable.find('(')));
  return readable;
}

}  // namespace onepass::driver
