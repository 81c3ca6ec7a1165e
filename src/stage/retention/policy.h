// A policy says which files of a tree are purged: how old, by which of their times, and which never. TOML:
//
//     older_than_days = 30
//     timestamp = "used"       # accessed, modified, changed, used (the later of accessed and modified) or
//                              # latest (of all three)
//     warn_days = 7            # report what expires within so many days
//     exempt = [".uenv-images", "ada/keep/**"]         # exemptions.h
//     exempt_users = ["root", "12345"]
//     users = ["ada"]          # only theirs; without it everybody's
//
//     [watermarks]             # shares in use of the file system's bytes or inodes, whichever is more
//     ask = 0.6                # people are asked to clean up
//     purge = 0.8              # younger files go too, the oldest first, until "ask" is reached,
//     spare_days = 7           # but none that is not older than this
//
//     [quota]                  # of each user, for the report
//     bytes = "150TB"
//     inodes = 1000000
//
// There is no default for older_than_days and timestamp: a policy states what "old" means. What would list
// more than its author may have meant is refused: a list without anything in it, 0 days, a watermark of 0, a
// pattern that can match no path.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

enum class RetentionTime { kAccessed, kModified, kChanged, kUsed, kLatest };
std::string_view to_text(RetentionTime time);
// For people: "its content was last read (st_atime)".
std::string_view meaning_of(RetentionTime time);

struct RetentionPolicy {
    double days = 0;
    RetentionTime time = RetentionTime::kUsed;
    double warn_days = 7;
    std::vector<std::string> exempt = {};        // patterns
    std::vector<std::string> exempt_users = {};  // names or numbers
    // Likewise: of nobody else anything goes. Nothing: everybody's; an empty list is that of nobody.
    std::optional<std::vector<std::string>> users = {};
    std::optional<double> ask_share = {};
    std::optional<double> purge_share = {};
    double spare_days = 7;
    std::optional<uint64_t> quota_bytes = {};
    std::optional<uint64_t> quota_inodes = {};
};

// Errors: kBadInput with the place.
core::Result<RetentionPolicy> parse_retention_policy(std::string_view text, const std::string& file);

// What a file's times are, in nanoseconds since 1970.
struct FileTimes {
    int64_t accessed = 0;
    int64_t modified = 0;
    int64_t changed = 0;
    bool operator==(const FileTimes&) const = default;
};
int64_t time_of(const FileTimes& times, RetentionTime which);
// 1970 and before is no time at which a file was used: the file system does not keep it, or a program wrote 0.
inline bool is_known(int64_t time) {
    return time > 0;
}

inline constexpr double kNanosecondsOfDay = 86400e9;
inline double age_in_days(int64_t time, int64_t now) {
    return (static_cast<double>(now) - static_cast<double>(time)) / kNanosecondsOfDay;
}

}  // namespace belay::stage
