// belay stage retention: what a policy would purge of a tree, when, and whose. Only regular files count;
// directories, links and others are left. Nothing is changed.
#pragma once

#include "core/directory.h"
#include "stage/retention/purge_list.h"
#include "stage/walk/walk.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include <nlohmann/json_fwd.hpp>

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

// Of one user.
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

// How full the file system is, as df(1) says it.
struct Occupancy {
    double bytes_share = 0;
    double inodes_share = 0;  // 0 where it makes inodes as it needs them
    uint64_t bytes = 0;       // of all that the shares are of: without what is kept for root
    uint64_t inodes = 0;
    double share() const { return bytes_share > inodes_share ? bytes_share : inodes_share; }
};
// Errors: kSystem.
core::Result<Occupancy> occupancy_of(const core::Directory& root);

enum class Pressure { kNone, kAsk, kPurge };
std::string_view to_text(Pressure pressure);
// None without watermarks.
Pressure pressure_of(const RetentionPolicy& policy, const Occupancy& occupancy);

struct ExpiringFile {
    std::string path;
    uint32_t user = 0;
    double days = 0;  // until it is due
};
inline constexpr size_t kListedExpiring = 20;

struct Survey {
    std::map<uint32_t, UserRetention> users = {};
    std::map<int64_t, FileCount> expiring = {};  // by whole days until they are due, 0 within a day
    std::vector<ExpiringFile> soonest = {};      // the first of these
    PurgeList list = {};                         // what is due, and what the watermarks press out, by path
    uint64_t several_names = 0;  // files due that have other names: their bytes stay until the last goes
    Occupancy occupancy = {};
    Pressure pressure = Pressure::kNone;
    std::vector<std::string> notes = {};
    WalkReport walk = {};
};

// Inodes with several names, of which one was counted: of all threads together.
class CountedInodes {
  public:
    bool is_first(uint64_t inode) {
        const std::lock_guard lock(mutex_);
        return inodes_.insert(inode).second;
    }

  private:
    std::mutex mutex_;
    std::set<uint64_t> inodes_;
};

// Whose files a policy spares.
struct SparedUsers {
    std::set<uint32_t> exempt = {};
    std::optional<std::set<uint32_t>> only = {};  // nobody else's go
    bool spares(uint32_t user) const { return exempt.contains(user) || (only && !only->contains(user)); }
};
// Names that nobody knows, or that cannot be looked up now, protect nobody: so they are errors. Errors:
// kBadInput; kSystem.
core::Result<SparedUsers> find_spared(const RetentionPolicy& policy);

// Everything that a survey is told, one file after the other. Pure; one for each thread, made by copying the
// first.
class RetentionSums {
  public:
    // Without `with_list` the files that are due are counted and not named: a tree may have hundreds of
    // millions of them.
    RetentionSums(const RetentionPolicy& policy, core::Time now, bool pressed, bool with_list = true)
        : policy_(policy),
          now_(core::to_nanoseconds(now)),
          pressed_(pressed),
          with_list_(with_list),
          linked_(std::make_shared<CountedInodes>()) {}

    void add(const Listing& listing);
    void add(RetentionSums&& other);
    // With the users' names, for people.
    Survey finish(const Occupancy& occupancy, const SparedUsers& spared,
                  const std::function<std::string(uint32_t)>& name_of) &&;

  private:
    struct Candidate {
        PurgeEntry entry;
        uint64_t allocated_bytes;
        int64_t time;
        uint32_t links;
    };
    void add_file(const Listing& listing, const Entry& entry, bool is_exempt_directory);
    void keep_soonest();

    const RetentionPolicy& policy_;
    int64_t now_;
    bool pressed_;
    bool with_list_;
    std::shared_ptr<CountedInodes> linked_;
    std::map<uint32_t, UserRetention> users_ = {};
    std::map<uint32_t, std::map<int64_t, FileCount>> expiring_ = {};
    std::vector<ExpiringFile> soonest_ = {};
    std::vector<Candidate> due_ = {};
    std::vector<Candidate> younger_ = {};  // which may be pressed out
};

struct SurveyOptions {
    size_t threads = 8;
    double most_calls_per_second = 0;
    core::Time now = {};
    bool with_list = true;  // else what is due is counted and not named
    const std::atomic<bool>* stop = nullptr;
};

// Errors: kBadInput where `directory` is not one; kSystem.
core::Result<Survey> survey(const std::filesystem::path& directory, const RetentionPolicy& policy,
                            const SurveyOptions& options);

nlohmann::ordered_json to_json(const Survey& survey, const RetentionPolicy& policy);

}  // namespace belay::stage
