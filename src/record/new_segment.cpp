#include "record/new_segment.h"

#include "record/place.h"

namespace belay::record {

core::Result<stream::SegmentWriter> new_segment(const core::Directory& record, std::string_view name,
                                                const stream::Session& session) {
    const std::string file = fmt::format("{}/{}", kSegmentsName, name);
    BELAY_TRY(created, create_file(record, file));
    auto writer = stream::SegmentWriter::begin(std::move(created), record.path_of(file), session);
    if (!writer) (void)record.remove_file(file);
    return writer;
}

}  // namespace belay::record
