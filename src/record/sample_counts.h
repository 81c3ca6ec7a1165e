// How many samples of the periodic tables were due and how many were received: coverage is the share of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace belay::record {

struct SampleCount {
    int64_t expected = 0;
    int64_t received = 0;

    SampleCount& operator+=(const SampleCount& other) {
        expected += other.expected;
        received += other.received;
        return *this;
    }
    // received / expected; nothing where nothing was due.
    std::optional<double> share() const {
        if (expected <= 0) return std::nullopt;
        return static_cast<double>(received) / static_cast<double>(expected);
    }
};

struct SampleCounts {
    // By table and node. A table without rows is one that was not due.
    std::map<std::string, std::map<std::string, SampleCount>> tables;

    void add(const std::string& table, const std::string& node, SampleCount count) {
        tables[table][node] += count;
    }
    SampleCount of(const std::string& table) const {
        SampleCount sum;
        if (auto found = tables.find(table); found != tables.end())
            for (const auto& [node, count] : found->second) sum += count;
        return sum;
    }
    // Weighted by samples: a table with ten rows a second counts no more than its expected rows.
    SampleCount total() const {
        SampleCount sum;
        for (const auto& [table, nodes] : tables) sum += of(table);
        return sum;
    }
};

}  // namespace belay::record
