#include "score/digest_part.h"

#include "record/tables/gpu.h"

#include <cmath>

namespace belay::score {

namespace {

consteval size_t gpu(std::string_view name) {
    return record::column(record::kGpu, name);
}

// In the order in which sample_of() takes them: first what a score needs.
constexpr size_t kColumns[] = {gpu("engine_active_ratio"),
                               gpu("sm_active_ratio"),
                               gpu("tensor_active_ratio"),
                               gpu("fp64_active_ratio"),
                               gpu("fp32_active_ratio"),
                               gpu("fp16_active_ratio"),
                               gpu("dram_active_ratio"),
                               gpu("integer_active_ratio"),
                               gpu("clock_sm_hertz"),
                               gpu("energy_joules_total"),
                               gpu("memory_used_bytes"),
                               gpu("processes"),
                               gpu("utilization_ratio"),
                               gpu("pcie_sent_bytes_per_second"),
                               gpu("pcie_received_bytes_per_second"),
                               gpu("nvlink_sent_bytes_per_second"),
                               gpu("nvlink_received_bytes_per_second"),
                               gpu("c2c_sent_bytes_per_second"),
                               gpu("c2c_received_bytes_per_second"),
                               gpu("sm_occupancy_ratio"),
                               gpu("power_watts"),
                               gpu("temperature_celsius"),
                               gpu("memory_total_bytes"),
                               gpu("clock_event_reasons")};
constexpr size_t kScoreColumns = 19;
static_assert(kColumns[kScoreColumns] == gpu("sm_occupancy_ratio"));

double both(double sent, double received) {
    if (std::isnan(sent)) return received;
    return std::isnan(received) ? sent : sent + received;
}

GpuSample sample_of(const std::array<std::span<const double>, std::size(kColumns)>& columns, size_t row,
                    Detail detail) {
    GpuSample sample;
    size_t next = 0;
    auto value = [&] { return columns[next++][row]; };
    sample.activity.engine = value();
    sample.activity.sm = value();
    for (double& active : sample.activity.active) active = value();
    sample.activity.integer = value();
    sample.activity.clock_hertz = value();
    sample.energy_joules_total = value();
    sample.memory_used_bytes = value();
    sample.processes = value();
    sample.utilization = value();
    for (double& link : sample.links) {
        const double sent = value();
        link = both(sent, value());
    }
    if (detail == Detail::kScore) return sample;
    sample.occupancy = value();
    sample.power_watts = value();
    sample.temperature_celsius = value();
    sample.memory_total_bytes = value();
    sample.clock_event_reasons = value();
    return sample;
}

}  // namespace

Held held_by_job(const KnownJob& job, const DeviceKey& key) {
    if (auto device = job.held.find(key); device != job.held.end()) return device->second;
    if (auto node = job.node_held.find(key.first); node != job.node_held.end()) return node->second;
    if (!job.held.empty() || !job.node_held.empty()) return {};
    // Nobody says who held what.
    return {
        {job.first - std::chrono::nanoseconds(static_cast<int64_t>(job.interval_seconds * 1e9)), job.last}};
}

GpuDigest describe(const KnownJob& job, const DeviceKey& key, const std::vector<DeviceCeilings>& ceilings) {
    GpuDigest gpu{.node = key.first, .device = key.second};
    if (auto facts = job.devices.find(key); facts != job.devices.end()) {
        gpu.index = facts->second.index;
        gpu.name = facts->second.name;
        gpu.mig_profile = facts->second.mig_profile;
        gpu.weight = facts->second.weight;
    }
    gpu.ceilings = find_ceilings(ceilings, gpu.name, gpu.mig_profile);
    return gpu;
}

record::ScanRequest gpu_columns(Detail detail) {
    record::ScanRequest request{
        .table = &record::kGpu, .numbers = {}, .texts = {}, .hashes = {1, 2}, .splits = {}};
    const size_t count = detail == Detail::kScore ? kScoreColumns : std::size(kColumns);
    request.numbers.assign(std::begin(kColumns), std::begin(kColumns) + count);
    return request;
}

DigestPart::DigestPart(const KnownJob& job, const Frame& frame, const std::vector<DeviceCeilings>& ceilings)
    : job_(job), frame_(frame), ceilings_(ceilings) {
    sums_.seconds.resize(seconds_of(frame));
}

void DigestPart::add(const record::ScanRows& rows) {
    std::array<std::span<const double>, std::size(kColumns)> columns;
    for (size_t i = 0; i < gpu_columns(job_.detail).numbers.size(); ++i) columns[i] = rows.numbers(i);
    for (size_t row = 0; row < rows.size(); ++row) {
        Device* device = find({rows.hashes(0)[row], rows.hashes(1)[row]});
        if (device == nullptr) continue;
        if (!device->digester.add(rows.time(row), sample_of(columns, row, job_.detail))) disorder_ = true;
    }
}

void DigestPart::finish() {
    for (auto& device : devices_) device->digester.finish();
}

void DigestPart::take(std::vector<GpuDigest>& gpus) {
    for (auto& device : devices_) gpus.push_back(std::move(device->gpu));
}

// The devices of a node take turns: the one after the last is tried first, then the node's first.
DigestPart::Device* DigestPart::find(const DeviceHash& hash) {
    auto is = [&](size_t i) { return i < devices_.size() && devices_[i]->hash == hash; };
    if (is(last_ + 1)) return devices_[++last_].get();
    if (is(first_of_node_)) return devices_[last_ = first_of_node_].get();
    auto [found, is_new] = by_hash_.try_emplace(hash, kForeign);
    if (is_new) found->second = add_device(hash);
    if (found->second == kForeign) return nullptr;
    return devices_[last_ = found->second].get();
}

size_t DigestPart::add_device(const DeviceHash& hash) {
    auto key = job_.keys.find(hash);
    if (key == job_.keys.end()) {
        stranger_ = true;
        return kForeign;
    }
    Held held = held_by_job(job_, key->second);
    if (held.empty()) {
        foreign_.insert(key->second);
        return kForeign;
    }
    if (devices_.empty() || devices_.back()->gpu.node != key->second.first) first_of_node_ = devices_.size();
    devices_.push_back(std::make_unique<Device>(hash, describe(job_, key->second, ceilings_), job_.detail,
                                                sums_, frame_, std::move(held)));
    return devices_.size() - 1;
}

}  // namespace belay::score
