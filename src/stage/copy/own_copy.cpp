#include "stage/copy/own_copy.h"

#include "stage/copy/pump.h"
#include "stage/copy/source.h"

#include <algorithm>
#include <mutex>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Result;

}  // namespace

Result<CopyReport> make_own_copy(const fs::path& source, const fs::path& destination,
                                 const CopyOptions& options, const OwnCopyHooks& hooks,
                                 const std::string& node) {
    const core::Duration began = core::system_clock().monotonic();
    BELAY_TRY(listed, list_copy(source, {.chunk_bytes = options.chunk_bytes,
                                         .links = options.links,
                                         .only_packed = options.only_packed}));
    BELAY_CHECK(refuse_source_as_destination(source, destination, listed.place));
    BELAY_TRY(target, find_target(listed.plan, destination));
    target.memory_share = options.memory_share;
    target.patience = options.patience.other;
    target.source = std::move(listed.place);
    auto layout = std::make_shared<const CopyLayout>(listed.plan);
    auto plan = std::make_shared<const std::string>(encode_plan(listed.plan));
    if (plan->size() > kMostPlanBytes)
        return core::bad_input("{} files are too many for one copy", listed.plan.files.size())
            .hint("pack them first: belay stage pack");
    BELAY_TRY(opened, CopyStore::open(layout, std::move(target)));
    const std::shared_ptr<CopyStore> store = std::move(opened);
    if (options.begun)
        if (auto begun = options.begun(*store); !begun) {
            store->give_up();
            return std::unexpected(std::move(begun.error()));
        }
    if (hooks.prepared) BELAY_CHECK(hooks.prepared(std::move(plan), store));
    CopyFigures figures{.resumed_chunks = store->resumed_chunks()};
    {
        const Keeper keeper(*store, options.patience.checkpoint);
        const ReadSegment read = options.reader(listed);
        BELAY_TRY(bytes, pump(read, *store,
                              {.readers = std::max<size_t>(options.readers, 1),
                               .rate = options.rate,
                               .stop = hooks.stop,
                               .stored = options.faults.stored}));
        figures.received_bytes = bytes;
    }
    BELAY_CHECK(store->publish());
    figures.elapsed = core::system_clock().monotonic() - began;
    return CopyReport{.kind = layout->plan().kind,
                      .files = layout->files().size(),
                      .bytes = layout->bytes(),
                      .chunks = layout->chunks(),
                      .elapsed = figures.elapsed,
                      .nodes = {{.name = node, .figures = figures}}};
}

}  // namespace belay::stage
