#include "server/api/job_json.h"

#include "core/time.h"

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace belay::server {

namespace {

using Json = nlohmann::ordered_json;

Json text_or_none(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}
Json time_or_none(const std::optional<core::Time>& time) {
    return time ? Json(core::format_time(*time)) : Json();
}
Json number_or_none(const std::optional<int64_t>& number) {
    return number ? Json(*number) : Json();
}

}  // namespace

Json job_json(const Job& job) {
    return {{"key", job.key},
            {"cluster", text_or_none(job.cluster)},
            {"id", job.id},
            {"array_job", number_or_none(job.array_job)},
            {"array_task", number_or_none(job.array_task)},
            {"restart", job.restart},
            {"name", text_or_none(job.name)},
            {"user", text_or_none(job.user)},
            {"account", text_or_none(job.account)},
            {"partition", text_or_none(job.partition)},
            {"state", text_or_none(job.slurm_state)},
            {"submit", time_or_none(job.submit)},
            {"start", time_or_none(job.start)},
            {"end", time_or_none(job.end)},
            {"nodes", job.nodes},
            {"is_over", job.is_over},
            {"record", {{"phase", phase_name(job.phase)}, {"why", text_or_none(job.phase_why)}}},
            {"sharing", sharing_name(job.sharing)},
            {"shares_last_words", job.shares_last_words},
            {"origin", origin_name(job.origin)}};
}

}  // namespace belay::server
