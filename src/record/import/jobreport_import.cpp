// A directory of jobreport: devices, allocations and one event per GPU, since it holds no samples.
#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/import/import.h"
#include "record/import/jobreport_csv.h"
#include "record/import/record_builder.h"
#include "record/import/source_files.h"
#include "schema/tables/event.h"
#include "stream/event.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

namespace belay::record {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr size_t kLargestFile = size_t{64} << 20;  // a row is 200 bytes

bool is_named(const fs::path& path, std::string_view prefix, std::string_view extension) {
    return path.filename().string().starts_with(prefix) && path.extension() == extension;
}

core::Failure not_found(const fs::path& source) {
    return bad_input("{} is not a recording of jobreport", core::printable(source.string()))
        .hint(
            "looked for step_N/proc_N.csv with the columns jobId, host, gpuId, startTime, endTime, and, as a "
            "single step, for proc_N.csv");
}

core::Failure no_rows(const fs::path& source, const std::vector<Defect>& defects) {
    const auto defect = std::ranges::find_if(defects, [](const Defect& one) { return one.kind != "empty"; });
    return bad_input("{} holds no rows that can be used", core::printable(source.string()))
        .hint(defect == defects.end()
                  ? "jobreport writes when the job ends: one that was killed leaves nothing"
                  : fmt::format("look at {}: {}", core::printable(defect->place), defect->text));
}

// The files of all steps, or of the one step that the source is.
Result<std::vector<fs::path>> find_files(const fs::path& source) {
    BELAY_TRY(found, look_at_source(source));
    if (!found.is_directory()) return not_found(source);
    std::vector<fs::path> files;
    BELAY_TRY(entries, entries_of(source));
    for (const SourceEntry& entry : entries) {
        if (is_named(entry.path, "proc_", ".csv")) files.push_back(entry.path);
        if (!is_named(entry.path, "step_", "") || !entry.is_directory()) continue;
        BELAY_TRY(step, entries_of(entry.path));
        for (const SourceEntry& below : step)
            if (is_named(below.path, "proc_", ".csv")) files.push_back(below.path);
    }
    return files;
}

struct Placed {
    std::string place;
    JobreportRow row;
};

// Nothing if no file is one of jobreport.
Result<std::optional<std::vector<Placed>>> read_rows(const fs::path& source,
                                                     const std::vector<fs::path>& files,
                                                     std::vector<Defect>& defects) {
    std::vector<Placed> rows;
    bool any = false;
    for (const fs::path& path : files) {
        std::string place = path.lexically_relative(source).string();
        auto text = core::read_file(path, kLargestFile);
        if (was_not_read(text)) return unread(std::move(text.error()));
        auto file = text ? parse_jobreport(*text) : std::nullopt;
        if (!file) {
            bool empty = text && core::trim(*text).empty();
            any = any || empty;
            defects.push_back({.kind = !text   ? "unread"
                                       : empty ? "empty"
                                               : "no_header",
                               .place = place,
                               .text = !text   ? text.error().message()
                                       : empty ? "the file is empty: its job was killed before it ended"
                                               : "the first line is not a header of jobreport: left out"});
            continue;
        }
        any = true;
        if (!file->unreadable_lines.empty())
            defects.push_back(
                {.kind = "unreadable_lines",
                 .place = fmt::format("{}:{}", place, file->unreadable_lines.front()),
                 .text =
                     fmt::format("{} of the lines, this one the first, are not whole rows and were left out",
                                 file->unreadable_lines.size())});
        for (JobreportRow& row : file->rows) rows.push_back({place, std::move(row)});
    }
    return any ? std::optional(std::move(rows)) : std::nullopt;
}

// Each rank may report GPUs that others report too.
void drop_repeated(std::vector<Placed>& rows, std::vector<Defect>& defects) {
    std::set<std::tuple<std::string, int64_t, int64_t>> seen;
    std::map<std::string, int64_t> repeated;  // by place
    std::erase_if(rows, [&](const Placed& placed) {
        bool is_new = seen.emplace(placed.row.host, placed.row.gpu, placed.row.step_id).second;
        if (!is_new) ++repeated[placed.place];
        return !is_new;
    });
    for (const auto& [place, count] : repeated)
        defects.push_back(
            {.kind = "told_twice",
             .is_warning = false,
             .place = place,
             .text = fmt::format("{} rows are of GPUs that another rank of the step reports too: "
                                 "left out",
                                 count)});
}

Manifest manifest_of(const std::vector<Placed>& rows) {
    Manifest manifest;
    JobFacts& job = manifest.job;
    const JobreportRow& first = rows.front().row;
    if (first.job_id > 0) job.id = first.job_id;
    job.account = first.account == "unknown_account" ? "" : first.account;
    job.user = first.user == "unknown_user" ? "" : first.user;
    for (const auto& [place, row] : rows) {
        job.start = std::min(job.start.value_or(row.start), row.start);
        job.end = std::max(job.end.value_or(row.end), row.end);
        if (std::ranges::find(job.nodes, row.host) == job.nodes.end()) job.nodes.push_back(row.host);
    }
    manifest.software["jobreport"] = "unknown";  // the files do not say
    return manifest;
}

std::map<std::string, HeldNode> held_by(const std::vector<Placed>& rows) {
    std::map<std::string, HeldNode> nodes;
    for (const auto& [place, row] : rows) {
        HeldNode& node = nodes[row.host];
        HeldSpan span{.start = row.start, .end = row.end, .step = std::to_string(row.step_id)};
        node.name = row.host;
        node.spans.push_back(span);
        node.gpus[row.gpu].push_back(span);
    }
    for (auto& [name, node] : nodes) {
        node.spans = merge_spans(std::move(node.spans));
        for (auto& [gpu, spans] : node.gpus) spans = merge_spans(std::move(spans));
    }
    return nodes;
}

void add_events(const std::vector<Placed>& rows, stream::Batch& events) {
    for (const auto& [place, row] : rows) {
        stream::add_event(events, row.end, row.host,
                          {.kind = "jobreport",
                           .severity = "info",
                           .source = "jobreport",
                           .device = device_label(row.host, row.gpu),
                           .message = summary_of(row)});
    }
}

}  // namespace

Result<Imported> import_jobreport(const ImportOptions& options) {
    Imported imported{.aggregates_only = true};
    BELAY_TRY(files, find_files(options.source));
    BELAY_TRY(rows, read_rows(options.source, files, imported.defects));
    if (!rows) return not_found(options.source);
    if (rows->empty()) return no_rows(options.source, imported.defects);
    std::erase_if(*rows, [&](const Placed& placed) {
        return !options.gpus.empty() && std::ranges::find(options.gpus, placed.row.gpu) == options.gpus.end();
    });
    if (rows->empty())
        return bad_input("{} holds no rows of these GPUs", core::printable(options.source.string()))
            .hint("name GPUs that the report has with --gpu, or leave it out for all of them");
    int64_t job = rows->front().row.job_id;
    if (auto other =
            std::ranges::find_if(*rows, [&](const Placed& placed) { return placed.row.job_id != job; });
        other != rows->end())
        return bad_input("{} holds reports of several jobs: {} and {}",
                         core::printable(options.source.string()), job, other->row.job_id)
            .hint("name the directory of one of them");
    drop_repeated(*rows, imported.defects);
    imported.defects.push_back(
        {.kind = "means_only",
         .is_warning = false,
         .text =
             "jobreport holds means over the whole job and no samples: no score can be computed from them"});
    imported.defects.push_back(
        {.kind = "unbound_gpus",
         .is_warning = false,
         .text =
             "without a binding of GPUs to tasks, jobreport also lists GPUs of the node that the job did not "
             "hold; name those that it held with --gpu"});
    BELAY_TRY(builder, RecordBuilder::create(options, manifest_of(*rows)));
    auto nodes = held_by(*rows);
    for (const auto& [name, node] : nodes) {
        builder.add_held(node, "jobreport", false);
        imported.devices += node.gpus.size();
    }
    add_events(*rows, builder.rows(schema::kEvent));
    BELAY_CHECK(builder.finish(imported.defects));
    imported.nodes = nodes.size();
    return imported;
}

}  // namespace belay::record
