// A worker without a device whose function does what its name says: "honest" copies the input x to
// the output y; all others do what a student's code should not.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "wire/json.h"
#include "worker/protocol.h"

namespace {

using namespace onepass::worker;
namespace wire = onepass::wire;
using nlohmann::json;

/// The inputs as they came, and y = x.
Message answer(const wire::Call& call, const std::vector<Blob>& blobs) {
  wire::Ran ran;
  std::vector<Blob> back;
  std::size_t x = 0;
  const auto copy = [&](const std::vector<wire::BufferSpec>& buffers,
                        std::vector<wire::SeenBuffer>& seen) {
    for (const wire::BufferSpec& buffer : buffers) {
      x = buffer.fill == wire::Fill::blob ? buffer.blob : x;
      seen.push_back({buffer.name, static_cast<std::int64_t>(back.size())});
      back.push_back(blobs.at(x));
    }
  };
  copy(call.buffers, ran.buffers);
  copy(call.beside_buffers, ran.beside_buffers);
  Message reply = message_of("ran", ran);
  reply.blobs = std::move(back);
  return reply;
}

/// The answer to "fetch", after a call that made every byte of every buffer 0.
Message zeros(const wire::Call& prepared, const wire::FetchOrder& order) {
  std::vector<wire::FetchedBuffer> buffers;
  std::vector<Blob> blobs;
  for (const wire::BufferSpec& buffer : prepared.buffers) {
    wire::FetchedBuffer fetched{buffer.name, order.rows, blobs.size()};
    std::erase_if(fetched.rows, [&](std::int64_t row) { return row >= buffer.rows; });
    blobs.emplace_back(fetched.rows.size() * buffer.row_bytes());
    buffers.push_back(fetched);
  }
  Message reply = message_of("fetched", buffers);
  reply.blobs = std::move(blobs);
  return reply;
}

void send_bytes(const std::string& bytes) {
  [[maybe_unused]] const ssize_t written = write(kReplyDescriptor, bytes.data(), bytes.size());
}

void spin() {
  for (volatile bool go_on = true; go_on;) {
  }
}

volatile sig_atomic_t is_asked = 0;

/// Until the grader asks where it is, whose clock is over.
void spin_until_asked() {
  signal(SIGPROF, [](int) { is_asked = 1; });
  while (is_asked == 0) {
  }
}

void flood() {
  for (int i = 0; i < 100000; ++i) {
    std::puts("PASS PASS PASS PASS PASS PASS PASS PASS PASS PASS PASS PASS");
  }
}

bool can_read(const std::string& path) {
  char byte = 0;
  const int file = open(path.c_str(), O_RDONLY);
  return file >= 0 && read(file, &byte, 1) == 1;
}

bool can_write(const std::string& path, int more = 0) {
  return open(path.c_str(), O_WRONLY | more, 0600) >= 0;
}

std::string of_parent(const char* file) {
  return "/proc/" + std::to_string(getppid()) + "/" + file;
}

/// Becomes another program, or comes back.
bool can_exec(const char* program) {
  const char* const words[] = {program, nullptr};
  execv(program, const_cast<char* const*>(words));
  return false;
}

bool can_limit(pid_t process, __rlimit_resource resource = RLIMIT_NOFILE) {
  const rlimit few = {10, 10};
  return prlimit(process, resource, &few, nullptr) == 0;
}

bool can_have_killing_timer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer = nullptr;
  return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

/// A child ends at once; what counts is that there was one.
bool can_have_children() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  return child > 0;
}

/// Before main(), and before anything of the worker's.
const bool read_before_main = can_read(of_parent("cmdline"));

/// What must not work, or, if its name begins with "may", must.
const std::map<std::string, bool (*)()> kAttempts = {
    {"read before main", [] { return read_before_main; }},
    {"read the parent's command", [] { return can_read(of_parent("cmdline")); }},
    {"read the parent's pipes", [] { return can_read(of_parent("fd/0")); }},
    {"read the workbook", [] { return can_read(ONEPASS_SOURCE_DIR "/README.md"); }},
    {"write a file", [] { return can_write("/tmp/onepass_hostile", O_CREAT); }},
    {"write shared memory", [] { return can_write("/dev/shm/onepass_hostile", O_CREAT); }},
    {"write itself", [] { return can_write("/proc/self/exe"); }},
    {"cut a file", [] { return truncate(ONEPASS_VICTIM, 0) == 0; }},
    {"remove a file", [] { return unlink(ONEPASS_VICTIM) == 0; }},
    {"change a mode", [] { return chmod(ONEPASS_VICTIM, 0) == 0; }},
    {"change a date", [] { return utimensat(AT_FDCWD, ONEPASS_VICTIM, nullptr, 0) == 0; }},
    {"run a program", [] { return can_exec("/bin/true"); }},
    {"run itself", [] { return can_exec("/proc/self/exe"); }},
    {"have children", can_have_children},
    {"have children of its own kind", [] { return vfork() > 0; }},
    {"signal the parent", [] { return kill(getppid(), SIGCONT) == 0; }},
    {"signal all", [] { return kill(-1, 0) == 0; }},
    {"kill itself unseen", [] { return raise(SIGKILL) == 0; }},
    {"kill itself by a limit", [] { return can_limit(0, RLIMIT_CPU); }},
    {"kill itself by a timer", can_have_killing_timer},
    {"kill itself by a mode", [] { return prctl(PR_SET_SECCOMP, 1) == 0; }},
    {"outlive the parent", [] { return prctl(PR_SET_PDEATHSIG, 0) == 0; }},
    {"limit the parent", [] { return can_limit(getppid()); }},
    {"trace", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }},
    {"open TCP", [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
    {"open UDP", [] { return socket(AF_INET6, SOCK_DGRAM, 0) >= 0; }},
    {"open a local socket", [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
    {"share memory", [] { return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0; }},
    {"hide memory", [] { return memfd_create("hidden", 0) >= 0; }},
    {"have a namespace", [] { return unshare(CLONE_NEWUSER) == 0; }},
    {"have a ring", [] { return syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || errno == EFAULT; }},
    {"read the environment", [] { return getenv("ONEPASS_TEST_SECRET") != nullptr; }},
    {"may start a thread",
     [] {
       bool ran = false;
       std::thread([&] { ran = true; }).join();
       return ran;
     }},
    {"may read libraries", [] { return can_read("/proc/self/exe") && can_read("/dev/urandom"); }},
    {"may write nothing", [] { return can_write("/dev/null"); }},
    {"may limit itself", [] { return can_limit(0); }},
};

/// Until it is stopped; shared or not.
[[noreturn]] void take_memory() {
  constexpr std::size_t kPiece = std::size_t{64} << 20;
  for (int i = 0;; ++i) {
    void* const piece = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE,
                             MAP_ANONYMOUS | (i % 2 == 0 ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    std::memset(piece, 1, kPiece);
  }
}

/// The same, of which no page is memory of its own: each that is read is the kernel's one of zeros.
[[noreturn]] void take_page_tables() {
  constexpr std::size_t kPiece = std::size_t{64} << 30;
  constexpr std::size_t kOfOneTable = std::size_t{2} << 20;
  for (;;) {
    void* const piece =
        mmap(nullptr, kPiece, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
    for (std::size_t at = 0; at < kPiece; at += kOfOneTable) {
      static_cast<void>(static_cast<volatile char*>(piece)[at]);
    }
  }
}

/// And somebody writes without end meanwhile.
[[noreturn]] void take_memory_and_reply() {
  std::thread([] {
    send_bytes(std::string("\0\0\x10\0\0\0\0\0", 8));  // that 1 MiB follows
    for (;;) {
      send_bytes("x");
      usleep(100);
    }
  }).detach();
  take_memory();
}

[[noreturn]] void start_threads() {
  for (;;) {
    std::thread([] { pause(); }).detach();
  }
}

const std::map<std::string, void (*)()> kDeeds = {
    {"spin", spin},
    {"spin_until_asked", spin_until_asked},
    {"exit", [] { std::exit(0); }},
    {"abort", [] { std::abort(); }},
    {"segfault", [] { raise(SIGSEGV); }},
    {"flood", flood},
    {"flood_and_spin",
     [] {
       for (;;) {
         flood();
       }
     }},
    {"start_threads", start_threads},
    {"take_memory", take_memory},
    {"take_memory_and_reply", take_memory_and_reply},
    {"take_page_tables", take_page_tables},
    {"close",
     [] {
       for (int i = 0; i < 64; ++i) {
         close(i);
       }
       pause();
     }},
    {"garbage",
     [] {
       send_bytes(std::string(4096, 'x'));
       pause();
     }},
    {"no_json",
     [] {
       send_bytes(std::string("\x05\0\0\0\0\0\0\0hello", 13));
       pause();
     }},
    {"other_status",
     [] {
       wire::Ran ran;
       Message m = message_of("ran", ran);
       m.body["content"]["ending"]["outcome"] = "passed";
       m.body["id"] = 2;
       write_message(kReplyDescriptor, m);
     }},
    {"number_for_text",
     [] {
       wire::Ran ran;
       Message m = message_of("ran", ran);
       m.body["content"]["buffers"] = {{{"name", "y"}, {"blob", 1e300}}};
       m.body["id"] = 2;
       write_message(kReplyDescriptor, m);
     }},
    {"other_json",
     [] {
       Message m;
       m.body = {{"op", 5}, {"id", 2}, {"content", {1}}};
       write_message(kReplyDescriptor, m);
     }},
    {"half",
     [] {
       send_bytes(std::string("\x40\0\0\0\0\0\0\0{\"op\"", 13));
       std::exit(3);
     }},
    {"half_and_spin",
     [] {
       send_bytes(std::string("\x40\0\0\0", 4));
       pause();
     }},
    {"sleep", [] { usleep(100'000); }},
    {"twice", [] {}},
    {"honest", [] {}},
};

/// As long as another program has the device's memory, until a time that the call names, or that
/// the one beside it does.
Message served_busily(const wire::Call& call, const std::vector<Blob>& blobs) {
  const auto beside = call.beside_scalars.find("until_beside");
  const double until =
      beside != call.beside_scalars.end() ? beside->second : call.scalars.at("until");
  const double left = until - static_cast<double>(time(nullptr));
  if (left <= 0) {
    return answer(call, blobs);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(left));
  wire::Ran ran;
  ran.ending = {wire::Outcome::out_of_memory, "the device has no memory left"};
  return message_of("ran", ran);
}

Message served(const std::string& op, const json& content, const std::vector<Blob>& blobs,
               const std::string& device) {
  static wire::Call prepared;
  if (op == "hello") {
    return message_of("hello", wire::DeviceFacts{device, "none"});
  }
  if (op == "prepare") {
    prepared = content.get<wire::Call>();
    return message_of("prepared", wire::Ending{});
  }
  if (op == "fetch") {
    return zeros(prepared, content.get<wire::FetchOrder>());
  }
  const auto call = content.get<wire::Call>();
  if (const auto attempt = kAttempts.find(call.function); attempt != kAttempts.end()) {
    std::exit(attempt->second() ? 8 : 7);
  }
  if (call.function == "busy") {
    return served_busily(call, blobs);
  }
  const auto deed = kDeeds.find(call.function);
  if (deed == kDeeds.end()) {
    return message_of("refused", "no such function");
  }
  deed->second();
  return answer(call, blobs);
}

}  // namespace

/// A copy of the program that is called "..._gpu" has one.
int main(int, char** arguments) {
  const std::string name = arguments[0];
  const std::string device = name.substr(name.rfind('_') + 1) == "gpu" ? "gpu" : "cpu";
  Message request;
  while (read_message(kRequestDescriptor, request) == Transfer::done) {
    const json& content = request.body["content"];
    Message reply = served(request.body["op"], content, request.blobs, device);
    reply.body["id"] = request.body["id"];
    write_message(kReplyDescriptor, reply);
    if (content.is_object() && content.value("function", "") == "twice") {
      write_message(kReplyDescriptor, reply);
    }
  }
}
