#include "server/live/hub.h"

#include "core/text.h"

#include <algorithm>
#include <utility>

namespace belay::server {

void LiveHub::drop_gone(Job& job) {
    std::erase_if(job.readers, [](const auto& queue) { return !queue->is_open(); });
}

// A number beyond the last is of another belayd, or of one that was started again: its events are not these.
void LiveHub::catch_up(const Job& job, std::string_view last_event_id, http::EventQueue& queue) {
    const auto number = core::parse_number<uint64_t>(last_event_id);
    if (!number) return;
    const uint64_t oldest = job.kept.empty() ? job.last + 1 : job.kept.front().number;
    const bool has_all = *number <= job.last && *number + 1 >= oldest;
    if (!has_all) (void)queue.push({.data = "{}", .event = "gap"});
    for (const Kept& kept : job.kept)
        if (!has_all || kept.number > *number) (void)queue.push(kept.event);
}

core::Result<std::shared_ptr<http::EventQueue>> LiveHub::join(const std::string& key,
                                                              std::string_view last_event_id) {
    const std::lock_guard lock(mutex_);
    size_t total = 0;
    for (auto& [name, job] : jobs_) {
        drop_gone(job);
        total += job.readers.size();
    }
    Job& job = jobs_[key];
    if (total >= limits_.readers || job.readers.size() >= limits_.readers_of_job)
        return core::negative("too many read events now")
            .because(core::Cause::kNoSpace)
            .hint("try again later");
    auto queue = std::make_shared<http::EventQueue>(limits_.queue_bytes);
    catch_up(job, last_event_id, *queue);
    job.readers.push_back(queue);
    return queue;
}

std::vector<std::string> LiveHub::jobs_with_readers() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (auto& [key, job] : jobs_) {
        drop_gone(job);
        if (!job.readers.empty()) keys.push_back(key);
    }
    std::erase_if(jobs_, [](const auto& entry) { return entry.second.readers.empty(); });
    return keys;
}

void LiveHub::add(Job& job, std::string_view type, const std::string& data) {
    const uint64_t number = ++job.last;
    http::Event event{.data = data, .event = std::string(type), .id = std::to_string(number)};
    for (const auto& queue : job.readers) (void)queue->push(event);  // of one that is too slow: it is dropped
    job.kept_bytes += data.size();
    job.kept.push_back({number, std::move(event)});
    while (job.kept_bytes > limits_.kept_bytes && job.kept.size() > 1) {
        job.kept_bytes -= job.kept.front().event.data.size();
        job.kept.pop_front();
    }
    drop_gone(job);
}

void LiveHub::publish(const std::string& key, std::string_view type, const std::string& data) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(key);
    if (job != jobs_.end()) add(job->second, type, data);
}

void LiveHub::finish(const std::string& key, const std::string& data) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(key);
    if (job == jobs_.end()) return;
    add(job->second, "end", data);
    for (const auto& queue : job->second.readers) queue->close();
    jobs_.erase(job);
}

size_t LiveHub::readers() const {
    const std::lock_guard lock(mutex_);
    size_t total = 0;
    for (const auto& [key, job] : jobs_)
        total += static_cast<size_t>(
            std::ranges::count_if(job.readers, [](const auto& queue) { return queue->is_open(); }));
    return total;
}

}  // namespace belay::server
