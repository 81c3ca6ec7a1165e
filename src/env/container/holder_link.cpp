#include "env/container/holder_link.h"

#include "core/error_codec.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"
#include "env/container/entrypoint.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::env {

using core::Result;

namespace {

constexpr char kReply = 'r';
// The variables of an entrypoint and their names, and some for an error.
constexpr size_t kLongestReply = kMostVariables + (size_t{1} << 20);
constexpr std::string_view kHolder = "the container's holder";

std::string_view name_of(HolderPart part) {
    switch (part) {
        case HolderPart::kImage:
            return "mounting the image";
        case HolderPart::kUser:
            return "asking the name service for the user";
        case HolderPart::kSources:
            return "looking for what is mounted from the host";
        case HolderPart::kCreate:
            return "making the container";
        case HolderPart::kEntrypoint:
            return "starting the image's entrypoint";
    }
    return "";
}

core::Failure ended_without_reply() {
    return core::system_error("{} ended without a reply", kHolder)
        .because(core::Cause::kEnded)
        .hint("look for a process that was killed for lack of memory: dmesg");
}

// One byte: a part, kReply or, at the end, 0.
Result<char> receive_mark(int link, const core::Deadline& deadline, HolderPart part) {
    for (;;) {
        pollfd entry{.fd = link, .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready < 0 && errno != EINTR)
            return core::errno_error(errno, fmt::format("cannot wait for {}", kHolder));
        if (ready == 0 && deadline.is_over())
            return core::system_error("the container: {}: no answer in time", name_of(part))
                .because(core::Cause::kTimedOut);
        if (ready <= 0) continue;
        char mark = 0;
        ssize_t size = recv(link, &mark, 1, MSG_DONTWAIT);
        if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (size < 0 && errno != ECONNRESET)
            return core::errno_error(errno, fmt::format("cannot hear {}", kHolder));
        return size == 1 ? mark : '\0';
    }
}

// All of the reply.
Result<std::string> receive_text(int link, size_t squashfs_files, const HolderTimes& times) {
    HolderPart part = HolderPart::kImage;
    for (;;) {
        auto deadline = core::Deadline::after(time_of(part, squashfs_files, times));
        BELAY_TRY(mark, receive_mark(link, deadline, part));
        if (mark == '\0') return ended_without_reply();
        if (mark != kReply) {
            part = static_cast<HolderPart>(mark);
            continue;
        }
        BELAY_TRY(text, core::read_to_end(link, kHolder, kLongestReply, deadline));
        if (text.empty()) return ended_without_reply();
        return text;
    }
}

}  // namespace

core::Duration time_of(HolderPart part, size_t squashfs_files, const HolderTimes& times) {
    switch (part) {
        case HolderPart::kImage:
            return static_cast<int64_t>(squashfs_files) * times.file;
        case HolderPart::kUser:
            return times.user;
        case HolderPart::kSources:
            return times.sources;
        case HolderPart::kCreate:
            return times.create + times.flags;
        case HolderPart::kEntrypoint:
            return times.entrypoint;
    }
    return {};
}

Result<> tell_part(int link, HolderPart part) {
    return core::write_all(link, std::string(1, static_cast<char>(part)), "the container's link");
}

Result<> tell_reply(int link, const Result<HolderReply>& reply) {
    Result<std::string> text;
    if (reply) {
        text = fmt::format("{}", reply->init);
        for (const auto& [name, value] : reply->variables) *text += fmt::format("{}{}={}", '\0', name, value);
    } else {
        text = std::unexpected(reply.error());
    }
    auto told = core::write_all(link, kReply + core::encode_result(text), "the container's link");
    shutdown(link, SHUT_WR);
    return told;
}

Result<HolderReply> decode_reply(std::string_view text) {
    BELAY_TRY(value, core::decode_result(text));
    auto words = core::split(value, '\0');
    auto init = core::parse_number<pid_t>(words.at(0));
    if (!init || *init <= 0) return core::system_error("{} named no process", kHolder);
    words.erase(words.begin());
    return HolderReply{.init = *init, .variables = variables_of(words)};
}

Result<HolderReply> receive_reply(int link, size_t squashfs_files, const OnSilence& on_silence,
                                  const HolderTimes& times) {
    auto text = receive_text(link, squashfs_files, times);
    if (!text) return std::unexpected(on_silence(std::move(text.error())));
    return decode_reply(*text);
}

}  // namespace belay::env
