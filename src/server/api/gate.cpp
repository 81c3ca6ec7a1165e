#include "server/api/gate.h"

#include "core/log.h"
#include "core/text.h"
#include "server/state/audit_store.h"
#include "server/state/job_store.h"

#include <utility>

namespace belay::server {

using http::Checked;
using http::Refusal;
using http::Request;

namespace {

Refusal no_such_job() {
    return {404, "the job was not found", "GET /api/v1/jobs lists those that you may see"};
}

}  // namespace

Refusal refusal_of(const core::Error& error, std::string_view what) {
    if (error.kind() == core::ErrorKind::kBadInput) return {400, error.message(), error.hint_text()};
    core::log_error("{}: {}", what, error.headline());
    return {503, "the state of this server cannot be read now", "try again later"};
}

Checked<std::vector<Job>> Gate::named(std::string_view name) const {
    if (const auto number = core::parse_number<int64_t>(name)) {
        auto jobs = find_jobs_by_number(database(), "", *number, deadline());
        if (!jobs) return std::unexpected(refusal_of(jobs.error(), "find a job"));
        return std::move(*jobs);
    }
    auto job = find_job(database(), name, deadline());
    if (!job) return std::unexpected(refusal_of(job.error(), "find a job"));
    std::vector<Job> jobs;
    if (*job) jobs.push_back(std::move(**job));
    return jobs;
}

Checked<> Gate::write_down(const Request& request, const Identity& identity, const Job* job,
                           std::string_view what) const {
    const AuditEntry entry = {.who = identity.user,
                              .what = std::string(what),
                              .job = job != nullptr ? job->key : std::string(),
                              .owner = job != nullptr ? job->user : std::string(),
                              .time = now(),
                              .peer = request.peer};
    const auto written = append_audit(database(), entry, deadline());
    if (!written) return std::unexpected(refusal_of(written.error(), "write down who looked"));
    return {};
}

Checked<Job> Gate::job(const Request& request, Wish wish, std::string_view what) const {
    BELAY_TRY(identity, parts_.identity(request));
    BELAY_TRY(jobs, named(request.captured("job")));
    const auto accounts = parts_.accounts();
    for (Job& job : jobs) {
        const JobFacts facts = facts_of(job);
        const Decision sees = decide(identity, facts, Wish::kSeeJob, accounts->accounts(), now());
        if (!sees.is_allowed || job.phase == RecordPhase::kErased) continue;
        const Decision decision = decide(identity, facts, wish, accounts->accounts(), now());
        if (!decision.is_allowed)
            return http::refuse(403, "this is not allowed to you", "ask the owner of the job");
        if (decision.is_audited) BELAY_CHECK(write_down(request, identity, &job, what));
        return std::move(job);
    }
    return std::unexpected(no_such_job());
}

Checked<bool> Gate::would_grant(const Request& request, const Job& job, Wish wish) const {
    BELAY_TRY(identity, parts_.identity(request));
    return decide(identity, facts_of(job), wish, parts_.accounts()->accounts(), now()).is_allowed;
}

Checked<JobPage> Gate::jobs(const Request& request, const JobConditions& conditions, const Page& page) const {
    BELAY_TRY(identity, parts_.identity(request));
    const auto accounts = parts_.accounts();
    auto found =
        list_jobs(database(), accounts->expanded(filter_for(identity, now())), conditions, page, deadline());
    if (!found) return std::unexpected(refusal_of(found.error(), "list jobs"));
    bool is_audited = false;
    std::erase_if(found->jobs, [&](const Job& job) {
        const Decision decision = decide(identity, facts_of(job), Wish::kSeeJob, accounts->accounts(), now());
        is_audited = is_audited || decision.is_audited;
        return !decision.is_allowed || job.phase == RecordPhase::kErased;
    });
    if (is_audited) BELAY_CHECK(write_down(request, identity, nullptr, "GET /api/v1/jobs"));
    return std::move(*found);
}

Checked<> Gate::grant(const Request& request, const Identity& identity, const Decision& decision,
                      std::string_view what, std::string_view missing) const {
    if (!decision.is_allowed) return http::refuse(404, std::string(missing));
    if (decision.is_audited) BELAY_CHECK(write_down(request, identity, nullptr, what));
    return {};
}

Checked<> Gate::project(const Request& request, std::string_view account, std::string_view what) const {
    BELAY_TRY(identity, parts_.identity(request));
    const Decision decision = decide_project(identity, account, parts_.accounts()->accounts(), now());
    return grant(request, identity, decision, what, "the project was not found");
}

Checked<> Gate::person(const Request& request, std::string_view user, std::string_view what) const {
    BELAY_TRY(identity, parts_.identity(request));
    return grant(request, identity, decide_person(identity, user, now()), what, "the user was not found");
}

Checked<> Gate::operation(const Request& request, std::string_view what) const {
    BELAY_TRY(identity, parts_.identity(request));
    return grant(request, identity, decide_operation(identity, now()), what,
                 "nothing was found under this name");
}

}  // namespace belay::server
