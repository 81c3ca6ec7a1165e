// One part of the table `gpu`: the devices of some nodes.
#pragma once

#include "record/archive/scan.h"
#include "score/gpu_digester.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belay::score {

using DeviceKey = std::pair<std::string, std::string>;  // node and UUID

struct DeviceFacts {
    int64_t index = 0;
    std::string name;
    std::string mig_profile;
    double weight = 1;
};

// DuckDB's hashes of node and UUID: comparing them is cheap, reading two texts for each row is not.
using DeviceHash = std::pair<uint64_t, uint64_t>;

// What is known before the samples are read.
struct KnownJob {
    Detail detail = Detail::kFull;
    std::map<DeviceHash, DeviceKey> keys;
    std::map<DeviceKey, DeviceFacts> devices;
    std::map<DeviceKey, Held> held;         // by device
    std::map<std::string, Held> node_held;  // where the allocation names no devices
    std::set<std::string> nodes;
    core::Time first;  // sample
    core::Time last;
    bool any = false;
    double interval_seconds = 1;
};

// When the job had a device; nothing if it never did.
Held held_by_job(const KnownJob& job, const DeviceKey& key);
// A device before its samples are read.
GpuDigest describe(const KnownJob& job, const DeviceKey& key, const std::vector<DeviceCeilings>& ceilings);

// What to ask Archive::scan for.
record::ScanRequest gpu_columns(Detail detail);

class DigestPart {
  public:
    // All three must outlive it.
    DigestPart(const KnownJob& job, const Frame& frame, const std::vector<DeviceCeilings>& ceilings);

    void add(const record::ScanRows& rows);
    void finish();
    // Rows were not in order of time: the digest is worth nothing.
    bool disorder() const { return disorder_; }
    // There are rows of a device that is not among KnownJob::keys: likewise.
    bool stranger() const { return stranger_; }
    size_t foreign() const { return foreign_.size(); }  // devices that were sampled, but not the job's
    const JobSums& sums() const { return sums_; }
    // After finish(), once.
    void take(std::vector<GpuDigest>& gpus);

  private:
    struct Device {
        Device(const DeviceHash& device, GpuDigest facts, Detail detail, JobSums& sums, const Frame& frame,
               Held held)
            : hash(device), gpu(std::move(facts)), digester(gpu, sums, frame, std::move(held), detail) {}
        DeviceHash hash;
        GpuDigest gpu;
        GpuDigester digester;
    };
    static constexpr size_t kForeign = static_cast<size_t>(-1);

    Device* find(const DeviceHash& hash);
    size_t add_device(const DeviceHash& hash);

    const KnownJob& job_;
    const Frame& frame_;
    const std::vector<DeviceCeilings>& ceilings_;
    std::vector<size_t> fields_;  // that are read
    JobSums sums_;
    std::vector<std::unique_ptr<Device>> devices_;
    std::map<DeviceHash, size_t> by_hash_;
    std::set<DeviceKey> foreign_;
    size_t last_ = static_cast<size_t>(-1);  // of the row before
    size_t first_of_node_ = 0;
    bool disorder_ = false;
    bool stranger_ = false;
};

}  // namespace belay::score
