#include "gpu/synthetic.h"

#include <algorithm>
#include <random>

namespace belay::gpu {

namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kClock = 1755e6;
constexpr double kSlowClock = 1170e6;

// What a device does in a row.
struct State {
    double seconds;
    double share;  // of the trace, 0 to 1
    std::mt19937& random;
    Reading& reading;

    double noise(double value, double spread) {
        return std::max(0.0, value * (1 + std::normal_distribution<double>(0, spread)(random)));
    }
    void active(double engine, double sm, double occupancy) {
        reading[field("engine_active_ratio")] = engine;
        reading[field("sm_active_ratio")] = std::min(engine, noise(sm, 0.005));
        reading[field("sm_occupancy_ratio")] = occupancy;
        reading[field("utilization_ratio")] = engine > 0 ? 1 : 0;
    }
    void pipes(double tensor, double fp32, double integer, double dram) {
        reading[field("tensor_active_ratio")] = std::min(1.0, noise(tensor, 0.005));
        reading[field("fp32_active_ratio")] = fp32;
        reading[field("integer_active_ratio")] = integer;
        reading[field("dram_active_ratio")] = std::min(1.0, noise(dram, 0.005));
    }
    void body(double watts, double celsius, double clock) {
        reading[field("power_watts")] = noise(watts, 0.01);
        reading[field("temperature_celsius")] = celsius;
        reading[field("clock_sm_hertz")] = clock;
    }
};

void rest(State& state) {
    state.active(0, 0, 0);
    state.pipes(0, 0, 0, 0);
    state.body(75, 34, kClock);
    state.reading[field("processes")] = 0;
    state.reading[field("memory_used_bytes")] = 0.5 * kGib;
}

void idle(State& state, Trace&) {
    rest(state);
}

void spin(State& state, Trace&) {
    state.active(1, 1, 0.06);
    state.pipes(0, 0.93, 0.93, 0);
    state.body(290, 52, kClock);
}

void copy(State& state, Trace&) {
    state.active(1, 0.98, 0.6);
    state.pipes(0, 0.03, 0.02, 0.80);
    state.body(420, 58, kClock);
}

void gemm(State& state, Trace&) {
    state.active(1, 0.99, 0.12);
    state.pipes(0.90, 0.02, 0.02, 0.30);
    state.body(690, 66, kClock);
}

void training(State& state, Trace&) {
    // The first tenth of the run loads and compiles.
    if (state.share < 0.1) return rest(state);
    state.active(0.97, 0.88, 0.25);
    state.pipes(0.48, 0.10, 0.06, 0.36);
    state.body(560, 62, kClock);
    state.reading[field("nvlink_sent_bytes_per_second")] = state.noise(80e9, 0.05);
    state.reading[field("nvlink_received_bytes_per_second")] = state.noise(80e9, 0.05);
}

// Waits 4 s of every 16 for its data.
void data_stall(State& state, Trace& trace) {
    training(state, trace);
    if (state.share < 0.1 || std::fmod(state.seconds, 16) >= 4) return;
    state.active(0.05, 0.03, 0.01);
    state.pipes(0, 0, 0, 0.01);
    state.body(130, 45, kClock);
}

// From half of the run on it is too hot.
void throttling(State& state, Trace& trace) {
    gemm(state, trace);
    const bool hot = state.share >= 0.5;
    state.reading[field("clock_event_reasons")] = hot ? 0x40 : 0;
    if (hot) state.body(480, 91, kSlowClock);
}

void ecc(State& state, Trace& trace) {
    training(state, trace);
    const bool broken = state.share >= 0.6;
    state.reading[field("ecc_corrected_total")] = std::floor(state.seconds / 10);
    state.reading[field("ecc_uncorrected_total")] = broken ? 1 : 0;
    state.reading[field("remapped_rows_total")] = broken ? 1 : 0;
    state.reading[field("remap_pending")] = broken ? 1 : 0;
    bool told = !trace.xids.empty();
    if (broken && !told) trace.xids.push_back({state.seconds, 0, 63});
}

// The first GPU falls off the bus at two thirds.
void lost(State& state, Trace& trace) {
    training(state, trace);
    if (state.share < 2.0 / 3 || trace.rows.size() % trace.devices.size() != 0) return;
    if (trace.xids.empty()) trace.xids.push_back({state.seconds, 0, 79});
    state.reading = Reading();
    state.reading.lost = true;
}

struct Kind {
    SyntheticKind kind;
    void (*fill)(State&, Trace&);
};

constexpr Kind kKinds[] = {
    {{"idle", "nothing runs"}, idle},
    {{"spin", "a kernel that waits: busy, but at no limit"}, spin},
    {{"copy", "copies memory, at the limit of DRAM"}, copy},
    {{"gemm", "multiplies matrices, at the limit of the tensor pipe"}, gemm},
    {{"training", "trains, after a start in which it loads"}, training},
    {{"data-stall", "trains, and waits for its data a quarter of the time"}, data_stall},
    {{"throttling", "multiplies matrices until it is too hot"}, throttling},
    {{"ecc", "trains until a row of memory breaks"}, ecc},
    {{"lost", "trains until the first GPU falls off the bus"}, lost},
    {{"mig", "trains on the first of three slices of a GPU"}, training},
};

Device make_device(int gpu) {
    return {.uuid = fmt::format("GPU-00000000-0000-0000-0000-{:012}", gpu),
            .index = gpu,
            .name = "Synthetic GPU 80GB",
            .driver = "0.0",
            .profiling = true};
}

void add_devices(Trace& trace, std::string_view kind, int gpus) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
        Device device = make_device(gpu);
        if (kind != "mig") {
            trace.devices.push_back(device);
            continue;
        }
        constexpr int kSlices[] = {3, 2, 2};
        for (int i = 0; i < 3; ++i) {
            device.uuid = fmt::format("MIG-00000000-0000-0000-{:04}-{:012}", gpu, i);
            device.mig_profile = fmt::format("{}g.{}gb", kSlices[i], kSlices[i] * 10);
            device.weight = kSlices[i] / 7.0;
            trace.devices.push_back(device);
        }
    }
}

// Of an H100 with NVLink, roughly.
Facts make_facts() {
    Facts facts;
    facts[fact("slowdown_celsius")] = 87;
    facts[fact("shutdown_celsius")] = 92;
    for (size_t clock : {fact("clock_sm_application_hertz"), fact("clock_sm_max_hertz")})
        facts[clock] = 1980e6;
    for (size_t clock : {fact("clock_memory_application_hertz"), fact("clock_memory_max_hertz")})
        facts[clock] = 2619e6;
    facts[fact("pcie_generation_max")] = 5;
    facts[fact("pcie_width_max")] = 16;
    facts[fact("nvlinks")] = 18;
    for (size_t none : {fact("nvlinks_down"), fact("recovery_action"), fact("retired_pages")})
        facts[none] = 0;
    return facts;
}

void add_common(Reading& reading, double energy) {
    auto unless_set = [&](size_t field, double value) {
        if (std::isnan(reading[field])) reading[field] = value;
    };
    for (size_t pipe : {field("fp64_active_ratio"), field("fp16_active_ratio")}) unless_set(pipe, 0);
    unless_set(field("memory_used_bytes"), 61 * kGib);
    reading[field("memory_total_bytes")] = 80 * kGib;
    reading[field("clock_memory_hertz")] = 2619e6;
    reading[field("memory_temperature_celsius")] = reading[field("temperature_celsius")] + 8;
    reading[field("energy_joules_total")] = energy;
    for (size_t count : {field("clock_event_reasons"), field("ecc_corrected_total"),
                         field("ecc_uncorrected_total"), field("remapped_rows_total"), field("remap_pending"),
                         field("remap_failed"), field("pcie_replays_total")})
        unless_set(count, 0);
    reading[field("pcie_generation")] = 5;
    reading[field("pcie_width")] = 16;
    unless_set(field("processes"), 1);
}

}  // namespace

std::span<const SyntheticKind> synthetic_kinds() {
    static const auto kinds = [] {
        std::array<SyntheticKind, std::size(kKinds)> all;
        std::ranges::transform(kKinds, all.begin(), &Kind::kind);
        return all;
    }();
    return kinds;
}

core::Result<Trace> synthetic_trace(std::string_view name, const SyntheticOptions& options) {
    auto found = std::ranges::find(kKinds, name, [](const Kind& kind) { return kind.kind.name; });
    if (found == std::end(kKinds)) return core::bad_input("there is no synthetic trace \"{}\"", name);
    Trace trace{.driver = "0.0", .note = fmt::format("synthetic: {}", found->kind.doc)};
    add_devices(trace, name, options.gpus);
    trace.facts.assign(trace.devices.size(), make_facts());
    std::mt19937 random(options.seed);
    std::vector<double> energy(trace.devices.size(), 1000);
    const auto rows = static_cast<int64_t>(std::llround(options.seconds / options.interval));
    for (int64_t row = 1; row <= rows; ++row) {
        const double now = static_cast<double>(row) * options.interval;
        for (size_t device = 0; device < trace.devices.size(); ++device) {
            TraceRow next{.seconds = now, .device = device, .reading = {}};
            State state{now, static_cast<double>(row) / static_cast<double>(rows), random, next.reading};
            found->fill(state, trace);
            if (name == "mig" && device % 3 != 0) rest(state);
            if (!next.reading.lost) {
                energy[device] += next.reading[field("power_watts")] * options.interval;
                add_common(next.reading, energy[device]);
            }
            trace.rows.push_back(next);
        }
    }
    return trace;
}

}  // namespace belay::gpu
