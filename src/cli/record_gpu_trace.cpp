// belay record gpu-trace: what NVML says of this node's GPUs, as a trace that can be played.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "core/file.h"
#include "core/tell.h"
#include "gpu/synthetic.h"
#include "gpu/trace.h"
#include "gpu/trace_recorder.h"
#include "observe/record_run.h"
#include "stream/liveness.h"

#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::bad_input;
using core::Duration;
using core::Result;

constexpr int kMostGpus = 64;
constexpr double kMostRows = 500'000;
constexpr Duration kEver = Duration::max();

struct Options {
    std::string file;
    Duration interval = std::chrono::seconds(1);
    Duration limit = kEver;
    std::string synthetic;
    std::optional<int> gpus;        // 1
    std::optional<double> seconds;  // 60
    bool list = false;
    bool json = false;
};

// While it lives, SIGINT and SIGTERM end a recording; a second one ends the program as always, in case the
// driver hangs.
class Interruption {
  public:
    Interruption() {
        asked_ = 0;
        struct sigaction action{};
        action.sa_handler = [](int) { asked_ = 1; };
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
    }
    ~Interruption() {
        for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    // False as soon as a signal has come.
    static bool wait(Duration time) {
        sigset_t set, before;
        sigemptyset(&set);
        for (int signal : kSignals) sigaddset(&set, signal);
        pthread_sigmask(SIG_BLOCK, &set, &before);
        time = std::max(time, Duration::zero());
        timespec left{.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
        if (asked_ == 0 && sigtimedwait(&set, nullptr, &left) > 0) asked_ = 1;
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return asked_ == 0;
    }

  private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM};
    static inline volatile std::sig_atomic_t asked_ = 0;
    struct sigaction before_[2];
};

int list_kinds(const Options& options, const core::CommandContext& context) {
    nlohmann::json kinds = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows;
    for (const gpu::SyntheticKind& kind : gpu::synthetic_kinds()) {
        kinds.push_back({{"kind", kind.name}, {"meaning", kind.doc}});
        rows.push_back({std::string(kind.name), std::string(kind.doc)});
    }
    if (options.json)
        context.print_json(kinds);
    else
        context.print("{}", render_table({"kind", "meaning"}, std::move(rows)));
    return 0;
}

Result<> check(const Options& options) {
    BELAY_CHECK(observe::check_period("interval", options.interval));
    if (options.file.empty())
        return bad_input("no file is named").hint("belay record gpu-trace -o FILE, or --list");
    if (options.limit <= Duration::zero()) return bad_input("--for: the time must be more than 0");
    if (options.synthetic.empty() && (options.gpus || options.seconds))
        return bad_input("{} is only for synthetic traces", options.gpus ? "--gpus" : "--seconds")
            .hint("use it with --synthetic KIND; a recording has the GPUs of this node, and --for limits it");
    if (!options.synthetic.empty() && options.limit != kEver)
        return bad_input("--for is for recordings, not for synthetic traces").hint("--seconds S");
    return {};
}

Result<gpu::SyntheticOptions> synthetic_options(const Options& options) {
    gpu::SyntheticOptions made{.seconds = options.seconds.value_or(60),
                               .interval = core::to_seconds(options.interval),
                               .gpus = options.gpus.value_or(1)};
    if (made.gpus < 1 || made.gpus > kMostGpus)
        return bad_input("--gpus {}: it must be 1 to {}", made.gpus, kMostGpus);
    if (!(made.seconds >= made.interval) || !std::isfinite(made.seconds))
        return bad_input("--seconds {}: it must be at least {}, the interval", made.seconds, made.interval);
    const double rows = made.seconds / made.interval * made.gpus;
    if (rows > kMostRows)
        return bad_input("{:.0f} rows are more than the {:.0f} that a trace may have", rows, kMostRows)
            .hint("use fewer --seconds, fewer --gpus, or a longer --interval");
    return made;
}

Result<core::Descriptor> create(const std::string& file) {
    if (std::error_code error; std::filesystem::exists(file, error))
        return bad_input("{} exists already", file).hint("name a file that does not exist yet");
    return core::open_file(file, O_WRONLY | O_CREAT | O_EXCL);
}

void show(const Options& options, size_t devices, size_t rows, double seconds,
          const core::CommandContext& context) {
    if (options.json)
        context.print_json(nlohmann::json{
            {"file", options.file}, {"devices", devices}, {"rows", rows}, {"seconds", seconds}});
    else
        context.print("{}: {} rows of {} {} over {:.1f} s\n", options.file, rows, devices,
                      devices == 1 ? "GPU" : "GPUs", seconds);
}

Result<int> write_synthetic(const Options& options, const core::CommandContext& context) {
    BELAY_TRY(wanted, synthetic_options(options));
    auto trace = gpu::synthetic_trace(options.synthetic, wanted);
    if (!trace) return std::unexpected(std::move(trace.error()).hint("belay record gpu-trace --list"));
    BELAY_TRY(file, create(options.file));
    BELAY_CHECK(core::write_all(file.get(), gpu::format_trace(*trace), options.file));
    show(options, trace->devices.size(), trace->rows.size(), trace->seconds(), context);
    return 0;
}

Result<int> record(const Options& options, const std::string& library, const core::CommandContext& context) {
    BELAY_TRY(source, library.empty() ? gpu::open_nvml() : gpu::open_nvml(library));
    BELAY_TRY(file, create(options.file));
    gpu::TraceRecorder recorder(*source, fmt::format("recorded on {}", stream::this_node()));
    core::Clock& clock = core::system_clock();
    const Duration start = clock.monotonic();
    Interruption interruption;
    std::string text = recorder.head();
    size_t bytes = 0;
    Duration at{};
    for (Duration tick = options.interval;; tick = std::max(tick + options.interval, at)) {
        BELAY_CHECK(core::write_all(file.get(), text, options.file));
        bytes += text.size();
        if (tick > options.limit || !Interruption::wait(start + tick - clock.monotonic())) break;
        at = clock.monotonic() - start;
        text = recorder.tick(core::to_seconds(at));
        if (bytes + text.size() > gpu::kLargestTrace) {
            core::tell("{} is full: a trace has at most {} bytes", options.file, gpu::kLargestTrace);
            break;
        }
    }
    show(options, source->devices().size(), recorder.rows(), core::to_seconds(at), context);
    return 0;
}

}  // namespace

void add_record_gpu_trace(core::Application& application) {
    auto command = application.add({
        .name = "record gpu-trace",
        .summary = "record what NVML says about this node's GPUs, to be replayed later",
        .description =
            "Writes a row for each GPU of this node at every interval, as text, until it is interrupted or "
            "--for is over. The library libbelay_nvml_replay.so replays such a trace in place of NVML: if "
            "BELAY_NVML_LIBRARY names the library and BELAY_GPU_TRACE the file, a program can measure GPUs "
            "that are not there. With --synthetic it writes a made-up trace.",
        .examples = {{"belay record gpu-trace -o gemm.trace --for 1m", "record a minute of this node's GPUs"},
                     {"belay record gpu-trace -o t.trace --synthetic training --gpus 4 --seconds 120",
                      "two minutes of a made-up training"},
                     {"belay record gpu-trace --list", "the kinds of synthetic traces"}},
        .bounds_own_waits = true,
    });
    auto options = std::make_shared<Options>();
    command.options()
        .add_option("-o,--output", options->file, "file of the trace, which must not exist yet")
        ->type_name("FILE");
    command.duration("--interval", options->interval, "time between two rows of a GPU (1s)");
    command.duration("--for", options->limit, "how long to record; default: until a signal");
    command.options()
        .add_option("--synthetic", options->synthetic, "write a made-up trace of this kind")
        ->type_name("KIND");
    command.options().add_option("--gpus", options->gpus, "GPUs of a synthetic trace (1)")->type_name("N");
    command.options()
        .add_option("--seconds", options->seconds, "length of a synthetic trace (60)")
        ->type_name("S");
    command.options().add_flag("--list", options->list, "show the kinds of synthetic traces");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        if (options->list) return list_kinds(*options, context);
        BELAY_CHECK(check(*options));
        if (!options->synthetic.empty()) return write_synthetic(*options, context);
        BELAY_TRY(configuration, context.configuration());
        return record(*options, configuration.text("nvml.library"), context);
    });
}

}  // namespace belay::cli
