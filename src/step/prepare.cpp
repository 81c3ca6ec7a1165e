#include "step/prepare.h"

#include "core/file.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/work.h"
#include "observe/record_run.h"
#include "progress/pattern.h"
#include "step/settings.h"
#include "step/staging.h"
#include "vet/protocol.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <sys/random.h>

namespace belay::step {

using core::Result;
namespace fs = std::filesystem;

namespace {

Result<std::string> make_secret() {
    std::array<unsigned char, 32> bytes;
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return core::errno_error(errno, "cannot get random bytes");
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

Result<VettingPlan> plan_vetting(const std::string& file, const core::Configuration& configuration,
                                 std::string& warnings) {
    constexpr size_t kLongest = size_t{64} << 10;  // the plan of a step has no room for more
    if (file.empty())
        return core::bad_input("--vet= names no protocol")
            .hint("--vet=FILE.yaml; docs/formats/vetting-protocol.md says what it holds");
    auto text = core::run_within(kPlanningTime, {.what = "reading the protocol"},
                                 [&] { return core::read_file(file, kLongest); });
    if (!text && text.error().errno_value() == EFBIG)
        return std::unexpected(std::move(text.error()).hint("a protocol for srun has at most 64 KiB"));
    if (!text && text.error().cause() == core::Cause::kNotFound)  // as in belay vet run
        return std::unexpected(std::move(text.error()).as(core::ErrorKind::kBadInput));
    if (!text) return std::unexpected(std::move(text.error()));
    const std::string fallback_name = vet::name_of_environment();
    BELAY_TRY(protocol, vet::parse_protocol(*text, file, fallback_name));
    for (const core::Error& warning : protocol.warnings) warnings += warning.render("belay: warning");
    return VettingPlan{file, std::move(*text),
                       protocol.timeout.value_or(configuration.duration("vet.timeout")), fallback_name};
}

Result<RecordingPlan> plan_recording(const std::optional<core::Duration>& interval,
                                     const core::Configuration& configuration) {
    const std::string& directory = configuration.text("record.directory");
    // Which step it is, only the nodes know; that the pattern can be expanded is seen here.
    BELAY_CHECK(core::with_context(expand_record_path(directory, "0", "0", "0"), "record.directory"));
    auto patterns = configuration.text_list("record.progress_pattern");
    BELAY_CHECK(progress::compile_patterns(patterns));
    core::Duration period = interval.value_or(configuration.duration("record.interval"));
    core::Duration flush = configuration.duration("record.flush");
    BELAY_CHECK(observe::check_period("interval", period));
    BELAY_CHECK(observe::check_period("flush", flush));
    BELAY_TRY(io, observe::io_tracing_of(configuration));
    BELAY_TRY(here, core::current_directory());
    return RecordingPlan{.directory = (here / directory).lexically_normal().string(),
                         .interval = period,
                         .flush = flush,
                         .progress_patterns = std::move(patterns),
                         .io = std::move(io)};
}

// In a container the library that traces I/O is where nothing of the image is.
void show_io_library(StepPlan& plan) {
    if (!plan.recording || !plan.recording->io || !plan.environment || !plan.environment->container) return;
    std::filesystem::path& library = plan.recording->io->library;
    const std::string shown = "/run/belay/" + library.filename().string();
    plan.environment->container->binds.push_back(
        {.source = library.string(), .destination = shown, .options = {"bind", "ro"}, .if_present = true});
    library = shown;
}

}  // namespace

Result<StepPlan> prepare_step(const StepOptions& options, const core::Configuration& configuration,
                              const Importer& import, std::string& warnings) {
    StepPlan plan;
    BELAY_TRY(secret, make_secret());
    plan.secret = std::move(secret);
    if (options.vetting) {
        BELAY_TRY(vetting, plan_vetting(*options.vetting, configuration, warnings));
        plan.vetting = std::move(vetting);
    }
    if (options.recording) {
        BELAY_TRY(recording, plan_recording(options.interval, configuration));
        plan.recording = std::move(recording);
    }
    if (options.staging) {
        BELAY_TRY(staging, plan_staging(*options.staging, configuration));
        plan.staging = std::move(staging);
    }
    if (options.environment) {
        BELAY_TRY(environment, plan_environment(*options.environment, configuration, import, warnings));
        plan.environment = std::move(environment);
    }
    show_io_library(plan);
    return plan;
}

Result<StepOptions> read_step_options(const std::vector<std::string>& words) {
    StepOptions options;
    for (const std::string& word : words) {
        size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        std::optional<std::string> value;
        if (equals != std::string::npos) value = word.substr(equals + 1);
        if (name == "--environment") {
            options.environment = value.value_or("");
        } else if (name == "--vet") {
            options.vetting = value.value_or("");
        } else if (name == "--stage") {
            options.staging = value.value_or("");
        } else if (name == "--record") {
            options.recording = true;
            if (!value) continue;
            BELAY_TRY(interval, core::with_context(core::parse_duration(*value), "--record"));
            options.interval = interval;
        } else {
            return core::bad_input("unknown option of a step: {}", word);
        }
    }
    return options;
}

namespace {

Result<std::string> plan_for(const StepOptions& options, const Importer& import) {
    BELAY_TRY(configuration, core::load_configuration(settings(), core::default_sources()));
    std::string warnings;
    auto prepared = prepare_step(options, configuration, import, warnings);
    // Only now: an importer may run another program in our place, which does all this again.
    fmt::print(stderr, "{}{}", configuration.ignored_text(), warnings);
    BELAY_TRY(plan, std::move(prepared));
    BELAY_TRY(longest, longest_preparation(plan));
    // JSON has no bytes that are not text: they would arrive as others.
    BELAY_TRY(arrives, decode_step_plan(encode(plan)));
    if (arrives != plan)
        return core::bad_input("a path, a variable or a mount of the step is not UTF-8")
            .hint("look at the directory you are in, and at what the environment takes from your variables");
    const bool is_of_record = !needs_agreement(plan);
    return fmt::format("{}{} {}", std::chrono::ceil<std::chrono::seconds>(longest).count(),
                       is_of_record ? "r" : "", encode(plan));
}

}  // namespace

Result<std::string> plan_for_plugin(const std::vector<std::string>& words, const Importer& import) {
    BELAY_TRY(options, read_step_options(words));
    auto plan = plan_for(options, import);
    // Nobody is misled by a job that runs without its record; one that does not start is worse.
    if (plan || options.environment || options.vetting || options.staging) return plan;
    core::tell_error("--record: the step runs without being recorded", plan.error());
    return "none";
}

Result<std::string> expand_record_path(std::string_view pattern, std::string_view job, std::string_view step,
                                       std::string_view restart, std::string_view node) {
    std::string path;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            path += pattern[i];
            continue;
        }
        switch (++i < pattern.size() ? pattern[i] : '\0') {
            case 'j':
                path += job;
                break;
            case 's':
                path += step;
                break;
            case 'r':
                path += restart;
                break;
            case '%':
                path += '%';
                break;
            case 'n':
                if (!node.empty()) {
                    path += node;
                    break;
                }
                [[fallthrough]];
            default:
                return node.empty()
                           ? core::bad_input("\"{}\": % must be followed by j, s, r or %", pattern)
                                 .hint("%j is the job, %s the step, %r how often the job was requeued")
                           : core::bad_input("\"{}\": % must be followed by j, s, r, n or %", pattern)
                                 .hint(
                                     "%j is the job, %s the step, %r how often the job was requeued, %n the "
                                     "node");
        }
    }
    return path;
}

}  // namespace belay::step
