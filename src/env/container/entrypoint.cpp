#include "env/container/entrypoint.h"

#include "core/error_codec.h"
#include "core/fork.h"
#include "core/program.h"
#include "core/text.h"
#include "core/utf8.h"
#include "env/container/container.h"
#include "env/container/holder_link.h"
#include "procfs/children.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" const char belay_entry_program[], belay_entry_program_end[];

namespace belay::env {

using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr size_t kShownOutput = 2000;  // bytes of what a failed entrypoint printed
constexpr size_t kMostToldError = 8 * core::kLongestEncodedText;

// In a process of its own; returns only if it fails, and why goes to `failed`, which the entrypoint does not
// get.
int become(const std::vector<std::string>& argv, const core::Environment& variables,
           const std::string& workdir, pid_t init, int output, int failed) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const auto done = core::without_exceptions([&]() -> Result<> {
        BELAY_TRY(container, Container::of_process(init));
        BELAY_CHECK(container.join(workdir));
        return std::unexpected(execute(argv, variables));
    });
    (void)core::write_all(failed, core::encode_error(done.error()), "the error");
    return 127;
}

// It may have printed all that the container's memory holds.
std::string end_of_file(int fd, size_t most) {
    struct stat status{};
    if (fstat(fd, &status) != 0) return "";
    const size_t size = std::min(static_cast<size_t>(status.st_size), most);
    std::string out(size, '\0');
    const ssize_t n = pread(fd, out.data(), size, status.st_size - static_cast<off_t>(size));
    out.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return out;
}

// Why it never became the entrypoint; nothing where it did.
std::optional<core::Error> failure_to_become(int failed) {
    const std::string told = end_of_file(failed, kMostToldError);
    if (told.empty()) return std::nullopt;
    auto error = core::decode_error(told);
    return (error ? std::move(*error) : std::move(error.error())).context("the image's entrypoint");
}

// Nothing where the kernel does not list children.
std::vector<pid_t> children() {
    auto text = core::read_file(fmt::format("/proc/self/task/{}/children", getpid()));
    return procfs::parse_children(text.value_or(""));
}

}  // namespace

core::Error entrypoint_failure(const std::string& program, const std::optional<core::ExitStatus>& ended,
                               std::string_view printed) {
    const std::string what = ended ? "ended with " + ended->describe()
                                   : fmt::format("did not start its command within {} s",
                                                 core::to_seconds(kHolderTimes.entrypoint));
    const std::string_view shown = core::trim(printed);
    core::Error error =
        core::bad_input("the image's entrypoint {} {}{}{}", program, what, shown.empty() ? "" : ": ",
                        core::printable(shown))
            .hint("it must start what it is given as its command; without entrypoint = true it is not run")
            .error();
    if (ended && ended->signal == 0) return error;
    return std::move(error)
        .as(core::ErrorKind::kSystem)
        .because(ended ? core::Cause::kEnded : core::Cause::kTimedOut);
}

core::Environment variables_of(const std::vector<std::string_view>& entries) {
    core::Environment variables;
    for (std::string_view entry : entries)
        if (size_t equals = entry.find('='); equals != std::string_view::npos && equals > 0)
            variables[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
    return variables;
}

Result<> offer_entry(const fs::path& directory) {
    BELAY_CHECK(core::make_directories(directory));
    fs::path program = directory / "entry";
    BELAY_CHECK(core::replace_file(program, {belay_entry_program, belay_entry_program_end}));
    if (chmod(program.c_str(), 0755) != 0)
        return core::errno_error(errno, "cannot make belay-entry executable");
    return {};
}

Result<Entered> run_entrypoint(const std::vector<std::string>& entrypoint, const core::Environment& variables,
                               const std::string& workdir, pid_t init, const fs::path& directory, int link) {
    // In the container's own memory, which is bounded; what it started may go on writing.
    BELAY_TRY(output, core::open_file(directory / "output", O_RDWR | O_CREAT | O_APPEND));
    core::Descriptor failed(memfd_create("belay-entry", MFD_CLOEXEC));
    if (!failed) return core::errno_error(errno, "cannot make a file in memory");
    std::vector<std::string> argv = entrypoint;
    argv.push_back(std::string(kEntryDirectory) + "/entry");
    BELAY_TRY(process,
              core::fork_process(
                  {.name = "belay-entry",
                   .signals = core::ChildSignals::kDefault,
                   .keep = {output.get(), failed.get()},
                   .new_session = true},
                  [&] { return become(argv, variables, workdir, init, output.get(), failed.get()); }));
    const auto deadline = core::Deadline::after(kHolderTimes.entrypoint);
    // The command may be a child of the entrypoint, and come while that already ends.
    for (;;) {
        BELAY_TRY(ended, process.wait_for(std::chrono::milliseconds(1)));
        std::error_code ignored;
        if (fs::exists(directory / "variables", ignored)) break;
        pollfd waiting{.fd = link, .events = 0, .revents = 0};
        if (poll(&waiting, 1, 0) == 1 && (waiting.revents & (POLLHUP | POLLERR)) != 0)
            return core::system_error("nobody waits for the container any more");
        if (ended)
            if (auto error = failure_to_become(failed.get())) return std::unexpected(std::move(*error));
        if (!ended && !deadline.is_over()) continue;
        auto failure = entrypoint_failure(entrypoint.front(), ended, end_of_file(output.get(), kShownOutput));
        // One that waits in the kernel is left behind, and that is said.
        if (auto over = process.end(); !over) failure = std::move(failure).also(over.error());
        return std::unexpected(std::move(failure));
    }
    BELAY_TRY(text, core::read_file(directory / "variables", kMostVariables));
    return Entered{std::move(process), variables_of(core::split(text, '\0'))};
}

void end_descendants() {
    // Those that wait in the kernel do not end: whoever reaps orphans gets them.
    const auto deadline = core::Deadline::after(core::kKillPatience);
    for (auto found = children(); !found.empty() && !deadline.is_over(); found = children()) {
        for (pid_t child : found) kill(child, SIGKILL);
        pid_t reaped = 0;
        while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {  // its own children are ours now
        }
        if (reaped == 0) usleep(500);
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

}  // namespace belay::env
