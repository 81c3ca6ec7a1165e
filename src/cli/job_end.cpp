#include "cli/job_end.h"

#include "cli/diagnosis.h"
#include "core/directory.h"
#include "core/program.h"
#include "core/utf8.h"
#include "observe/job_end.h"
#include "record/archive/annex.h"
#include "record/place.h"
#include "schema/tables/event.h"

#include <unistd.h>

namespace belay::cli {

using core::Result;
namespace fs = std::filesystem;

namespace {

// Nothing where Slurm need not be asked, or where the record cannot be read: what opens it next says so.
Result<std::optional<record::Manifest>> manifest_without_end(const fs::path& path) {
    auto opened = record::open_record(path);
    if (!opened) return std::nullopt;
    const auto& record = *opened;
    auto read = record::read_manifest(record);
    if (!read) return std::nullopt;
    record::Manifest& manifest = *read;
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

// What is kept is not asked again: only an end of which all is known that can be.
Result<> keep(const fs::path& path, const record::JobFacts& recorded, const observe::KnownEnd& end,
              const stream::Batch& rows) {
    if (end.unaccounted) return std::unexpected(*end.unaccounted);
    BELAY_TRY(claim, record::claim_record(path));
    // The path may lead elsewhere by now.
    BELAY_TRY(manifest, record::read_manifest(claim));
    if (manifest.job != recorded)
        return core::system_error("{} is another record now", core::printable(path.string()));
    return record::put_annex(claim, observe::kJobEndOwner, rows);
}

}  // namespace

Result<LearnedEnd> learn_job_end(const fs::path& path) {
    BELAY_TRY(manifest, manifest_without_end(path));
    if (!manifest) return LearnedEnd();
    BELAY_TRY(end, observe::ask_job_end(manifest->job, kAskSlurm));
    if (!end) return LearnedEnd();
    stream::Batch rows = rows_of(end->job, manifest->job);
    if (!manifest->sealed) return LearnedEnd{std::move(rows), std::move(end->unaccounted)};
    auto kept = keep(path, manifest->job, *end, rows);
    if (kept) return LearnedEnd();
    return LearnedEnd{{}, std::move(kept.error()).context(observe::job_end_event(end->job).message)};
}

Result<record::Archive> open_with_job_end(const core::CommandContext& context, const fs::path& record) {
    const auto warn = [](core::Error error, std::string_view what = "how Slurm ended the job is not shown") {
        core::show_error("belay: warning", std::move(error).context(what));
    };
    auto learned = learn_job_end(record);
    // A record that cannot be read is an error when it is opened.
    if (!learned && learned.error().kind() == core::ErrorKind::kSystem) warn(std::move(learned.error()));
    if (learned && learned->doubt)
        warn(std::move(*learned->doubt), "how Slurm ended the job is not kept, or not all known");
    BELAY_TRY(archive, open_for_queries(context, record));
    // Events that are too many to be loaded are read where they are, and no row can be added to them.
    if (learned && learned->rows)
        if (auto added = archive.add(schema::kEvent, *learned->rows); !added) warn(std::move(added.error()));
    return archive;
}

}  // namespace belay::cli
