#include "cli/job_end.h"

#include "cli/diagnosis.h"
#include "core/directory.h"
#include "core/program.h"
#include "observe/job_end.h"
#include "record/archive/annex.h"
#include "record/place.h"
#include "schema/tables/event.h"

#include <unistd.h>

namespace belay::cli {

using core::Result;
namespace fs = std::filesystem;

namespace {

// Nothing where there is no use in asking.
Result<std::optional<record::Manifest>> manifest_without_end(const fs::path& path) {
    BELAY_TRY(record, record::open_record(path));
    BELAY_TRY(manifest, record::read_manifest(record));
    BELAY_TRY(facts, record.facts());
    if (!manifest.job.id || facts.owner != geteuid()) return std::nullopt;
    BELAY_TRY(known, record.facts(fmt::format("{}/{}", record::kAnnexesName,
                                              record::annex_file(observe::kJobEndOwner, schema::kEvent))));
    if (known) return std::nullopt;
    return manifest;
}

stream::Batch rows_of(const slurm::JobEnd& job, const record::JobFacts& recorded) {
    stream::Batch rows(schema::kEvent);
    const std::vector<std::string>& nodes = recorded.nodes.empty() ? job.nodes : recorded.nodes;
    stream::add_event(rows, job.end.value_or(job.submit), nodes.empty() ? "" : nodes.front(),
                      observe::job_end_event(job));
    return rows;
}

}  // namespace

Result<std::optional<stream::Batch>> learn_job_end(const fs::path& path) {
    BELAY_TRY(manifest, manifest_without_end(path));
    if (!manifest) return std::nullopt;
    BELAY_TRY(job, observe::ask_job_end(manifest->job, kAskSlurm));
    if (!job) return std::nullopt;
    stream::Batch rows = rows_of(*job, manifest->job);
    if (!manifest->sealed) return rows;
    BELAY_TRY(claim, record::claim_record(path));
    BELAY_CHECK(record::put_annex(claim, observe::kJobEndOwner, rows));
    return std::nullopt;
}

Result<record::Archive> open_with_job_end(const core::CommandContext& context, const fs::path& record) {
    const auto warn = [](core::Error error) {
        core::show_error("belay: warning", std::move(error).context("how Slurm ended the job is not shown"));
    };
    auto learned = learn_job_end(record);
    // A record that cannot be read is an error when it is opened.
    if (!learned && learned.error().kind() == core::ErrorKind::kSystem) warn(std::move(learned.error()));
    BELAY_TRY(archive, open_for_queries(context, record));
    // Events that are too many to be loaded are read where they are, and no row can be added to them.
    if (learned && *learned)
        if (auto added = archive.add(schema::kEvent, **learned); !added) warn(std::move(added.error()));
    return archive;
}

}  // namespace belay::cli
