#include "stage/retention/oldest_files.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace belay::stage {

bool is_older(const YoungFile& a, const YoungFile& b) {
    const auto order = [](const YoungFile& file) {
        return std::tuple(file.time, std::string_view(file.entry.path));
    };
    return order(a) < order(b);
}

void OldestFiles::add(YoungFile file) {
    const std::lock_guard lock(mutex_);
    bytes_ += static_cast<double>(file.bytes);
    heap_.push_back(std::move(file));
    std::ranges::push_heap(heap_, is_older);
    while (!heap_.empty() && is_enough(bytes_ - static_cast<double>(heap_.front().bytes), heap_.size() - 1)) {
        bytes_ -= static_cast<double>(heap_.front().bytes);
        std::ranges::pop_heap(heap_, is_older);
        heap_.pop_back();
    }
    if (is_enough(bytes_, heap_.size()))
        youngest_ = heap_.empty() ? std::numeric_limits<int64_t>::min() : heap_.front().time;
}

std::vector<YoungFile> OldestFiles::take() {
    std::ranges::sort(heap_, is_older);
    return std::move(heap_);
}

}  // namespace belay::stage
