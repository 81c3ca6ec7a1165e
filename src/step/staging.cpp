#include "step/staging.h"

#include "core/file.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "record/new_segment.h"
#include "record/place.h"
#include "schema/tables/event.h"
#include "stage/space/space.h"
#include "step/prepare.h"
#include "stream/event.h"
#include "stream/segment.h"

namespace belay::step {

using core::bad_input;
using core::Result;

Result<StagingPlan> plan_staging(std::string_view words, const core::Configuration& configuration) {
    // The last one: a name may hold a colon, a destination on the nodes had better not.
    const size_t colon = words.rfind(":/");
    if (colon == std::string_view::npos || colon == 0)
        return bad_input("--stage={}: is not SRC:DST with an absolute DST", core::printable(words))
            .hint(
                "name the data and where each node is to have them, such as "
                "--stage=/scratch/train:/tmp/%j/train");
    const std::string destination(words.substr(colon + 1));
    BELAY_CHECK(core::with_context(expand_record_path(destination, "0", "0", "0", "n"), "--stage"));
    BELAY_TRY(memory_share, stage::memory_share_of(configuration));
    BELAY_TRY(here, core::current_directory());
    return StagingPlan{.source = (here / words.substr(0, colon)).lexically_normal().string(),
                       .destination = destination,
                       .longest_wait = configuration.duration("stage.timeout"),
                       .memory_share = memory_share};
}

Result<stage::CopyReport> stage_data(const StagingPlan& plan, const std::string& destination,
                                     const vet::StepContext& members, const stage::JobOnNode& where) {
    stage::CopyStep step = members.for_purpose("stage");
    const auto begun = [&](const stage::CopyStore& store) { return stage::note_for_job(where, store); };
    stage::CopyOptions options{.all_or_none = true, .memory_share = plan.memory_share, .begun = begun};
    if (members.nodes.size() == 1)
        options.patience.other = plan.longest_wait;  // as of the tasks of a job array
    return core::with_context(stage::copy_in_step(plan.source, destination, step, options), "--stage");
}

Result<> write_staging_row(const std::filesystem::path& record, const StagingPlan& plan,
                           const stage::CopyReport& report, const observe::Placement& placement,
                           core::Time now) {
    stream::Batch rows(schema::kEvent);
    stream::add_event(rows, now, placement.node,
                      {.kind = "data_staged",
                       .severity = "info",
                       .subject = plan.source,
                       .value = core::to_seconds(report.elapsed),
                       .message = fmt::format("{}, {}, in {}", core::format_count(report.files, "file"),
                                              core::format_binary(core::ByteSize{report.bytes}),
                                              core::format_duration(report.elapsed))});
    BELAY_TRY(joined, record::join_record(record));
    const stream::Session session{
        .node = placement.node, .task = {}, .periodic = false, .start = now, .version = BELAY_VERSION};
    BELAY_TRY(
        segment,
        record::new_segment(
            joined, fmt::format("{}-staging-{:x}.seg", placement.node, core::to_nanoseconds(now)), session));
    BELAY_CHECK(segment.append(rows));
    return segment.finish(core::system_clock().now());
}

}  // namespace belay::step
