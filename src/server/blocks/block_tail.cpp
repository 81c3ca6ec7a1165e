#include "server/blocks/block_tail.h"

#include "server/blocks/block_reader.h"
#include "server/blocks/log_writer.h"

#include <utility>
#include <vector>

namespace belay::server {

core::Result<> BlockTail::read(
    const std::string& node, const TimeRange& range,
    const std::function<core::Result<>(const stream::StreamId& stream, std::string_view piece)>& visit) {
    std::map<stream::StreamId, Received> given;
    std::map<stream::StreamId, Received>& before = given_[node];
    for (auto& [stream, places] : intake_->places_of(node, range)) {
        Received received = before[stream];
        std::erase_if(places, [&](const BlockPlace& place) {
            const bool is_own = is_of_writer(*place.file, intake_->writer());
            return (writers_ == Writers::kOthers && is_own) || received.missing_in(place.blocks).empty();
        });
        for (const BlockPlace& place : places) received.add(place.blocks);
        if (!places.empty())
            BELAY_CHECK(read_places(
                intake_->directory(), places,
                [&stream = stream, &visit](std::string_view piece) { return visit(stream, piece); }));
        given.emplace(stream, received);
        before[stream] = std::move(received);
    }
    before = std::move(given);
    return {};
}

}  // namespace belay::server
