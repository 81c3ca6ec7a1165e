#include "server/belayd/query.h"

#include "core/text.h"
#include "core/utf8.h"

#include <string_view>
#include <utility>

namespace belay::server {

namespace {

// "belay: WHAT: WHY" and "hint: …" of what the program printed to stderr, without the place of the record.
core::Failure failure_of(const core::Output& output, const std::filesystem::path& record) {
    constexpr std::string_view kProgram = "belay: ", kHint = "hint: ";
    std::string message, hint;
    for (const std::string_view line : core::split(output.err, '\n')) {
        const std::string_view text = core::trim(line);
        if (text.starts_with(kHint)) hint = text.substr(kHint.size());
        if (message.empty() && text.starts_with(kProgram)) message = text.substr(kProgram.size());
    }
    for (size_t at = 0; (at = message.find(record.string(), at)) != std::string::npos;)
        message.replace(at, record.string().size(), "the record");
    if (message.empty()) message = "the query failed: " + output.status.describe();
    // 2 is the exit status of what the person wrote wrong.
    const bool is_theirs = output.status.code == static_cast<int>(core::ErrorKind::kBadInput);
    auto failure = is_theirs ? core::bad_input("{}", core::printable(message))
                             : core::system_error("{}", core::printable(message));
    return std::move(failure).hint(core::printable(hint));
}

}  // namespace

core::Result<std::string> query_record(const std::filesystem::path& belay,
                                       const std::filesystem::path& record, const std::string& sql,
                                       const ProgramLimits& limits) {
    if (core::trim(sql).empty()) return core::bad_input("the SQL is empty");
    BELAY_TRY(output,
              run_limited({belay.string(), "record", "query", "--json", "--", record.string(), sql}, limits));
    if (!output.status.success()) return failure_of(output, record);
    return std::move(output.out);
}

}  // namespace belay::server
