#include "server/api/job_routes.h"

#include "core/json.h"
#include "core/log.h"
#include "core/utf8.h"
#include "http/blocking.h"
#include "server/api/job_json.h"
#include "server/api/query_words.h"
#include "server/api/record_tar.h"
#include "server/state/job_store.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::server {

using http::Checked;
using http::Method;
using http::Refusal;
using http::Request;
using http::Response;
using http::Task;

namespace {

constexpr uint64_t kMostSqlBytes = uint64_t{64} << 10;
constexpr uint64_t kMostSmallBytes = 4096;

struct Parts {
    const Gate* gate;
    JobRecords records;
    LiveHub* hub;
};
using SharedParts = std::shared_ptr<const Parts>;
using Answer = std::function<Response(const Parts&, const Request&)>;

http::Handler handler_of(SharedParts parts, Answer answer) {
    return http::blocking([parts = std::move(parts), answer = std::move(answer)](Request& request) {
        return answer(*parts, request);
    });
}

Response json_response(const nlohmann::ordered_json& value) {
    return Response::json(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Checked<JobConditions> conditions_of(const Request& request) {
    BELAY_TRY(user, text_of(request, "user"));
    BELAY_TRY(account, text_of(request, "account"));
    BELAY_TRY(state, text_of(request, "state"));
    BELAY_TRY(node, text_of(request, "node"));
    BELAY_TRY(name, text_of(request, "name"));
    BELAY_TRY(since, time_of(request, "since"));
    BELAY_TRY(until, time_of(request, "until"));
    return JobConditions{.user = std::move(user),
                         .account = std::move(account),
                         .state = std::move(state),
                         .node = std::move(node),
                         .since = since,
                         .until = until,
                         .text = std::move(name)};
}

Response list(const Parts& parts, const Request& request) {
    BELAY_TRY(conditions, conditions_of(request));
    BELAY_TRY(page, page_of(request));
    BELAY_TRY(found, parts.gate->jobs(request, conditions, page));
    nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
    for (const Job& job : found.jobs) jobs.push_back(job_json(job));
    return json_response(
        {{"jobs", std::move(jobs)},
         {"next", found.next.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(found.next)}});
}

Response show(const Parts& parts, const Request& request) {
    BELAY_TRY(job, parts.gate->job(request, Wish::kSeeJob, "GET /api/v1/jobs/{job}"));
    return json_response(job_json(job));
}

// Of a job without a record: why, and when there will be one.
Refusal no_record(const Job& job, const core::Error& error) {
    if (error.cause() != core::Cause::kNotFound) return refusal_of(error, "read the record of " + job.key);
    if (job.phase == RecordPhase::kFailed)
        return {409, "the record of this job could not be made: " + job.phase_why};
    if (job.phase == RecordPhase::kSealed) return {409, error.message(), error.hint_text()};
    return {409, "the record of this job is not made yet", "it is made some minutes after the job's end"};
}

// Of the files that are made of a record.
struct MadeFile {
    std::string_view route, file, media_type, doc;
};
constexpr std::array kMadeFiles = {
    MadeFile{"score", "score.json", http::kJsonType,
             "How well the job used its GPUs or CPUs, as `belay score --json` says it."},
    MadeFile{"findings", "findings.json", http::kJsonType,
             "What went wrong in the job, as `belay findings --json` says it."},
    MadeFile{"summary", "summary.json", http::kJsonType,
             "The outcome in numbers, as `belay report --json` says it."},
    MadeFile{"report", "report.html", "text/html; charset=utf-8",
             "The report of the job: one page with everything in it."},
};

Response made_file(const Parts& parts, const Request& request, const MadeFile& made) {
    BELAY_TRY(
        job, parts.gate->job(request, Wish::kSeeJob, fmt::format("GET /api/v1/jobs/{{job}}/{}", made.route)));
    auto content = parts.records.answer(job, made.file);
    if (!content) return http::response_to(no_record(job, content.error()));
    Response response = Response::bytes(std::move(*content), made.media_type);
    // A page of a record that somebody uploaded runs in this server's origin unless it is told not to.
    if (made.media_type.starts_with("text/html"))
        return std::move(response).with(
            "content-security-policy",
            "sandbox allow-scripts allow-downloads; default-src 'none'; "
            "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:");
    return response;
}

// {"sql": "SELECT …"}
Checked<std::string> sql_of(const Request& request) {
    const auto body = core::parse_json(request.body);
    const bool has_sql =
        body.is_object() && body.size() == 1 && body.contains("sql") && body["sql"].is_string();
    if (!has_sql) return http::refuse(400, "the body is not {\"sql\": \"SELECT …\"}");
    return body["sql"].get<std::string>();
}

Response query(const Parts& parts, const Request& request) {
    BELAY_TRY(sql, sql_of(request));
    BELAY_TRY(job, parts.gate->job(request, Wish::kSeeJob, "POST /api/v1/jobs/{job}/query"));
    auto rows = parts.records.query(job, sql);
    if (rows) return Response::json(std::move(*rows));
    if (rows.error().kind() == core::ErrorKind::kBadInput)
        return http::response_to(Refusal{400, rows.error().message(), rows.error().hint_text()});
    return http::response_to(no_record(job, rows.error()));
}

Response export_record(const Parts& parts, const Request& request) {
    BELAY_TRY(job, parts.gate->job(request, Wish::kSeeJob, "GET /api/v1/jobs/{job}/record"));
    auto place = parts.records.record(job);
    if (!place) return http::response_to(no_record(job, place.error()));
    auto directory = core::Directory::open(*place);
    if (!directory) return http::response_to(refusal_of(directory.error(), "export a record"));
    auto tar = RecordTar::open(std::move(*directory), job.key);
    if (!tar) return http::response_to(refusal_of(tar.error(), "export a record"));
    auto shared = std::make_shared<RecordTar>(std::move(*tar));
    http::Workers* workers = request.workers;
    auto next = [shared, workers]() -> Task<core::Result<std::string>> {
        auto work = http::run_blocking_unbounded(*workers, [shared] { return shared->next(); });
        auto piece = co_await work;
        if (!piece) co_return std::unexpected(core::system_error("the record could not be read").error());
        co_return std::move(*piece);
    };
    return Response::chunked(next, "application/x-tar")
        .with("content-disposition", fmt::format("attachment; filename=\"{}.tar\"", job.key));
}

Response join_events(const Parts& parts, const Request& request) {
    BELAY_TRY(job, parts.gate->job(request, Wish::kSeeJob, "GET /api/v1/jobs/{job}/events"));
    if (job.is_over) return http::response_to(Refusal{409, "the job is over", "its record has all events"});
    auto queue = parts.hub->join(job.key, request.headers.find("last-event-id").value_or(""));
    if (!queue) return http::response_to(Refusal{503, queue.error().message(), queue.error().hint_text()});
    return Response::events(std::move(*queue));
}

// {"sharing": "owner|project", "last_words": false}
Checked<JobSharing> sharing_of(const Request& request) {
    const auto body = core::parse_json(request.body);
    const bool has_words = body.is_object() && body.value("sharing", nlohmann::json()).is_string() &&
                           body.value("last_words", nlohmann::json(false)).is_boolean();
    const auto sharing = has_words ? sharing_named(body["sharing"].get<std::string>()) : std::nullopt;
    if (!sharing)
        return http::refuse(
            400, "the body is not {\"sharing\": \"owner\" or \"project\", \"last_words\": true or false}");
    return JobSharing{.sharing = *sharing, .shares_last_words = body.value("last_words", false)};
}

Response share(const Parts& parts, const Request& request) {
    BELAY_TRY(sharing, sharing_of(request));
    BELAY_TRY(job, parts.gate->job(request, Wish::kChangeJob, "PUT /api/v1/jobs/{job}/sharing"));
    const Gate& gate = *parts.gate;
    const auto done = set_sharing(gate.database(), job.key, sharing, gate.now(), gate.deadline());
    if (!done) return http::response_to(refusal_of(done.error(), "share a job"));
    job.sharing = sharing.sharing;
    job.shares_last_words = sharing.shares_last_words;
    return json_response(job_json(job));
}

// The row first: what is in no list is shown to nobody, also where removing the files is interrupted.
Response erase(const Parts& parts, const Request& request) {
    BELAY_TRY(job, parts.gate->job(request, Wish::kChangeJob, "DELETE /api/v1/jobs/{job}"));
    const Gate& gate = *parts.gate;
    const auto done =
        set_phase(gate.database(), job.key, RecordPhase::kErased, "", gate.now(), gate.deadline());
    if (!done) return http::response_to(refusal_of(done.error(), "erase a job"));
    if (const auto removed = parts.records.erase(job); !removed)
        return http::response_to(refusal_of(removed.error(), "erase a record"));
    return Response::empty();
}

const http::ParameterDoc kJobParameter = {"job", http::Place::kPath,
                                          "key of a job, or its number: the newest of that number"};

http::Route job_route(Method method, std::string pattern, http::Handler handler, std::string doc) {
    return {.method = method,
            .pattern = "/api/v1/jobs/{job}" + pattern,
            .handler = std::move(handler),
            .doc = std::move(doc),
            .parameters = {kJobParameter}};
}

http::Route list_route(const SharedParts& parts) {
    constexpr auto kQuery = http::Place::kQuery;
    return {.method = Method::kGet,
            .pattern = "/api/v1/jobs",
            .handler = handler_of(parts, list),
            .doc = "Jobs that you may see, the newest first.",
            .parameters = {{"user", kQuery, "of this user"},
                           {"account", kQuery, "of this account"},
                           {"node", kQuery, "that have or had this node"},
                           {"state", kQuery, "in this state, as Slurm calls it"},
                           {"name", kQuery, "with this text in their names"},
                           {"since", kQuery, "submitted from this time on (2026-03-01T12:00:00Z)"},
                           {"until", kQuery, "submitted before this time"},
                           {"limit", kQuery, "jobs of a page, 1 to 1000; without it 100"},
                           {"cursor", kQuery, "the `next` of the page before"}}};
}

}  // namespace

std::vector<http::Route> job_routes(const Gate& gate, JobRecords records, LiveHub& hub) {
    const SharedParts parts = std::make_shared<const Parts>(Parts{&gate, std::move(records), &hub});
    std::vector<http::Route> routes;
    routes.push_back(list_route(parts));
    routes.push_back(job_route(Method::kGet, "", handler_of(parts, show), "What is known of a job."));
    for (const MadeFile& made : kMadeFiles) {
        auto answer = [made](const Parts& own, const Request& request) {
            return made_file(own, request, made);
        };
        routes.push_back(job_route(Method::kGet, "/" + std::string(made.route), handler_of(parts, answer),
                                   std::string(made.doc)));
        routes.back().gives = made.media_type.substr(0, made.media_type.find(';'));
    }
    routes.push_back(job_route(Method::kPost, "/query", handler_of(parts, query),
                               "SQL over the tables of the job's record: {\"sql\": \"SELECT …\"}."));
    routes.back().body_limit = kMostSqlBytes;
    routes.push_back(job_route(Method::kGet, "/record", handler_of(parts, export_record),
                               "The record of the job as a tar."));
    routes.back().gives = "application/x-tar";
    routes.push_back(job_route(Method::kGet, "/events", handler_of(parts, join_events),
                               "Events of a running job as they come (server-sent events)."));
    routes.back().gives = "text/event-stream";
    routes.push_back(job_route(Method::kPut, "/sharing", handler_of(parts, share),
                               "Shares a job with the members of its account, or with nobody."));
    routes.back().body_limit = kMostSmallBytes;
    routes.push_back(job_route(Method::kDelete, "", handler_of(parts, erase),
                               "Erases all that is kept of a job, for good."));
    routes.back().gives = "";
    return routes;
}

}  // namespace belay::server
