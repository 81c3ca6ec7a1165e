#include "core/work.h"

#include "core/error_codec.h"
#include "core/fork.h"
#include "core/units.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);  // before the answer; both sides are the same program

int answer_with(int pipe, const Work::Function& function, size_t limit) {
    std::signal(SIGPIPE, SIG_IGN);
    Result<std::string> result;
    try {
        result = function();
    } catch (const std::exception& exception) {
        result = system_error("{}", exception.what());
    } catch (...) {
        result = system_error("an exception of an unknown type");
    }
    if (result && result->size() > limit) result = system_error("an answer of more than {} bytes", limit);
    const std::string text = encode_result(result);
    const uint64_t length = text.size();
    std::string message(reinterpret_cast<const char*>(&length), sizeof length);
    return write_all(pipe, message + text, "the answer") ? 0 : 1;
}

// What it was doing, for the end of a message.
std::string at(const Activity& activity) {
    const std::string text = activity.text();
    return text.empty() ? "" : fmt::format(" (at: {})", text);
}

}  // namespace

Result<Work> Work::start(WorkOptions options, const Function& function) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, options.what + ": cannot create a pipe");
    Descriptor reader(ends[0]), writer(ends[1]);
    if (writer.get() <=
        STDERR_FILENO) {  // started without standard descriptors: /dev/null would take its place
        writer = Descriptor(fcntl(writer.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        if (!writer) return errno_error(errno, options.what + ": cannot duplicate a descriptor");
    }
    BELAY_TRY(activity, Activity::create());
    ForkOptions fork_options{
        .name = options.name, .null_streams = true, .keep = options.keep, .death_signal = SIGKILL};
    fork_options.keep.push_back(writer.get());
    auto process = fork_process(fork_options, [&] {
        activity.watch_this_process();
        return answer_with(writer.get(), function, options.limit);
    });
    if (!process) return std::unexpected(std::move(process.error()).context(options.what));
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    return Work(std::move(options), std::move(*process), std::move(reader), std::move(activity));
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
    if (auto text = answer()) return decode_result(*text);
    auto status = process_.wait_for(kKillPatience);
    if (!status) return std::unexpected(std::move(status.error()).context(options_.what));
    const std::string how = *status ? (*status)->describe() : "no end either";
    return system_error("{}: the process ended without an answer, with {}{}", options_.what, how,
                        at(activity_))
        .because(Cause::kEnded);
}

Error Work::give_up(Duration allowed) {
    const std::string where = at(activity_);
    auto killed = process_.end();
    Error error = system_error("{}: no answer within {}{}", options_.what, format_duration(allowed), where)
                      .because(Cause::kTimedOut)
                      .error();
    if (!killed) error = std::move(error).hint(killed.error().message());
    return error;
}

Result<std::string> Work::finish(const Deadline& deadline) {
    const Duration allowed = deadline.left();
    while (!poll_result()) {
        pollfd entry{.fd = descriptor(), .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready < 0 && errno != EINTR) return errno_error(errno, options_.what + ": cannot wait for it");
        if (ready <= 0 && deadline.is_over() && !poll_result()) return std::unexpected(give_up(allowed));
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
