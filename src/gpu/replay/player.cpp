#include "gpu/replay/player.h"

#include <algorithm>

namespace belay::gpu::replay {

Player::Player(Trace trace, double speed)
    : trace_(std::move(trace)), rows_(trace_.devices.size()), speed_(speed) {
    for (const TraceRow& row : trace_.rows) {
        auto& rows = rows_[row.device];
        double before = rows.empty() ? 0 : rows.back().seconds;
        rows.push_back({row.seconds, row.seconds - before, &row.reading});
    }
    std::ranges::stable_sort(trace_.xids, {}, &TraceXid::seconds);
}

double Player::now() const {
    if (standing_) return *standing_;
    return speed_ * std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

const Reading* Player::at(size_t device, double seconds) const {
    const auto& rows = rows_[device];
    auto after = std::ranges::upper_bound(rows, seconds, {}, &Timed::seconds);
    return after == rows.begin() ? nullptr : std::prev(after)->reading;
}

double Player::mean(size_t device, size_t field, double from, double to) const {
    const auto& rows = rows_[device];
    auto first = std::ranges::upper_bound(rows, from, {}, &Timed::seconds);
    auto last = std::ranges::upper_bound(rows, to, {}, &Timed::seconds);
    double sum = 0;
    double seconds = 0;
    for (auto row = first; row != last; ++row) {
        sum += row->length * (*row->reading)[field];
        seconds += row->length;
    }
    if (seconds > 0) return sum / seconds;
    if (last != rows.end()) return (*last->reading)[field];
    return rows.empty() ? kMissing : (*rows.back().reading)[field];
}

std::optional<TraceXid> Player::take_xid() {
    if (next_xid_ == trace_.xids.size() || trace_.xids[next_xid_].seconds > now()) return std::nullopt;
    return trace_.xids[next_xid_++];
}

}  // namespace belay::gpu::replay
