// The list of files that a policy would purge, as a file that a person can read, hand on and check, signed so
// that only what the report named is deleted by it.
//
//     belay retention list 1
//     root /scratch
//     made 2026-03-01T12:00:00.000000Z
//     timestamp used
//     older_than_days 30
//     ask 0.6                                                 watermarks.ask of the policy, 0 without
//     spare_days 7                                            watermarks.spare_days
//     files 2
//     WHY INODE UID ACCESSED MODIFIED CHANGED BYTES PATH      one line each, times in nanoseconds since 1970
//     hmac-sha256 64 HEXADECIMAL DIGITS                       of all bytes before this line (RFC 2104)
//
// WHY is "due", or "pressed" for a younger file that goes only while the file system is fuller than "ask". A
// path is written as it is but for what would break a line or is not UTF-8: "\n" stands for a line feed,
// "\\" for a backslash and "\xHH" for any other such byte. The key comes from a file.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stage/retention/policy.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

std::string escape_path(std::string_view path);
// Errors: kBadInput for an unknown escape, or for 0 and "/" in one.
core::Result<std::string> unescape_path(std::string_view text);

struct PurgeEntry {
    std::string path;  // beneath the root
    uint64_t inode = 0;
    uint32_t user = 0;
    FileTimes times = {};
    uint64_t bytes = 0;
    bool pressed = false;  // younger than the policy's days
    bool operator==(const PurgeEntry&) const = default;
};

struct PurgeList {
    std::string root;  // absolute
    core::Time made = {};
    RetentionTime time = RetentionTime::kUsed;
    double days = 0;
    double ask_share = 0;
    double spare_days = 0;
    std::vector<PurgeEntry> entries = {};
};

std::string sign_list(const PurgeList& list, std::string_view key);
// Errors: kBadInput for what is not such a list, was changed since, or was signed with another key.
core::Result<PurgeList> read_signed_list(std::string_view text, std::string_view key,
                                         const std::string& file);

// Of a file that nobody else can read. Errors: kBadInput where others can, or it is shorter than 16 bytes;
// kSystem.
core::Result<std::string> read_key(const std::filesystem::path& file);

}  // namespace belay::stage
