// Files of checkpoints made in memory, for tests.
#pragma once

#include "stage/lint/checkpoint.h"

#include <algorithm>
#include <isa-l/crc.h>
#include <map>
#include <string>

#include <fmt/format.h>

namespace belay::stage::testing {

inline std::string little(uint64_t value, size_t bytes) {
    std::string text;
    for (size_t at = 0; at < bytes; ++at) text += static_cast<char>(value >> (8 * at));
    return text;
}

// A zip archive of members that are stored, as torch.save writes it.
inline std::string torch_file(const std::map<std::string, std::string>& members = {
                                  {"archive/data.pkl", "pickled"}, {"archive/data/0", "tensor"}}) {
    std::string archive;
    std::string directory;
    for (const auto& [name, content] : members) {
        const uint32_t crc =
            crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(content.data()), content.size());
        const std::string common = std::string(10, '\0') + little(crc, 4) + little(content.size(), 4) +
                                   little(content.size(), 4) + little(name.size(), 2);
        directory += little(0x02014b50, 4) + little(0, 2) + common + little(0, 2) + little(0, 2) +
                     little(0, 2) + little(0, 2) + little(0, 4) + little(archive.size(), 4) + name;
        archive += little(0x04034b50, 4) + common + little(0, 2) + name + content;
    }
    const std::string end = little(0x06054b50, 4) + little(0, 4) + little(members.size(), 2) +
                            little(members.size(), 2) + little(directory.size(), 4) +
                            little(archive.size(), 4) + little(0, 2);
    return archive + directory + end;
}

inline std::string safetensors_file(const std::map<std::string, uint64_t>& tensors = {{"w", 8}}) {
    std::string header = R"({"__metadata__":{"format":"pt"})";
    uint64_t at = 0;
    for (const auto& [name, bytes] : tensors) {
        header += fmt::format(R"(,"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})", name,
                              bytes / 4, at, at + bytes);
        at += bytes;
    }
    header += "}";
    return little(header.size(), 8) + header + std::string(at, 'x');
}

// A .metadata of protocol 2, which names __0_0.distcp with 512 bytes and __1_0.distcp with 70000.
std::string distributed_metadata(int protocol = 2);

using Files = std::map<std::string, std::string>;

inline CheckpointContent content_of(const Files& files, std::optional<int64_t> step = 100) {
    CheckpointContent content{.name = "checkpoint-100", .step = step};
    for (const auto& [name, bytes] : files)
        content.files.push_back({.name = name, .bytes = bytes.size(), .modified = 1});
    content.read = [&files](const std::string& name, uint64_t offset,
                            size_t size) -> core::Result<std::string> {
        const std::string& bytes = files.at(name);
        return offset < bytes.size() ? bytes.substr(static_cast<size_t>(offset), size) : std::string();
    };
    return content;
}

inline Checkpoint judged(const Files& files, const CheckpointDemand& demand = {},
                         std::optional<CheckpointPointer> pointer = {}) {
    CheckpointContent content = content_of(files);
    content.pointer = std::move(pointer);
    return judge(content, demand).value();
}

inline std::string first_problem(const Checkpoint& checkpoint) {
    return checkpoint.problems.empty() ? "" : checkpoint.problems.front().what;
}

}  // namespace belay::stage::testing
