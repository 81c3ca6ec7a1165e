// What a policy would purge of files that are told one after the other: how much of whom, and which.
#pragma once

#include "core/time.h"
#include "stage/retention/exemptions.h"
#include "stage/retention/occupancy.h"
#include "stage/retention/purge_list.h"
#include "stage/retention/spared.h"
#include "stage/walk/walk.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace belay::stage {

struct FileCount {
    uint64_t files = 0;
    uint64_t bytes = 0;  // on the device, which is what becomes free
    void add(uint64_t size) {
        ++files;
        bytes += size;
    }
    void add(const FileCount& other) {
        files += other.files;
        bytes += other.bytes;
    }
    bool operator==(const FileCount&) const = default;
};

// Of one user. The bytes of a file with several names (hard links) count once: as exempt where one of its
// names is, since they stay as long as that does.
struct UserRetention {
    FileCount all = {};
    FileCount due = {};                 // older than the policy allows
    FileCount pressed = {};             // younger, but the file system is too full
    FileCount soon = {};                // within warn_days
    FileCount exempt = {};              // would be due or soon, but for a pattern
    uint64_t due_with_other_names = 0;  // hard links
    std::string name = {};
    bool spared = false;  // by the policy: nothing of them is purged
};

struct ExpiringFile {
    std::string path;
    uint32_t user = 0;
    double days = 0;  // until it is due
};
inline constexpr size_t kListedExpiring = 20;

// What a survey goes by, the same for all its threads.
struct RetentionRules {
    RetentionPolicy policy = {};
    Exemptions exemptions = {};
    SparedUsers spared = {};
    Occupancy occupancy = {};
    core::Time now = {};
    bool with_list = true;  // else what is due is counted and not named

    Pressure pressure() const { return pressure_of(policy, occupancy); }
};

// What the paths of a tree were for a pattern of the policy.
struct PatternUse {
    bool files = false;  // it covers one, or a directory
    bool links = false;  // it covers a link, to whatever that leads
};

struct RetentionCounts {
    std::map<uint32_t, UserRetention> users = {};
    std::map<int64_t, FileCount> expiring = {};  // by whole days until they are due, 0 within a day
    std::vector<ExpiringFile> soonest = {};      // the first of these
    std::vector<PurgeEntry> entries = {};        // what is due, and what the watermarks press out, by path
    uint64_t several_names = 0;  // files due that have other names: their bytes stay until the last goes
    // What may not be as a policy's author thinks.
    std::vector<PatternUse> patterns = {};  // of each pattern of exempt
    uint64_t unknown_times = 0;             // files that are left because the time that counts is not known
    uint64_t future_times = 0;              // files whose time is more than a day ahead of the clock
    FileCount due_but_new = {};             // due by a time that is older than their last change of any kind
    int64_t last_change = 0;                // the latest of all changes (st_ctime) in the tree
};

// One for each thread, made by copying the first. Pure.
class RetentionSums {
  public:
    // `rules` must live longer. What is kept of younger files under pressure is bounded: without a list sums
    // by user and hour, with one the oldest of them that make room enough.
    explicit RetentionSums(const RetentionRules& rules);

    void add(const Listing& listing);
    void add(RetentionSums&& other);
    // With the users' names, for people.
    RetentionCounts finish(const std::function<std::string(uint32_t)>& name_of) &&;

  private:
    class Shared;  // among threads

    // Where a file stands by the time that counts.
    struct Standing {
        bool is_due = false;
        bool is_soon = false;
        bool may_be_pressed = false;
        double left_days = 0;  // until it is due
    };
    Standing standing_at(int64_t time) const;
    void note_patterns(const Listing& listing, const Entry& entry);
    void add_file(const Listing& listing, const Entry& entry, bool is_exempt_directory);
    void add_due_or_soon(const Entry& entry, const Standing& standing, uint64_t bytes,
                         const std::string& path);
    void add_linked();
    void press_out();
    void keep_soonest();

    const RetentionRules& rules_;
    int64_t now_;
    bool is_pressed_;
    std::shared_ptr<Shared> shared_;
    RetentionCounts counts_ = {};
    std::map<int64_t, std::map<uint32_t, FileCount>> pressable_ = {};  // by hour since 1970; without a list
};

}  // namespace belay::stage
