// A job as belayd's state has it: what Slurm and agents said about it, and how far its record is. A job is known by its key,
// since Slurm uses numbers again.
#pragma once

#include "core/time.h"
#include "server/access/policy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// How far its record is.
enum class RecordPhase : uint8_t {
    kNone,     // not begun
    kCutting,  // being cut from the blocks
    kSealed,   // there
    kFailed,   // cannot be made; phase_why says why
    kErased,   // gone for good: nothing about the job is stored again
};
std::string_view phase_name(RecordPhase phase);

// Where it was first heard of.
enum class JobOrigin : uint8_t {
    kSeen,      // agents saw its processes
    kSlurm,     // Slurm told
    kUploaded,  // somebody uploaded its record
};
std::string_view origin_name(JobOrigin origin);
std::string_view sharing_name(Sharing sharing);
std::optional<Sharing> sharing_named(std::string_view word);

// Texts that are empty and lists without entries are not known.
struct Job {
    std::string key;
    std::string cluster;
    int64_t id = 0;
    std::optional<int64_t> array_job, array_task;
    int64_t restart = 0;
    std::optional<core::Time> submit, start, end;
    std::string user, account, name, partition, slurm_state;
    std::vector<std::string> nodes;
    bool is_over = false;
    RecordPhase phase = RecordPhase::kNone;
    std::string phase_why;
    Sharing sharing = Sharing::kOwner;
    bool shares_last_words = false;
    JobOrigin origin = JobOrigin::kSeen;
    core::Time first_seen = {}, changed = {};  // by belayd's clock
};

// What access/policy.h decides by.
JobFacts facts_of(const Job& job);

}  // namespace belay::server
