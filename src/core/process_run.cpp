// run(): a process to its end, with its output.
#include "core/process.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr size_t kReadChunk = 64 * 1024;
constexpr size_t kShownCommand = 120;  // characters of a command in a message

struct Capture {
    Descriptor reader;
    std::string text;
};

Result<std::pair<Descriptor, Descriptor>> make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot create a pipe");
    Descriptor reader(ends[0]), writer(ends[1]);
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    return std::pair(std::move(reader), std::move(writer));
}

// A file in memory at its start: unlike a pipe it needs nobody to feed it and cannot raise SIGPIPE here.
Result<Descriptor> input_descriptor(std::string_view input) {
    if (input.empty()) return open_file("/dev/null", O_RDONLY);
    Descriptor fd(memfd_create("belay-input", MFD_CLOEXEC));
    if (!fd) return errno_error(errno, "cannot create a file in memory");
    BELAY_CHECK(write_all(fd.get(), input, "a file in memory"));
    if (lseek(fd.get(), 0, SEEK_SET) != 0) return errno_error(errno, "cannot rewind a file in memory");
    return fd;
}

// Takes what is there now; closes the reader at the end of the stream.
Result<> drain(Capture& capture, size_t limit) {
    std::array<char, kReadChunk> buffer;
    while (capture.reader && capture.text.size() <= limit) {
        ssize_t n = read(capture.reader.get(), buffer.data(), buffer.size());
        if (n > 0)
            capture.text.append(buffer.data(), static_cast<size_t>(n));
        else if (n == 0)
            capture.reader.reset();
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            return errno_error(errno, "cannot read the output");
    }
    return {};
}

std::string shown(const Command& command) {
    std::string text = quote_command(command.argv);
    if (text.size() > kShownCommand) text.replace(kShownCommand, std::string::npos, "...");
    return text;
}

// Reads both streams until the process has ended; true if it did before the deadline.
Result<bool> read_until_exit(Process& process, std::array<Capture, 2>& captures, const Deadline& deadline,
                             size_t limit) {
    for (;;) {
        std::array<pollfd, 3> entries{pollfd{process.pidfd(), POLLIN, 0},
                                      pollfd{captures[0].reader.get(), POLLIN, 0},
                                      pollfd{captures[1].reader.get(), POLLIN, 0}};
        if (deadline.is_over()) return false;
        int ready = poll(entries.data(), entries.size(), deadline.poll_milliseconds());
        if (ready < 0 && errno != EINTR) return errno_error(errno, "cannot wait for output");
        if (ready <= 0) continue;
        for (Capture& capture : captures) {
            BELAY_CHECK(drain(capture, limit));
            if (capture.text.size() > limit) return system_error("wrote more than {} bytes", limit);
        }
        // Looked at before the pipes were drained, so nothing that the process wrote itself is missed.
        if (entries[0].revents != 0) return true;
    }
}

bool needs_no_quotes(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
}

std::string_view last_line(std::string_view text) {
    text = trim(text);
    size_t newline = text.rfind('\n');
    return newline == std::string_view::npos ? text : text.substr(newline + 1);
}

}  // namespace

Result<Output> run(Command command, const RunOptions& options) {
    Descriptor input;
    if (command.stdin_fd == Command::kInherit) {
        BELAY_TRY(fd, input_descriptor(options.input));
        input = std::move(fd);
        command.stdin_fd = input.get();
    }
    BELAY_TRY(out_pipe, make_pipe());
    BELAY_TRY(err_pipe, make_pipe());
    command.stdout_fd = out_pipe.second.get();
    command.stderr_fd = err_pipe.second.get();
    const Deadline deadline = options.timeout ? Deadline::after(*options.timeout) : Deadline::never();
    BELAY_TRY(process, spawn(command, deadline));
    out_pipe.second.reset();
    err_pipe.second.reset();

    std::array<Capture, 2> captures{Capture{std::move(out_pipe.first), {}},
                                    Capture{std::move(err_pipe.first), {}}};
    // An early return kills the process: its destructor does.
    Result<bool> ended = read_until_exit(process, captures, deadline, options.output_limit);
    if (!ended) return std::unexpected(std::move(ended.error()).context(shown(command)));
    if (!*ended) {
        auto killed = process.end();
        Error late =
            system_error("{}: did not finish within {:g} s", shown(command), to_seconds(*options.timeout))
                .because(Cause::kTimedOut)
                .error();
        return std::unexpected(killed ? std::move(late).after("; killed")
                                      : std::move(late).also(killed.error()));
    }
    BELAY_TRY(status, process.wait());
    return Output{status, std::move(captures[0].text), std::move(captures[1].text)};
}

Result<std::string> output_of(Command command, const RunOptions& options) {
    std::string name = shown(command);
    BELAY_TRY(output, run(std::move(command), options));
    if (output.status.success()) return std::move(output.out);
    std::string_view reason = last_line(output.err);
    if (reason.empty()) return system_error("{}: {}", name, output.status.describe());
    return system_error("{}: {}: {}", name, output.status.describe(), reason);
}

std::string quote_command(std::span<const std::string> argv) {
    std::string out;
    for (const std::string& argument : argv) {
        if (!out.empty()) out += ' ';
        if (!argument.empty() && std::all_of(argument.begin(), argument.end(), needs_no_quotes)) {
            out += argument;
            continue;
        }
        out += '\'';
        for (char c : argument) {
            if (c == '\'')
                out += "'\\''";
            else
                out += c;
        }
        out += '\'';
    }
    return out;
}

int end_like(const ExitStatus& status) {
    if (status.signal != 0) {
        rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::signal(status.signal, SIG_DFL);
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, status.signal);
        sigprocmask(SIG_UNBLOCK, &signals, nullptr);
        raise(status.signal);
    }
    return status.shell_status();
}

}  // namespace belay::core
