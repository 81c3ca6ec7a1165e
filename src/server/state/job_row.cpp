#include "server/state/job_row.h"

#include "core/text.h"
#include "server/state/rows.h"

#include <array>
#include <utility>

namespace belay::server {

using core::Result;

namespace {

constexpr std::array kPhaseWords = {
    Word<RecordPhase>{RecordPhase::kNone, "none"},     Word<RecordPhase>{RecordPhase::kCutting, "cutting"},
    Word<RecordPhase>{RecordPhase::kSealed, "sealed"}, Word<RecordPhase>{RecordPhase::kFailed, "failed"},
    Word<RecordPhase>{RecordPhase::kErased, "erased"},
};
constexpr std::array kOriginWords = {
    Word<JobOrigin>{JobOrigin::kSeen, "seen"},
    Word<JobOrigin>{JobOrigin::kSlurm, "slurm"},
    Word<JobOrigin>{JobOrigin::kUploaded, "uploaded"},
};
constexpr std::array kSharingWords = {
    Word<Sharing>{Sharing::kOwner, "owner"},
    Word<Sharing>{Sharing::kProject, "project"},
};

std::vector<std::string> nodes_in(const std::string& joined) {
    std::vector<std::string> nodes;
    if (joined.empty()) return nodes;
    for (std::string_view node : core::split(joined, ',')) nodes.emplace_back(node);
    return nodes;
}

}  // namespace

std::string_view phase_name(RecordPhase phase) {
    return word_of(kPhaseWords, phase);
}
std::string_view origin_name(JobOrigin origin) {
    return word_of(kOriginWords, origin);
}
std::string_view sharing_name(Sharing sharing) {
    return word_of(kSharingWords, sharing);
}
std::optional<Sharing> sharing_named(std::string_view word) {
    return value_of_word(kSharingWords, word);
}

JobFacts facts_of(const Job& job) {
    return {.key = job.key,
            .owner = job.user,
            .account = job.account,
            .sharing = job.sharing,
            .shares_last_words = job.shares_last_words};
}

std::string joined_nodes(const std::vector<std::string>& nodes) {
    return core::join(nodes, ",");
}

Result<Job> job_of(const database::Row& row) {
    BELAY_TRY(phase, word_at(kPhaseWords, row, 16));
    BELAY_TRY(sharing, word_at(kSharingWords, row, 18));
    BELAY_TRY(origin, word_at(kOriginWords, row, 20));
    return Job{.key = text_at(row, 0),
               .cluster = text_at(row, 1),
               .id = row.integer(2).value_or(0),
               .array_job = row.integer(3),
               .array_task = row.integer(4),
               .restart = row.integer(5).value_or(0),
               .submit = optional_time_at(row, 6),
               .start = optional_time_at(row, 7),
               .end = optional_time_at(row, 8),
               .user = text_at(row, 9),
               .account = text_at(row, 10),
               .name = text_at(row, 11),
               .partition = text_at(row, 12),
               .slurm_state = text_at(row, 13),
               .nodes = nodes_in(text_at(row, 14)),
               .is_over = row.truth(15),
               .phase = phase,
               .phase_why = text_at(row, 17),
               .sharing = sharing,
               .shares_last_words = row.truth(19),
               .origin = origin,
               .first_seen = time_at(row, 21),
               .changed = time_at(row, 22)};
}

Result<std::vector<Job>> jobs_of(const std::vector<database::Row>& rows) {
    std::vector<Job> jobs;
    jobs.reserve(rows.size());
    for (const database::Row& row : rows) {
        BELAY_TRY(job, job_of(row));
        jobs.push_back(std::move(job));
    }
    return jobs;
}

}  // namespace belay::server
