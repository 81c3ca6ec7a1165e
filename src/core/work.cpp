#include "core/work.h"

#include "core/error_codec.h"
#include "core/fork.h"
#include "core/program.h"
#include "core/stall_watch.h"
#include "core/units.h"
#include "core/utf8.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);  // before the answer; both sides are the same program

int answer_with(int pipe, const Work::Function& function, size_t limit) {
    std::signal(SIGPIPE, SIG_IGN);
    Result<std::string> result = without_exceptions(function);
    if (result && result->size() > limit) result = system_error("an answer of more than {} bytes", limit);
    const std::string text = encode_result(result);
    const uint64_t length = text.size();
    std::string message(reinterpret_cast<const char*>(&length), sizeof length);
    const Result<> written = write_all(pipe, message + text, "the answer");
    if (!written)
        note_activity("tell its result:", written.error().message());  // which the parent still sees
    return written ? 0 : 1;
}

// What it was doing, for the end of a message.
std::string at(const std::string& activity) {
    return activity.empty() ? "" : fmt::format(" (at: {})", activity);
}

std::string behind(const std::string& what, std::string_view text) {
    return what.empty() ? std::string(text) : fmt::format("{}: {}", what, text);
}

int milliseconds(Duration duration) {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Result<Work> Work::start(WorkOptions options, const Function& function) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, behind(options.what, "cannot create a pipe"));
    Descriptor reader(ends[0]), writer(ends[1]);
    if (writer.get() <=
        STDERR_FILENO) {  // started without standard descriptors: /dev/null would take its place
        writer = Descriptor(fcntl(writer.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        if (!writer) return errno_error(errno, behind(options.what, "cannot duplicate a descriptor"));
    }
    BELAY_TRY(activity, Activity::create());
    const bool null_streams = options.streams == WorkStreams::kNull;
    StreamRelay relay;
    if (!null_streams) {
        BELAY_TRY(made, StreamRelay::create());
        relay = std::move(made);
    }
    ForkOptions fork_options{.name = options.name,
                             .null_streams = null_streams,
                             .keep = options.keep,
                             .close_others = !options.keep_all,
                             .death_signal = SIGKILL};
    fork_options.keep.push_back(writer.get());
    for (int fd : relay.descriptors()) fork_options.keep.push_back(fd);
    auto process = fork_process(fork_options, [&] {
        reader.reset();
        relay.take_over();
        activity.watch_this_process();
        return answer_with(writer.get(), function, options.limit);
    });
    if (!process) {
        if (options.what.empty()) return std::unexpected(std::move(process.error()));
        return std::unexpected(std::move(process.error()).context(options.what));
    }
    relay.release();
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    return Work(std::move(options), std::move(*process), std::move(reader), std::move(activity),
                std::move(relay));
}

// Once all of it is here.
std::optional<std::string_view> Work::answer() const {
    uint64_t length = 0;
    if (received_.size() < kLengthBytes) return std::nullopt;
    received_.copy(reinterpret_cast<char*>(&length), sizeof length);
    std::string_view text = std::string_view(received_).substr(kLengthBytes);
    if (text.size() < length) return std::nullopt;
    return text.substr(0, length);
}

bool Work::poll_result() {
    std::array<char, 16 * 1024> buffer;
    while (!ended_) {
        ssize_t size = read(pipe_.get(), buffer.data(), buffer.size());
        if (size < 0 && errno == EAGAIN) break;
        if (size < 0 && errno == EINTR) continue;
        if (size > 0) received_.append(buffer.data(), static_cast<size_t>(size));
        // A child of the child may still hold the pipe: what counts is the answer.
        ended_ = size <= 0 || answer();
    }
    if (ended_) pipe_.reset();
    return ended_;
}

Result<std::string> Work::result() {
    relay_.carry();
    if (auto text = answer()) return decode_result(*text);
    auto status = process_.wait_for(kKillPatience);
    relay_.carry();
    if (!status) return std::unexpected(std::move(status.error()));
    const std::string how = *status ? (*status)->describe() : "no end either";
    return system_error("{}", about(fmt::format("the process ended without an answer, with {}{}", how,
                                                at(activity_.text()))))
        .because(Cause::kEnded);
}

std::optional<int> Work::exit_code() {
    const auto status = process_.wait_for(Duration::zero());
    if (!status || !*status || (*status)->signal != 0) return std::nullopt;
    return (*status)->code;
}

std::string Work::about(std::string_view text) const {
    return behind(options_.what, text);
}

std::string Work::activity() const {
    if (last_activity_) return *last_activity_;
    if (auto call = file_call_of(process_.pid()); call && call->names_file) return printable(call->what);
    return activity_.text();
}

Error Work::give_up(Duration allowed) {
    last_activity_ = activity();
    auto killed = process_.end();
    relay_.carry();
    Error error =
        system_error(
            "{}", about(fmt::format("no answer within {}{}", format_duration(allowed), at(*last_activity_))))
            .because(Cause::kTimedOut)
            .error();
    if (!killed) error = std::move(error).also(killed.error());
    return error;
}

Result<> Work::wait_for_something(int milliseconds, const Descriptor& signals) {
    std::vector<pollfd> entries = relay_.entries();
    if (!ended_) entries.push_back({.fd = descriptor(), .events = POLLIN, .revents = 0});
    if (signals) entries.push_back({.fd = signals.get(), .events = POLLIN, .revents = 0});
    const int ready = poll(entries.data(), entries.size(), milliseconds);
    if (ready < 0 && errno != EINTR) return errno_error(errno, about("cannot wait for it"));
    pass_on(signals);  // first: whoever reads our output may pause
    relay_.carry();
    return {};
}

void Work::pass_on(const Descriptor& signals) {
    signalfd_siginfo info{};
    while (signals && read(signals.get(), &info, sizeof info) == sizeof info) {
        passed_signal_ = static_cast<int>(info.ssi_signo);
        (void)process_.kill(
            passed_signal_);  // it may have ended; if it was signalled itself, that is one signal to it
    }
}

bool Work::was_ended_by_passed_signal() {
    const auto status = process_.wait_for(Duration::zero());
    return status && *status && passed_signal_ != 0 && (*status)->signal == passed_signal_;
}

Result<std::string> Work::finish(const Deadline& deadline) {
    const Duration allowed = deadline.left();
    while (!poll_result()) {
        BELAY_CHECK(wait_for_something(deadline.poll_milliseconds()));
        if (deadline.is_over() && !poll_result()) return std::unexpected(give_up(allowed));
    }
    return result();
}

Result<std::string> Work::finish_unless_stalled(Duration patience, const Descriptor& signals) {
    StallWatch watch(process_.pid(), patience, system_clock());
    while (!poll_result()) {
        BELAY_CHECK(wait_for_something(milliseconds(watch.interval()), signals));
        auto call = poll_result() ? std::nullopt : watch.look();
        if (!call) continue;
        const Duration allowed = patience * (call->carries_data ? StallWatch::kDataFactor : 1);
        auto killed = process_.end();
        relay_.carry();
        Error error =
            system_error("{}", about(fmt::format("cannot {}: no answer within {}{}", printable(call->what),
                                                 format_duration(allowed),
                                                 call->names_file ? "" : at(activity_.text()))))
                .because(Cause::kTimedOut)
                .hint("its file server does not answer; the setting files.wait says how long Belay waits")
                .error();
        if (!killed) error = std::move(error).also(killed.error());
        return std::unexpected(std::move(error));
    }
    return result();
}

Result<std::string> run_within(Duration allowed, WorkOptions options, const Work::Function& function) {
    BELAY_TRY(work, Work::start(std::move(options), function));
    return work.finish(Deadline::after(allowed));
}

Result<> check_within(Duration allowed, WorkOptions options, const std::function<Result<>()>& function) {
    auto done = run_within(allowed, std::move(options), [&]() -> Result<std::string> {
        BELAY_CHECK(function());
        return std::string();
    });
    if (!done) return std::unexpected(std::move(done.error()));
    return {};
}

}  // namespace belay::core
