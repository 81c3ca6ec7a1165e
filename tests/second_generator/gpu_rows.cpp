// What NVML, or DCGM, would tell of the GPUs of a node.
#include "node.h"
#include "random.h"

#include <algorithm>

namespace belay::second_generator {

namespace {

double ratio(double value) {
    return std::round(std::clamp(value, 0.0, 1.0) * 1e4) / 1e4;
}
double four_digits(double value) {
    if (value < 1e4) return std::round(std::max(0.0, value));
    const double step = std::pow(10, std::floor(std::log10(value)) - 3);
    return std::round(value / step) * step;
}

// What the ranks of a GPU did on it, summed.
struct Shares {
    double engine = 0, sm = 0, occupancy = 0, tensor = 0, fp32 = 0, fp16 = 0, integer = 0, dram = 0;
    double copied = 0, stored = 0, exchanged = 0;
    double present = 0;  // time in which a kernel was there
};

void add(Shares& sum, const GpuUse& use, double share, double scale = 1) {
    sum.engine += use.engine * share;
    sum.sm += use.sm * share;
    sum.occupancy += use.occupancy * share;
    sum.tensor += use.tensor * share * scale;
    sum.fp32 += use.fp32 * share * scale;
    sum.fp16 += use.fp16 * share * scale;
    sum.integer += use.integer * share;
    sum.dram += use.dram * share * scale;
    sum.present += share;
}

Shares shares_of(const Job& job, const Second& did, double span) {
    Shares sum;
    const GpuUse& use = job.work.gpu;
    const GpuUse waiting{.engine = 1,
                         .sm = use.waiting_sm,
                         .occupancy = 0.05,
                         .tensor = 0,
                         .fp32 = 0.002,
                         .fp16 = 0,
                         .integer = 0.06 * use.waiting_sm,
                         .dram = 0.01};
    const GpuUse evaluating{.engine = use.engine * 0.9,
                            .sm = use.sm * 0.85,
                            .occupancy = use.occupancy,
                            .tensor = use.tensor * 0.6,
                            .fp32 = use.fp32 * 0.6,
                            .fp16 = use.fp16,
                            .integer = use.integer,
                            .dram = use.dram * 0.6};
    add(sum, use, did.of(Doing::kCompute) / span);
    add(sum, waiting, (did.of(Doing::kWait) + did.of(Doing::kExchange)) / span);
    add(sum, evaluating, did.of(Doing::kEvaluate) / span);
    sum.engine += 0.05 * did.of(Doing::kCopy) / span;
    sum.copied = did.read_bytes * 1.5 / span;
    sum.stored = did.written_bytes / span;
    sum.exchanged = did.exchanged_bytes / span;
    return sum;
}

}  // namespace

void Node::add_gpus(double from, double to) {
    for (Gpu& gpu : gpus_) add_gpu(gpu, from, to);
}

void Node::add_gpu(Gpu& one, double from, double to) {
    const GpuModel& model = *job_.model;
    const double span = to - from;
    one.is_lost = one.is_lost ||
                  (number_ == job_.lost_gpu_node && one.number == job_.lost_gpu && to >= job_.lost_gpu_at);
    Shares sum;
    int users = 0;
    int first_user = -1;
    bool alive = false;
    for (int local = 0; local < job_.shape.tasks; ++local) {
        const auto& gpus = job_.gpus_of[static_cast<size_t>(local)];
        if (std::ranges::find(gpus, one.number) == gpus.end()) continue;
        const int rank = number_ * job_.shape.tasks + local;
        const Second did = timeline_.over(rank, from, to);
        const Shares more = shares_of(job_, did, span);
        sum.engine += more.engine;
        sum.sm += more.sm;
        sum.occupancy += more.occupancy;
        sum.tensor += more.tensor;
        sum.fp32 += more.fp32;
        sum.fp16 += more.fp16;
        sum.integer += more.integer;
        sum.dram += more.dram;
        sum.copied += more.copied;
        sum.stored += more.stored;
        sum.exchanged += more.exchanged;
        sum.present += more.present;
        if (first_user < 0) first_user = rank;
        const bool has_context = did.of(Doing::kOver) < 0.5 * span && to > 0.5 * job_.work.start_seconds;
        users += has_context ? 1 : 0;
        alive = alive || has_context;
    }
    // Who shares a GPU takes turns on it.
    const double crowd = std::max(1.0, sum.present);
    for (double* part :
         {&sum.engine, &sum.sm, &sum.occupancy, &sum.tensor, &sum.fp32, &sum.fp16, &sum.integer, &sum.dram})
        *part /= crowd;

    const int rank = std::max(0, first_user);
    const double t = 0.5 * (from + to);
    auto felt = [&](Sign sign) { return first_user < 0 ? 1.0 : job_.sign(sign, rank, t); };
    const double heat = felt(Sign::kHeat), cap = felt(Sign::kPowerCap), low = felt(Sign::kLowClock);
    const double brake = felt(Sign::kPowerBrake), pcie = felt(Sign::kNarrowPcie),
                 nvlink = felt(Sign::kBadNvlink);
    const double slower = heat * cap * low * brake;

    const double n = job_.around.sample_noise;
    auto noisy = [&](double value, uint64_t what) {
        return value * std::max(0.0, 1 + n * noise(what + 100 * one.number));
    };
    double power = model.idle_power + (alive ? 25 : 0) +
                   (model.power_limit - model.idle_power) *
                       std::min(0.97, 0.08 * sum.engine + 0.22 * sum.sm + 0.65 * sum.tensor / 0.6 +
                                          0.35 * sum.fp32 + 0.18 * sum.dram);
    power = std::min(model.power_limit * 0.995, noisy(power, 30));
    const double limit = model.power_limit / (cap > 1 ? std::pow(cap, 1.7) : 1);
    if (slower > 1) power = model.idle_power + (power - model.idle_power) / std::pow(slower, 1.7);
    const bool capped = cap > 1.005 && sum.sm > 0.3;
    if (capped) power = std::min(power, limit * (0.985 + 0.01 * hashed(place(31))));
    one.energy += power * span;
    const double ambient = 27 + 4 * hashed(job_.seed * 77 + static_cast<uint64_t>(number_ * 8 + one.number));
    const double goal =
        ambient + 38 * power / model.power_limit + (heat > 1.002 ? 30 + 12 * (1 - 1 / heat) : 0);
    one.celsius += (std::min(goal, 91.0) - one.celsius) * (1 - std::exp(-span / 18));
    const bool hot = heat > 1.005 && sum.sm > 0.2;
    const bool near_limit = power > 0.96 * model.power_limit;
    if (capped || near_limit) one.power_violation += span * (capped ? 0.9 : 0.1 * hashed(place(32)));
    if (hot) one.thermal_violation += span * std::min(1.0, 3 * (heat - 1) + 0.2);
    const bool is_bad = number_ == job_.ecc_node && one.number == job_.ecc_gpu;
    if (is_bad) one.corrected += job_.corrected_each_minute / 60 * span;
    if (is_bad && job_.uncorrected_at > from && job_.uncorrected_at <= to) one.uncorrected += 1;
    if (pcie > 1.05) one.replays += span * 0.4 * hashed(place(33));
    if (nvlink > 1.05) one.nvlink_errors += span * 20 * hashed(place(34));
    if (!take_ || one.is_lost) return;

    gpu.begin(time(to), name_);
    gpu.set("device", one.uuid);
    if (model.has_counters) {
        gpu.set("engine_active_ratio", ratio(noisy(sum.engine, 1)));
        gpu.set("sm_active_ratio", ratio(std::min(sum.engine, noisy(sum.sm, 2))));
        gpu.set("sm_occupancy_ratio", ratio(noisy(sum.occupancy, 3)));
        gpu.set("tensor_active_ratio", ratio(noisy(sum.tensor, 4)));
        gpu.set("fp64_active_ratio", 0.0);
        gpu.set("fp32_active_ratio", ratio(noisy(sum.fp32, 5)));
        gpu.set("fp16_active_ratio", ratio(noisy(sum.fp16, 6)));
        gpu.set("integer_active_ratio", ratio(noisy(sum.integer, 7)));
        gpu.set("dram_active_ratio", ratio(noisy(sum.dram, 8)));
    }
    gpu.set(
        "utilization_ratio",
        std::round(std::clamp(std::min(1.0, sum.present) * (sum.present > 0.97 ? 1 : noisy(1, 9)), 0.0, 1.0) *
                   100) /
            100);
    double used = 0.55e9 + (alive ? 0.6e9 : 0);
    if (first_user >= 0 && alive) {
        const double ramp = std::clamp(
            (to - 0.5 * job_.work.start_seconds) / std::max(3.0, job_.work.start_seconds), 0.0, 1.0);
        used += job_.work.gpu_bytes * (0.3 + 0.7 * ramp) *
                (first_user >= 0 && to > timeline_.first_step + 2 ? 1 : 0.6);
        for (const Growth& growth : job_.gpu_growth)
            used += growth.bytes_per_second * std::max(0.0, to - growth.from);
    }
    used = std::min(used, model.memory * 0.995);
    gpu.set("memory_used_bytes", whole(used / kMib) * static_cast<int64_t>(kMib));
    gpu.set("memory_total_bytes", whole(model.memory));
    double clock = alive || sum.present > 0 ? model.usual_clock : model.highest_clock * 0.175;
    if (first_user < 0) clock = model.highest_clock * 0.175;
    if (sum.sm > 0.02 && sum.tensor < 0.1) clock = model.highest_clock;
    if (near_limit) clock *= 0.97;
    clock = std::round(clock * (1 + 0.004 * noise(20)) / slower / 15e6) * 15e6;
    clock = std::min(clock, model.highest_clock);
    gpu.set("clock_sm_hertz", clock);
    gpu.set("clock_memory_hertz", model.memory_clock);
    gpu.set("temperature_celsius", std::round(one.celsius));
    gpu.set("memory_temperature_celsius", std::round(one.celsius + 8 + 4 * sum.dram));
    gpu.set("power_watts", std::round(power * 10) / 10);
    gpu.set("energy_joules_total", std::floor(one.energy * 1000) / 1000);
    int64_t reasons = sum.present < 0.02 ? 1 : 0;
    if (capped || (near_limit && hashed(place(35)) < 0.3)) reasons |= 4;
    if (hot) reasons |= one.celsius > 86 ? 0x60 : 0x20;
    if (low > 1.005) reasons |= 2;
    if (brake > 1.005) reasons |= 0x88;
    gpu.set("clock_event_reasons", reasons);
    if (model.has_counters) {
        gpu.set("pcie_sent_bytes_per_second", four_digits(noisy(2e5 + sum.stored + sum.copied * 0.02, 10)));
        gpu.set("pcie_received_bytes_per_second", four_digits(noisy(4e5 + sum.copied, 11)));
        const double local = job_.shape.tasks > 1 ? sum.exchanged * 1.5 : 0;
        gpu.set("nvlink_sent_bytes_per_second", four_digits(noisy(local, 12)));
        gpu.set("nvlink_received_bytes_per_second", four_digits(noisy(local, 13)));
        if (model.has_c2c) {
            gpu.set("c2c_sent_bytes_per_second", four_digits(noisy(1e5 + sum.stored, 14)));
            gpu.set("c2c_received_bytes_per_second", four_digits(noisy(1e6 + sum.copied, 15)));
        }
    }
    gpu.set("ecc_corrected_total", whole(one.corrected));
    gpu.set("ecc_uncorrected_total", whole(one.uncorrected));
    gpu.set("remapped_rows_total", is_bad ? job_.around.old_remapped : 0);
    gpu.set("remap_pending", one.uncorrected > 0 && !job_.remap_fails ? 1 : 0);
    gpu.set("remap_failed", one.uncorrected > 0 && job_.remap_fails ? 1 : 0);
    gpu.set("pcie_replays_total", whole(one.replays));
    gpu.set("pcie_generation", sum.present < 0.02 && users == 0 ? 1 : model.pcie_generation);
    gpu.set("pcie_width", pcie > 1.02 ? (pcie > 3 ? 4 : 8) : 16);
    if (std::string_view(model.source) == "nvml") gpu.set("processes", users);
    if (model.has_counters && model.has_kinds_of_tensor) {
        gpu.set("tensor_half_active_ratio", ratio(noisy(sum.tensor, 4)));
        gpu.set("tensor_integer_active_ratio", 0.0);
        gpu.set("tensor_double_active_ratio", 0.0);
    }
    gpu.set("power_violation_seconds_total", one.power_violation);
    gpu.set("thermal_violation_seconds_total", one.thermal_violation);
    if (std::string_view(model.source) == "nvml") gpu.set("nvlink_errors_total", whole(one.nvlink_errors));
    if (model.has_counters && model.has_kinds_of_tensor) gpu.set("jpeg_active_ratio", 0.0);
}

}  // namespace belay::second_generator
