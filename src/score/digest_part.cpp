#include "score/digest_part.h"

#include "schema/tables/gpu.h"

#include <algorithm>
#include <array>

namespace belay::score {

namespace {

consteval size_t gpu(std::string_view name) {
    return schema::gpu_field(name);
}

// What a score needs.
constexpr std::array kScoreFields = {gpu("engine_active_ratio"),
                                     gpu("sm_active_ratio"),
                                     gpu("tensor_active_ratio"),
                                     gpu("fp64_active_ratio"),
                                     gpu("fp32_active_ratio"),
                                     gpu("fp16_active_ratio"),
                                     gpu("dram_active_ratio"),
                                     gpu("integer_active_ratio"),
                                     gpu("tensor_double_active_ratio"),
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
                                     gpu("c2c_received_bytes_per_second")};

// Those, and what else is followed over time.
std::vector<size_t> fields_of(Detail detail) {
    std::vector<size_t> fields(kScoreFields.begin(), kScoreFields.end());
    if (detail == Detail::kScore) return fields;
    auto add = [&](size_t field) {
        if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
    };
    add(gpu("memory_total_bytes"));
    for (const schema::GpuQuantity& quantity : schema::kGpuQuantities) {
        if (quantity.origin == schema::GpuOrigin::kModel || quantity.origin == schema::GpuOrigin::kLinks)
            continue;
        add(quantity.first);
        if (quantity.origin == schema::GpuOrigin::kSum) add(quantity.second);
    }
    return fields;
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
        .table = &schema::kGpu, .numbers = {}, .texts = {}, .hashes = {1, 2}, .splits = {}};
    for (size_t field : fields_of(detail)) request.numbers.push_back(schema::kFirstGpuField + field);
    return request;
}

DigestPart::DigestPart(const KnownJob& job, const Frame& frame, const std::vector<DeviceCeilings>& ceilings)
    : job_(job), frame_(frame), ceilings_(ceilings), fields_(fields_of(job.detail)) {
    sums_.seconds.resize(seconds_of(frame));
}

void DigestPart::add(const record::ScanRows& rows) {
    std::vector<std::span<const double>> columns;
    for (size_t i = 0; i < fields_.size(); ++i) columns.push_back(rows.numbers(i));
    for (size_t row = 0; row < rows.size(); ++row) {
        Device* device = find({rows.hashes(0)[row], rows.hashes(1)[row]});
        if (device == nullptr) continue;
        GpuSample sample;
        for (size_t i = 0; i < fields_.size(); ++i) sample[fields_[i]] = columns[i][row];
        if (!device->digester.add(rows.time(row), sample)) disorder_ = true;
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
