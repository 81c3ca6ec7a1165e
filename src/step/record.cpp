#include "step/record.h"

#include "core/units.h"
#include "transfer/socket.h"
#include "vet/child_task.h"

namespace belay::step {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

// A letter for the kind, the hint, a line feed, the message; nothing for success.
std::string encode(const Result<>& result) {
    if (result) return "";
    const Error& error = result.error();
    return (error.kind() == ErrorKind::kBadInput ? "b" : "s") + error.hint_text() + "\n" + error.message();
}

Result<> decode(std::string_view text) {
    if (text.empty()) return {};
    size_t end = std::min(text.find('\n'), text.size() - 1);
    Error error(text[0] == 'b' ? ErrorKind::kBadInput : ErrorKind::kSystem,
                std::string(text.substr(end + 1)));
    if (end > 1) error = std::move(error).hint(std::string(text.substr(1, end - 1)));
    return std::unexpected(std::move(error));
}

}  // namespace

Result<> begin_in_time(const std::function<Result<>()>& begin, core::Duration longest) {
    BELAY_TRY(child, vet::ChildTask::start([&] { return encode(begin()); }));
    transfer::Deadline deadline = transfer::deadline_in(longest);
    auto text = child.finish(deadline);
    if (text) return decode(*text);
    if (transfer::milliseconds_until(deadline) > 0) return std::unexpected(std::move(text.error()));
    return core::system_error("its file system did not answer within {}", core::format_duration(longest));
}

}  // namespace belay::step
