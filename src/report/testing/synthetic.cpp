#include "report/testing/synthetic.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace belay::report {

double noise(uint64_t seed, uint64_t index) {
    uint64_t z = seed * 0x9e3779b97f4a7c15ULL + index * 0xbf58476d1ce4e5b9ULL + 0x94d049bb133111ebULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

namespace {

using Shape = std::function<double(size_t node, double seconds)>;

// Values of one quantity from a function of node and time, 5 % of noise on top. `hole` says where nothing was
// measured.
void fill(Measurements& data, size_t plot, const Shape& shape,
          const std::function<bool(size_t, double)>& hole, double wobble = 0.05) {
    NodeValues& target = data[plot];
    target.values.resize(data.nodes.size() * data.buckets, kMissing);
    for (size_t node = 0; node < data.nodes.size(); ++node) {
        double sum = 0;
        double peak = kMissing;
        size_t count = 0;
        for (size_t bucket = 0; bucket < data.buckets; ++bucket) {
            double seconds = (static_cast<double>(bucket) + 0.5) * data.bucket_seconds;
            if (hole(node, seconds)) continue;
            double random = noise(plot + 1, node * 100'003 + bucket);
            double value = shape(node, seconds) * (1 - wobble + 2 * wobble * random);
            if (schema::kNodePlots[plot].series.unit == "ratio") value = std::clamp(value, 0.0, 1.0);
            target.values[node * data.buckets + bucket] = value;
            sum += value;
            ++count;
            if (!(peak > value)) peak = value;
        }
        target.means.push_back(count > 0 ? sum / static_cast<double>(count) : kMissing);
        target.peaks.push_back(peak);
    }
}

void add_job(Measurements& data, size_t nodes, double seconds, size_t buckets) {
    data.start = core::time_from_nanoseconds(1'772'366'400'000'000'000);  // 2026-03-01T12:00:00Z
    data.seconds = seconds;
    data.buckets = buckets;
    data.bucket_seconds = seconds / static_cast<double>(buckets);
    data.job = {{.cluster = "alps",
                 .id = 4711,
                 .array_task = {},
                 .submit = {},
                 .account = "cosmo",
                 .name = "cosmoflow-mini",
                 .user = "mira",
                 .nodes = {},
                 .start = data.start,
                 .end = data.start + core::Duration(static_cast<int64_t>(seconds * 1e9))},
                "belay bench run cosmoflow --profile mini --seed 1 --target 0.13",
                0,
                "completed",
                ""};
    for (size_t node = 0; node < nodes; ++node)
        data.nodes.push_back({.name = fmt::format("nid{:06}", 1001 + node),
                              .cpus = 16,
                              .cpus_allotted = 8,
                              .memory_bytes = int64_t{64} << 30,
                              .tasks = 2});
    data.producer = "Belay 0.1.0";
    data.facts = {
        {"Hardware", {{"Nodes", fmt::format("{} × 16 CPUs, 64.0 GiB", nodes)}}},
        {"Software", {{"Belay", "0.1.0"}, {"Kernel", "6.1.0-28-amd64"}, {"System", "Debian GNU/Linux 12"}}},
        {"Sampling", {{"Interval", "1 s"}, {"Flush", "2 s"}, {"Schema", "1"}}}};
}

// Epochs of training and evaluation: CPUs are busy in the first and a little less so in the second.
bool evaluating(double seconds) {
    return std::fmod(seconds - 6, 10.5) > 9.2;
}

constexpr double kStartup = 6;

void add_processors(Measurements& data, const std::function<bool(size_t, double)>& hole,
                    const Shape& effort) {
    auto ramp = [](double seconds) { return seconds < kStartup ? 0.12 + 0.1 * seconds / kStartup : 1.0; };
    auto busy = [=](size_t node, double s) {
        return ramp(s) * (evaluating(s) ? 0.72 : 0.965) * effort(node, s);
    };
    fill(data, node_plot("job_cpu_share"), busy, hole, 0.02);
    fill(
        data, node_plot("node_cpu_share"), [=](size_t n, double s) { return 0.03 + 0.5 * busy(n, s); }, hole,
        0.03);
    fill(
        data, node_plot("cpu_user_share"), [=](size_t n, double s) { return 0.02 + 0.44 * busy(n, s); }, hole,
        0.03);
    fill(
        data, node_plot("cpu_system_share"), [=](size_t n, double s) { return 0.01 + 0.045 * busy(n, s); },
        hole, 0.2);
    fill(
        data, node_plot("cpu_iowait_share"),
        [](size_t, double s) { return s < kStartup    ? 0.06
                                      : evaluating(s) ? 0.02
                                                      : 0.004; }, hole, 0.5);
    fill(data, node_plot("cpu_other_share"), [](size_t, double) { return 0.006; }, hole, 0.5);
    fill(
        data, node_plot("cpu_pressure_share"), [=](size_t n, double s) { return 0.11 * busy(n, s); }, hole,
        0.4);
    fill(
        data, node_plot("io_pressure_share"), [](size_t, double s) { return s < kStartup ? 0.3 : 0.02; },
        hole, 0.6);
    fill(
        data, node_plot("io_stall_share"), [](size_t, double s) { return s < kStartup ? 0.2 : 0.008; }, hole,
        0.6);
    fill(data, node_plot("memory_wait_share"), [](size_t, double) { return 0.0; }, hole);
    fill(data, node_plot("memory_pressure_share"), [](size_t, double) { return 0.0; }, hole);
}

void add_memory_and_traffic(Measurements& data, const std::function<bool(size_t, double)>& hole,
                            const Shape& effort) {
    constexpr double kGiB = 1 << 30;
    auto plateau = [](double s) { return 1 - std::exp(-s / 7); };
    fill(
        data, node_plot("job_memory_bytes"),
        [=](size_t n, double s) {
            return (0.3 + 2.6 * plateau(s) + 0.1 * static_cast<double>(n % 3)) * kGiB;
        },
        hole, 0.004);
    fill(
        data, node_plot("node_memory_bytes"),
        [=](size_t n, double s) {
            return (4.1 + 3.1 * plateau(s) + 0.4 * static_cast<double>(n % 3)) * kGiB;
        },
        hole, 0.003);
    auto exchange = [=](size_t n, double s) {
        return s < kStartup ? 2e5 : (evaluating(s) ? 4e5 : 8.6e6) * effort(n, s);
    };
    fill(data, node_plot("network_received_bytes_per_second"), exchange, hole, 0.08);
    fill(data, node_plot("network_sent_bytes_per_second"), exchange, hole, 0.08);
    fill(data, node_plot("loopback_bytes_per_second"), exchange, hole, 0.08);
    auto read = [](size_t, double s) {
        return s < kStartup ? 2.1e8 * std::exp(-s / 3) : (evaluating(s) ? 1.8e7 : 2e5);
    };
    auto write = [](size_t, double s) { return evaluating(s) ? 1.2e7 : 9e4; };
    fill(data, node_plot("disk_read_bytes_per_second"), read, hole, 0.3);
    fill(data, node_plot("disk_written_bytes_per_second"), write, hole, 0.3);
    fill(
        data, node_plot("job_read_bytes_per_second"), [=](size_t n, double s) { return 0.93 * read(n, s); },
        hole, 0.3);
    fill(
        data, node_plot("job_written_bytes_per_second"),
        [=](size_t n, double s) { return 0.7 * write(n, s); }, hole, 0.3);
}

// 17 epochs; the error falls, rests near 0.21 until the learning rate decays, and passes 0.13 in the
// sixteenth.
void add_progress(Measurements& data) {
    data.progress_facts = {.benchmark = "cosmoflow", .metric_key = "eval_error", .target = 0.13};
    constexpr int kEpochs = 16;
    constexpr int kSteps = 128;
    for (int epoch = 1; epoch <= kEpochs; ++epoch) {
        double begin = kStartup + 10.5 * (epoch - 1);
        double rate = epoch <= 3 ? 0.01 * epoch / 3 : epoch <= 12 ? 0.01 : 0.0025;
        for (int part = 1; part <= 8; ++part) {
            double done = epoch - 1 + part / 8.0;
            double random = noise(99, static_cast<uint64_t>(epoch) * 8 + static_cast<uint64_t>(part));
            double loss =
                0.055 + 0.42 * std::exp(-done / 2.6) - (done > 12 ? 0.028 * (1 - std::exp(12 - done)) : 0);
            data.progress.push_back({.seconds = begin + 9.2 * part / 8.0,
                                     .epoch = done,
                                     .step = (epoch - 1) * kSteps + part * kSteps / 8,
                                     .loss = loss * (0.9 + 0.2 * random),
                                     .learning_rate = rate,
                                     .throughput = 108 + 9 * random - (epoch == 1 ? 30.0 / part : 0)});
        }
        double error = 0.2 + 0.3 * std::exp(-epoch / 2.4) -
                       (epoch > 12 ? 0.075 * (1 - std::exp((12 - epoch) / 0.9)) : 0);
        data.progress.push_back({.seconds = begin + 10.4,
                                 .epoch = static_cast<double>(epoch),
                                 .step = epoch * kSteps,
                                 .metric = error});
    }
}

void add_events(Measurements& data) {
    for (int64_t task = 0; task < 4; ++task) {
        const std::string& node = data.nodes[static_cast<size_t>(task / 2)].name;
        data.events.push_back({0.4 + 0.1 * static_cast<double>(task), node, task, "task_start", "info",
                               fmt::format("rank {} started on 4 CPUs", task)});
    }
    data.events.push_back({101.3,
                           data.nodes[1].name,
                           {},
                           "filesystem_hang",
                           "warning",
                           "/scratch did not answer for 5.8 s; its figures are missing for that time"});
    for (int64_t task = 0; task < 4; ++task)
        data.events.push_back({177.6, data.nodes[static_cast<size_t>(task / 2)].name, task, "task_end",
                               "info", fmt::format("rank {} ended with exit status 0", task)});
    data.events_total = data.events.size();
}

void add_coverage(Measurements& data, int64_t expected, const std::function<int64_t(size_t)>& missed) {
    for (size_t node = 0; node < data.nodes.size(); ++node)
        for (const char* table : {"filesystem", "host", "network", "process"})
            data.samples.add(table, data.nodes[node].name, {expected, expected - missed(node)});
}

}  // namespace

Measurements synthetic_training() {
    Measurements data;
    add_job(data, 2, 178, 178);
    auto hole = [](size_t node, double s) { return node == 1 && s > 95 && s < 101; };
    auto effort = [](size_t node, double) { return node == 0 ? 1.0 : 0.975; };
    add_processors(data, hole, effort);
    add_memory_and_traffic(data, hole, effort);
    add_progress(data);
    add_events(data);
    add_coverage(data, 178, [](size_t node) { return node == 1 ? 6 : 0; });
    data.gaps = {{data.nodes[1].name, "host", 95, 6}, {data.nodes[1].name, "network", 95, 6}};
    data.gaps_total = 2;
    return data;
}

Measurements synthetic_hostile() {
    Measurements data = synthetic_training();
    const std::string break_out =
        "</script><script>window.hacked=1</script><!--<script>\xe2\x80\xa8{{model}}&lt;";
    const std::string element = "<img src=x onerror=\"window.hacked=2\"><style>*{display:none}</style>";
    data.job.name = element + break_out;
    data.job.command = "sh -c '" + break_out + element + "' \033[31m \xff\xfe";
    data.job.user = element;
    data.job.account = break_out;
    data.nodes[0].name = element;
    data.samples.add(element, element, {178, 178});
    data.events.front().message = break_out + element;
    data.events.front().kind = element;
    data.events.front().severity = "\" onclick=\"window.hacked=3";
    data.lost = {break_out + element};
    data.facts.front().facts.push_back({element, break_out});
    data.progress_facts.metric_key = element;
    data.progress_facts.benchmark = break_out;
    return data;
}

Measurements synthetic_bare() {
    Measurements data;
    add_job(data, 1, 42, 42);
    const auto start = data.job.start;
    data.job = {};
    data.job.start = start;
    data.job.command = "sleep 42";
    data.job.outcome = "unknown";
    data.nodes[0].tasks.reset();
    auto hole = [](size_t, double) { return false; };
    fill(data, node_plot("node_cpu_share"), [](size_t, double) { return 0.04; }, hole);
    fill(data, node_plot("cpu_user_share"), [](size_t, double) { return 0.03; }, hole);
    fill(data, node_plot("cpu_system_share"), [](size_t, double) { return 0.01; }, hole);
    fill(data, node_plot("node_memory_bytes"), [](size_t, double) { return 2e9; }, hole);
    return data;
}

Measurements synthetic_large(size_t nodes, double seconds) {
    Measurements data;
    add_job(data, nodes, seconds, 200);
    size_t slow = nodes / 3;
    auto hole = [](size_t node, double s) {
        return noise(5, node) > 0.97 && s > 600 + 900 * noise(6, node) && s < 2400;
    };
    auto effort = [slow](size_t node, double s) {
        return (node == slow && s > 1500 ? 0.45 : 1.0) * (0.94 + 0.06 * noise(7, node));
    };
    add_processors(data, hole, effort);
    add_memory_and_traffic(data, hole, effort);
    auto due = static_cast<int64_t>(seconds);
    add_coverage(data, due, [](size_t node) { return noise(5, node) > 0.97 ? 1400 : 3; });
    for (size_t node = 0; node < nodes; ++node)
        if (noise(5, node) > 0.97 && data.gaps.size() < 50)
            data.gaps.push_back({data.nodes[node].name, "host", 600 + 900 * noise(6, node), 1200});
    data.gaps_total = data.gaps.size();
    data.lost = {"segment host-0007.seg of nid001034: the last 4,096 bytes are damaged and were left out"};
    return data;
}

}  // namespace belay::report
