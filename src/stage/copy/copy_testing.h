// The nodes of a copy as threads, or as processes, on the loopback of this machine.
#pragma once

#include "core/file.h"
#include "core/work.h"
#include "stage/copy/copy.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage::copy_testing {

namespace fs = std::filesystem;

// Path and content of every file, but the copy's own.
inline std::map<std::string, std::string> tree_of(const fs::path& root) {
    std::map<std::string, std::string> files;
    if (!fs::exists(root)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        const std::string path = entry.path().lexically_relative(root);
        if (entry.is_regular_file() && !path.starts_with(kCopyPrefix))
            files[path] = core::read_file(entry.path()).value();
    }
    return files;
}

// The directories in which a copy is being made.
inline std::vector<fs::path> work_directories(const fs::path& target) {
    std::vector<fs::path> found;
    if (!fs::exists(target)) return found;
    for (const auto& entry : fs::directory_iterator(target))
        if (entry.is_directory() && entry.path().filename().string().starts_with(kCopyPrefix))
            found.push_back(entry.path());
    return found;
}

// Changes a byte of a file, whose size and time stay.
inline void damage(const fs::path& path) {
    const auto time = fs::last_write_time(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const int byte = file.get();
    file.seekp(0);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    fs::last_write_time(path, time);
}

class CopyCase {
  public:
    explicit CopyCase(uint32_t nodes = 1) : nodes_(nodes) {
        options.chunk_bytes = kChunk;
        options.patience = {.other = {},
                            .join = std::chrono::seconds(30),
                            .silence = std::chrono::seconds(20),
                            .orphan = std::chrono::seconds(30),
                            .alive = std::chrono::milliseconds(50),
                            .checkpoint = std::chrono::milliseconds(5)};
        fs::create_directory(source());
    }

    static constexpr uint64_t kChunk = uint64_t{16} << 10;
    CopyOptions options;

    fs::path source() const { return directory_.path() / "source"; }
    fs::path destination(uint32_t rank = 0) const {
        return directory_.path() / fmt::format("node{}", rank) / "data";
    }

    void file(const std::string& name, const std::string& content) const {
        fs::create_directories((source() / name).parent_path());
        std::ofstream(source() / name, std::ios::binary) << content;
    }
    static std::string noise(uint64_t bytes, uint64_t seed) {
        std::mt19937_64 random(seed);
        std::string out(bytes, '\0');
        for (char& byte : out) byte = static_cast<char>(random());
        return out;
    }
    // Some 60 chunks: a large file, many small ones, an empty one, one that may be run.
    void some_files() const {
        file("large.bin", noise(50 * kChunk + 17, 1));
        for (int i = 0; i < 90; ++i)
            file(fmt::format("class{}/{:03}.jpg", i % 4, i),
                 noise(static_cast<uint64_t>(i) * 41, 100 + static_cast<uint64_t>(i)));
        file("empty", "");
        file("tools/run.sh", "#!/bin/sh\n");
        fs::permissions(source() / "tools/run.sh", fs::perms::owner_exec, fs::perm_options::add);
    }
    std::map<std::string, std::string> wanted() const { return tree_of(source()); }
    std::map<std::string, std::string> copied(uint32_t rank = 0) const { return tree_of(destination(rank)); }
    uint64_t source_bytes() const {
        uint64_t sum = 0;
        for (const auto& [path, content] : wanted()) sum += content.size();
        return sum;
    }

    CopyStep step(uint32_t rank) const {
        CopyStep step{.rank = rank,
                      .root_address = std::string("127.0.0.1"),
                      .name = directory_.path(),
                      .secret = "the secret of " + directory_.path().string()};
        for (uint32_t i = 0; i < nodes_; ++i) step.nodes.push_back(fmt::format("n{}", i));
        return step;
    }

    core::Result<CopyReport> here() const { return copy_here(source(), destination(), options); }
    core::Result<CopyReport> node(uint32_t rank, const CopyOptions& with) const {
        return copy_in_step(source(), destination(rank), step(rank), with);
    }

    // Every node a thread; `change` may give one other options.
    using Change = std::function<void(uint32_t rank, CopyOptions& options)>;
    std::vector<core::Result<CopyReport>> in_threads(const Change& change = {}) const {
        std::vector<core::Result<CopyReport>> reports(nodes_, CopyReport{});
        {
            std::vector<std::jthread> threads;
            for (uint32_t rank = 0; rank < nodes_; ++rank)
                threads.emplace_back([&, rank] {
                    CopyOptions mine = options;
                    if (change) change(rank, mine);
                    reports[rank] = node(rank, mine);
                });
        }
        return reports;
    }

    // Rank 0 here, every other node a process; what each ends with, or "".
    core::Result<CopyReport> in_processes(const Change& change = {}) {
        std::map<uint32_t, core::Work> members;
        for (uint32_t rank = 1; rank < nodes_; ++rank)
            members.emplace(
                rank,
                core::Work::start({.what = "a node"}, [this, &change, rank]() -> core::Result<std::string> {
                    CopyOptions mine = options;
                    if (change) change(rank, mine);
                    BELAY_TRY(report, node(rank, mine));
                    return std::to_string(report.nodes.at(0).figures.resumed_chunks);
                }).value());
        CopyOptions mine = options;
        if (change) change(0, mine);
        auto report = node(0, mine);
        for (auto& [rank, member] : members) {
            if (stopped_rank == rank) kill(member.pid(), SIGKILL);
            auto told = member.finish(core::Deadline::after(std::chrono::seconds(60)));
            told_[rank] = told ? *told : told.error().message();
        }
        return report;
    }
    std::string told(uint32_t rank) { return told_[rank]; }
    std::optional<uint32_t> stopped_rank = {};  // whose process stands still

    // Ends this process, as kill -9 does, once it holds `chunks` chunks and has said so on the disk.
    static std::function<void(uint64_t)> die_at(uint64_t chunks, const fs::path& target) {
        return [chunks, target](uint64_t held) {
            if (held < chunks) return;
            const auto deadline = core::Deadline::after(std::chrono::seconds(20));
            const auto has_state = [&] {
                for (const fs::path& work : work_directories(target))
                    if (fs::exists(work / "state")) return true;
                return false;
            };
            while (!has_state() && !deadline.is_over())
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            kill(getpid(), SIGKILL);
        };
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    uint32_t nodes_;
    std::map<uint32_t, std::string> told_;
};

// Counts the bytes that are read of a source.
inline std::function<ReadSegment(const CopySource&)> counting(std::atomic<uint64_t>& bytes) {
    return [&bytes](const CopySource& source) -> ReadSegment {
        return [&bytes, read = source_reader(source)](const Segment& segment, char* into) {
            bytes += segment.bytes;
            return read(segment, into);
        };
    };
}

}  // namespace belay::stage::copy_testing
