// What is not allowed is listed, not what is: a C library, or a driver, of tomorrow may need
// another call, and an honest program must not fail for that. So the list has whole classes.
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <system_error>

#include "process/system_calls.h"

namespace onepass::process {
namespace {

constexpr std::uint32_t kOwnPid = 0x7feedbad;  // no process has it; enter() puts the real one

constexpr const char* kForbidden[] = {
    // other programs; processes that are no threads of this one (clone() is below)
    "execveat", "fork", "vfork",
    // looking into others, and at the machine
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "kcmp", "pidfd_open", "pidfd_getfd", "perf_event_open", "userfaultfd", "lookup_dcookie",
    // signals to others (kill() and tgkill() are below)
    "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal",
    // how others run
    "setpriority", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set",
    "migrate_pages", "move_pages",
    // namespaces and mounts
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount",
    "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    // files: where Landlock is missing or has no rule for it
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "chown32", "fchown", "fchown32", "lchown",
    "lchown32", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr",
    "lremovexattr", "fremovexattr", "removexattrat", "file_setattr", "utime", "utimes", "utimensat",
    "utimensat_time64", "futimesat", "truncate", "truncate64", "unlinkat", "rename", "renameat",
    "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "rmdir", "mknod",
    "mknodat", "name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd", "fanotify_init",
    "swapon", "swapoff",
    // sockets that reach somebody (connect() and more are below)
    "sendmsg", "sendmmsg", "socketcall",
    // memory and messages that outlive the process
    "shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop",
    "semtimedop", "semtimedop_time64", "semctl", "ipc", "mq_open", "mq_unlink",
    // who it is
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid",
    "setfsgid", "setuid32", "setgid32", "setreuid32", "setregid32", "setresuid32", "setresgid32",
    "setgroups32", "setfsuid32", "setfsgid32", "capset",
    // ways around a filter, and the kernel itself
    "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "add_key", "request_key",
    "keyctl", "memfd_secret", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "reboot", "acct", "syslog", "settimeofday", "clock_settime",
    "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "sethostname",
    "setdomainname", "iopl", "ioperm", "modify_ldt", "personality", "vhangup", "uselib",
    "nfsservctl"};

/// Which a libseccomp may be too old to know; numbers from 424 on are the same everywhere.
constexpr struct {
  const char* name;
  int number;
} kNewer[] = {{"pidfd_send_signal", 424},
              {"io_uring_setup", 425},
              {"io_uring_enter", 426},
              {"io_uring_register", 427},
              {"open_tree", 428},
              {"move_mount", 429},
              {"fsopen", 430},
              {"fsconfig", 431},
              {"fsmount", 432},
              {"fspick", 433},
              {"pidfd_open", 434},
              {"clone3", 435},
              {"pidfd_getfd", 438},
              {"process_madvise", 440},
              {"mount_setattr", 442},
              {"quotactl_fd", 443},
              {"memfd_secret", 447},
              {"process_mrelease", 448},
              {"fchmodat2", 452},
              {"setxattrat", 463},
              {"removexattrat", 466},
              {"open_tree_attr", 467},
              {"file_setattr", 469}};

int number_of(const std::string& call) {
  for (const auto& [name, number] : kNewer) {
    if (call == name) {
      return number;
    }
  }
  return seccomp_syscall_resolve_name(call.c_str());
}

using Condition = scmp_arg_cmp;
using Conditions = std::initializer_list<Condition>;

Condition is_not(unsigned argument, const void* value) {
  return {argument, SCMP_CMP_NE, reinterpret_cast<std::uintptr_t>(value), 0};
}
Condition is_not(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}
/// Of the lower 32 bits: the kernel does not look at the others of such an argument.
Condition is(unsigned argument, std::uint32_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, 0xffffffff, value};
}
Condition has(unsigned argument, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, bits};
}
Condition lacks(unsigned argument, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, 0};
}

/// Rules as libseccomp knows them.
class Rules {
 public:
  Rules() : context_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {
    require(context_ != nullptr ? 0 : -ENOMEM, "seccomp_init");
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree, where it is known
  }

  /// The call fails with `error` where all conditions hold.
  void refuse(const char* call, Conditions conditions = {}, int error = EPERM) {
    const int number = number_of(call);
    require(number == __NR_SCMP_ERROR ? -ENOSYS : 0, call);
    const int result =
        seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                               static_cast<unsigned>(conditions.size()), conditions.begin());
    require(result, call);
  }

  std::vector<sock_filter> program() const {
    const int file = memfd_create("rules", MFD_CLOEXEC);
    const int result = file < 0 ? -errno : seccomp_export_bpf(context_.get(), file);
    std::vector<sock_filter> instructions;
    if (result == 0) {
      instructions.resize(static_cast<std::size_t>(lseek(file, 0, SEEK_END)) / sizeof(sock_filter));
      const std::size_t bytes = instructions.size() * sizeof(sock_filter);
      instructions.resize(pread(file, instructions.data(), bytes, 0) > 0 ? instructions.size() : 0);
    }
    close(file);
    require(result == 0 && instructions.empty() ? -EIO : result, "seccomp_export_bpf");
    return instructions;
  }

 private:
  static void require(int result, const char* what) {
    if (result < 0) {
      throw std::system_error(-result, std::generic_category(), what);
    }
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
};

void refuse_processes(Rules& rules) {
  rules.refuse("clone", {lacks(0, CLONE_THREAD)});
  for (const int separate : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                             CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
    rules.refuse("clone", {has(0, static_cast<std::uint64_t>(separate))});
  }
  rules.refuse("clone3", {}, ENOSYS);  // a filter does not see what it asks; clone() is tried then
}

/// It may end itself, but not so that it looks like the work of the machine: SIGKILL comes from
/// outside only, and it does not stop.
void refuse_signals(Rules& rules) {
  rules.refuse("kill", {is_not(0, kOwnPid)});
  rules.refuse("tgkill", {is_not(0, kOwnPid)});
  for (const std::uint32_t number : {SIGKILL, SIGSTOP}) {
    rules.refuse("kill", {is(1, number)});
    rules.refuse("tgkill", {is(2, number)});
  }
  for (const std::uint32_t command :
       {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY}) {  // a signal by way of a file
    rules.refuse("fcntl", {is(1, command)});
    rules.refuse("fcntl64", {is(1, command)});
  }
  rules.refuse("prlimit64", {is(1, RLIMIT_CPU), is_not(2, std::uint64_t{0})});
  rules.refuse("setrlimit", {is(0, RLIMIT_CPU)});
  rules.refuse("timer_create");  // its signal may be SIGKILL
  rules.refuse("seccomp");       // whose strict mode kills
  rules.refuse("prctl", {is(0, PR_SET_SECCOMP)});
  rules.refuse("prctl", {is(0, PR_SET_PDEATHSIG)});  // it goes with who started it
  rules.refuse("prctl", {is(0, PR_SET_DUMPABLE)});   // we look at what it takes
}

/// CUDA's driver keeps a socket for other processes that share its memory, and looks for a service
/// that shares the GPU (MPS). None may reach it, and it reaches none: there is no such service.
/// With another error than this cuInit() fails.
void refuse_reaching(Rules& rules) {
  rules.refuse("socket", {is_not(0, AF_UNIX)});
  rules.refuse("socketpair", {is_not(0, AF_UNIX)});
  rules.refuse("connect", {}, ENOENT);
  rules.refuse("sendto", {is_not(4, std::uint64_t{0})});
  for (const std::uint32_t request : {0x5412, 0x541c}) {  // TIOCSTI, TIOCLINUX: typing
    rules.refuse("ioctl", {is(1, request)});
  }
  for (const std::uint32_t request : {0x8901, 0x8902}) {  // FIOSETOWN, SIOCSPGRP: signals
    rules.refuse("ioctl", {is(1, request)});
  }
}

/// What only a driver of a device has to do.
void refuse_reaching_and_devices(Rules& rules) {
  rules.refuse("socket");
  rules.refuse("socketpair");
  rules.refuse("connect");
  rules.refuse("memfd_create");  // it would not count as the process's memory
  rules.refuse("sched_setaffinity", {is_not(0, std::uint64_t{0})});
  rules.refuse("ioctl", {}, ENOTTY);
}

}  // namespace

bool can_filter_system_calls() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

SystemCallFilter::SystemCallFilter(SystemCalls allowed, const void* path, const void* words) {
  if (allowed == SystemCalls::any || !can_filter_system_calls()) {
    return;
  }
  Rules rules;
  for (const char* call : kForbidden) {
    rules.refuse(call);
  }
  // CUDA's driver removes what lies where its socket is to be, and bears no other error.
  rules.refuse("unlink", {}, ENOENT);
  rules.refuse("execve", {is_not(0, path)});
  rules.refuse("execve", {is_not(1, words)});
  rules.refuse("prlimit64", {is_not(0, std::uint64_t{0}), is_not(2, std::uint64_t{0})});
  refuse_processes(rules);
  refuse_signals(rules);
  if (allowed == SystemCalls::of_a_gpu_driver) {
    refuse_reaching(rules);
  } else {
    refuse_reaching_and_devices(rules);
  }
  program_ = rules.program();
}

int SystemCallFilter::enter() {
  if (program_.empty()) {
    return 0;
  }
  for (sock_filter& instruction : program_) {
    if (BPF_CLASS(instruction.code) == BPF_JMP && instruction.k == kOwnPid) {
      instruction.k = static_cast<std::uint32_t>(getpid());
    }
  }
  const sock_fprog program = {static_cast<unsigned short>(program_.size()), program_.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return errno;
  }
  // The flag: no precautions against faults of the processor that slow down what is measured.
  for (const unsigned long flags :
       {SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0ul}) {  // before Linux 4.17 none
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0) {
      return 0;
    }
  }
  return errno;
}

}  // namespace onepass::process
