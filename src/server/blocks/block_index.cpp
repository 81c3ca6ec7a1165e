#include "server/blocks/block_index.h"

#include <algorithm>
#include <iterator>

namespace belay::server {

void BlockIndex::add(const stream::StreamId& stream, std::string_view file, BlockPlace place) {
    auto [entry, is_new] = streams_.try_emplace(stream);
    if (is_new) nodes_[stream.node].push_back(stream);
    auto name = files_.find(file);
    if (name == files_.end()) name = files_.emplace(file, std::make_shared<const std::string>(file)).first;
    place.file = name->second;
    if (place.has_rows()) {
        entry->second.first_time = std::min(entry->second.first_time, place.first_time);
        entry->second.last_time = std::max(entry->second.last_time, place.last_time);
    }
    entry->second.places.push_back(place);
    ++size_;
}

void BlockIndex::forget_stream(const stream::StreamId& stream) {
    const auto node = nodes_.find(stream.node);
    std::erase(node->second, stream);
    if (node->second.empty()) nodes_.erase(node);
}

void BlockIndex::forget(std::string_view file) {
    const auto name = files_.find(file);
    if (name == files_.end()) return;
    for (auto at = streams_.begin(); at != streams_.end();) {
        auto& [stream, entry] = *at;
        size_ -=
            std::erase_if(entry.places, [&](const BlockPlace& place) { return place.file == name->second; });
        const bool is_empty = entry.places.empty();
        if (is_empty) forget_stream(stream);
        at = is_empty ? streams_.erase(at) : std::next(at);
    }
    files_.erase(name);
}

std::vector<std::string> BlockIndex::files() const {
    std::vector<std::string> names;
    for (const auto& [name, shared] : files_) names.push_back(name);
    return names;
}

std::vector<BlockPlace> BlockIndex::places(const stream::StreamId& stream, const TimeRange& range) const {
    std::vector<BlockPlace> places;
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return places;
    for (const BlockPlace& place : found->second.places)
        if (place.has_rows() && place.first_time < range.end && place.last_time >= range.begin)
            places.push_back(place);
    std::ranges::stable_sort(places, {}, [](const BlockPlace& place) { return place.blocks.first; });
    return places;
}

std::vector<stream::StreamId> BlockIndex::streams_of(std::string_view node, const TimeRange& range) const {
    std::vector<stream::StreamId> streams;
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return streams;
    for (const stream::StreamId& stream : found->second) {
        const Stream& entry = streams_.at(stream);
        if (entry.first_time < range.end && entry.last_time >= range.begin) streams.push_back(stream);
    }
    std::ranges::stable_sort(streams, {}, &stream::StreamId::began);
    return streams;
}

}  // namespace belay::server
