#include "shoal/cluster/subprocess.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shoal/cluster/descriptors.h"
#include "shoal/core/error.h"

namespace shoal::cluster {
namespace {

constexpr const char* kLastWordsVariable = "SHOAL_LAST_WORDS_FD";
constexpr size_t kMaxLastWords = 2000;  // a pipe takes this much at once, so writing never blocks
constexpr size_t kMaxOutput = 1 << 20;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw PeerLost(format("cannot make a pipe: {}", describe_errno(errno)));
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A socket and not a pipe: writing to a program that has ended is then an error instead of a SIGPIPE.
Pipe make_input() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw PeerLost(format("cannot make a socket: {}", describe_errno(errno)));
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// An error shows when the program ends.
void send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

cpu_set_t set_of(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &set);
  }
  return set;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!additions.contains(std::string(text.substr(0, text.find('=')))))
      entries.emplace_back(text);
  }
  for (const auto& [name, value] : additions) entries.push_back(format("{}={}", name, value));
  return entries;
}

// Why the child could not become the program.
struct Failure {
  int error_number = 0;
  bool of_output = false;  // the output could not be opened; else the program could not be run
};

// Everything the child needs between fork and exec, prepared before: there it may only make system
// calls.
struct Launch {
  char* const* arguments;
  char* const* environment;
  const char* output;           // nullptr: inherited
  const cpu_set_t* cpus;        // nullptr: inherited
  int input_fd;                 // -1: inherited
  std::array<int, 2> keep_fds;  // survive exec
  int error_fd;                 // receives a Failure when exec fails
  pid_t parent;
};

[[noreturn]] void become(const Launch& launch) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(0);  // the parent died before the line above
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int fd : launch.keep_fds) ::fcntl(fd, F_SETFD, 0);
  // A CPU that has gone meanwhile costs speed, and is no reason to fail.
  if (launch.cpus != nullptr) ::sched_setaffinity(0, sizeof(*launch.cpus), launch.cpus);
  if (launch.input_fd >= 0) ::dup2(launch.input_fd, STDIN_FILENO);
  bool ready = true;
  if (launch.output != nullptr) {
    const int fd = ::open(launch.output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode);
    ready = fd >= 0 && ::dup2(fd, STDOUT_FILENO) >= 0 && ::dup2(fd, STDERR_FILENO) >= 0;
  }
  if (ready) ::execvpe(launch.arguments[0], launch.arguments, launch.environment);
  const Failure failure{errno, !ready};
  [[maybe_unused]] const ssize_t written = ::write(launch.error_fd, &failure, sizeof(failure));
  ::_exit(127);
}

}  // namespace

Child start(const Program& program) {
  SHOAL_CHECK(!program.arguments.empty(), "a program without a name");
  Pipe words = make_pipe();
  Pipe failures = make_pipe();
  Pipe input = program.input ? make_input() : Pipe{};
  const cpu_set_t cpus = set_of(program.cpus);
  StepPage steps;
  std::vector<std::string> arguments = program.arguments;
  std::map<std::string, std::string> additions = program.environment;
  additions[kLastWordsVariable] = std::to_string(words.write.get());
  additions[kStepPageVariable] = std::to_string(steps.fd());
  std::vector<std::string> environment = merged_environment(additions);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const Launch launch{argument_pointers.data(),
                      environment_pointers.data(),
                      program.output.empty() ? nullptr : program.output.c_str(),
                      program.cpus.empty() ? nullptr : &cpus,
                      input.read.get(),
                      {words.write.get(), steps.fd()},
                      failures.write.get(),
                      ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) throw PeerLost(format("cannot start a process: {}", describe_errno(errno)));
  if (pid == 0) become(launch);
  failures.write.reset();
  Failure failure;
  // Reads nothing once exec has succeeded.
  const ssize_t got = ::read(failures.read.get(), &failure, sizeof(failure));
  if (got > 0) {
    ::waitpid(pid, nullptr, 0);
    throw UsageError(
        format(failure.of_output ? "cannot write to '{}': {}" : "cannot start '{}': {}",
               failure.of_output ? program.output : program.arguments[0],
               describe_errno(failure.error_number)));
  }
  ::fcntl(words.read.get(), F_SETFL, O_NONBLOCK);
  // glibc 2.36 declares it for C only.
  UniqueFd death(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!death.valid()) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    throw PeerLost(format("cannot watch a process: {}", describe_errno(errno)));
  }
  if (program.input) send_all(input.write.get(), *program.input);
  return {pid, std::move(death), std::move(words.read), std::move(steps), std::move(input.write)};
}

void leave_last_words(const std::string& line) {
  const std::optional<int> fd = inherited_descriptor(kLastWordsVariable);
  if (!fd) return;
  const std::string cut = line.substr(0, kMaxLastWords);
  [[maybe_unused]] const ssize_t written = ::write(*fd, cut.data(), cut.size());
}

bool has_supervisor() { return inherited_descriptor(kLastWordsVariable).has_value(); }

std::string output_of(const std::vector<std::string>& arguments, Duration patience) {
  Pipe output = make_pipe();
  std::vector<std::string> copies = arguments;
  const std::vector<char*> pointers = pointers_to(copies);
  const pid_t pid = ::fork();
  if (pid < 0) return "";
  if (pid == 0) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, STDIN_FILENO);
    ::dup2(output.write.get(), STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  output.write.reset();
  std::string text;
  const Clock::time_point deadline = Clock::now() + patience;
  bool complete = false;
  while (!complete && text.size() < kMaxOutput) {
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now()).count();
    pollfd entry{output.read.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left)) <= 0) break;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(output.read.get(), buffer.data(), buffer.size());
    complete = got <= 0;
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  }
  if (!complete) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return complete && status == 0 ? text : "";
}

}  // namespace shoal::cluster
