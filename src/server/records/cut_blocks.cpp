#include "server/records/cut_blocks.h"

#include "server/records/stored_stream.h"

#include <algorithm>
#include <set>
#include <utility>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

// A step is told when it is found, and again with its end; samples are counted when they are written. All of that comes within
// some intervals, or a flush.
constexpr core::Duration kAround = std::chrono::minutes(10);

TimeRange widened(const TimeRange& range, core::Duration by) {
    return {range.begin - by, range.end + by};
}

Result<> check_job(const JobToCut& job) {
    if (job.id <= 0) return bad_input("{} is not the number of a job", job.id);
    if (job.nodes.empty()) return bad_input("job {} has no nodes", job.id);
    const bool is_possible = record::is_possible(job.range.begin) && record::is_possible(job.range.end);
    if (!is_possible || job.range.end < job.range.begin)
        return bad_input("the time of job {} cannot be: {} to {}", job.id, core::format_time(job.range.begin),
                         core::format_time(job.range.end));
    return {};
}

using Sources = std::vector<std::unique_ptr<record::PieceSource>>;

// The streams of one node. False where nothing of the job's time was uploaded.
Result<bool> add_node(const StreamSources& sources, const JobToCut& job, const std::string& node,
                      record::StreamsCut& cut) {
    BELAY_TRY(all, sources({job.cluster, node, widened(job.range, kAround), job.range}));
    for (std::unique_ptr<record::PieceSource>& source : all) BELAY_CHECK(cut.add(std::move(source)));
    BELAY_TRY(near, sources({job.cluster, node, widened(job.range, kClockSlack), job.range}));
    return !near.empty();
}

void say_what_slurm_said(const JobToCut& job, record::Manifest& manifest) {
    record::JobFacts& facts = manifest.job;
    const record::JobFacts& told = job.told;
    facts.cluster = job.cluster;
    for (auto [said, of] : {std::pair(&told.account, &facts.account), std::pair(&told.name, &facts.name),
                            std::pair(&told.user, &facts.user)})
        if (!said->empty()) *of = *said;
    for (auto [said, of] : {std::pair(&told.submit, &facts.submit), std::pair(&told.start, &facts.start),
                            std::pair(&told.end, &facts.end)})
        if (*said) *of = *said;
    if (told.id) facts.id = told.id;
    if (told.array_task) facts.array_task = told.array_task;
    if (!told.nodes.empty()) facts.nodes = told.nodes;
    if (!job.is_over) facts.end.reset();
}

}  // namespace

StreamSources sources_in(const Intake& intake) {
    return [&intake](const WantedStreams& wanted) -> Result<Sources> {
        Sources sources;
        for (stream::StreamId& stream : intake.streams_of(wanted.node, wanted.range))
            if (stream.cluster == wanted.cluster)
                sources.push_back(
                    std::make_unique<StoredStream>(intake, std::move(stream), wanted.range, wanted.needed));
        return sources;
    };
}

Result<record::CutDone> cut_from_blocks(Intake& intake, const JobToCut& job,
                                        const std::filesystem::path& path, core::Time now) {
    BELAY_CHECK(intake.look());
    return cut_from(sources_in(intake), job, path, now);
}

Result<record::CutDone> cut_from(const StreamSources& sources, const JobToCut& job,
                                 const std::filesystem::path& path, core::Time now) {
    BELAY_CHECK(check_job(job));
    record::StreamsCut cut;
    const std::set<std::string> nodes(job.nodes.begin(), job.nodes.end());
    for (const std::string& node : nodes) {
        BELAY_TRY(is_there, add_node(sources, job, node, cut));
        if (!is_there) cut.lost().add({node, 0, 0, "nothing of this node was uploaded of the job's time"});
    }
    const TimeRange within = widened(job.range, kClockSlack);
    record::CutRequest request{
        .job_id = job.id, .restart = job.restart, .within = record::Interval{within.begin, within.end}};
    if (job.is_over) request.ended = job.range.end;
    BELAY_CHECK(cut.plan(request));
    return cut.write(path, now, [&](record::Manifest& manifest) { say_what_slurm_said(job, manifest); });
}

}  // namespace belay::server
