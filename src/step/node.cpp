#include "step/node.h"

#include "core/tell.h"
#include "core/work.h"
#include "observe/record_begin.h"
#include "stage/copy/job_copies.h"
#include "step/agreement.h"
#include "step/prepare.h"
#include "step/staging.h"
#include "step/vetting_rows.h"
#include "vet/step_context.h"
#include "vet/verdict_text.h"

#include <cstdio>

namespace belay::step {

using core::Error;
using core::Result;

namespace {

constexpr core::Duration kTellingTime =
    std::chrono::seconds(3);  // for nodes that fail at about the same time

// A file system that does not answer for so long is as one that is full.
constexpr core::Duration kRecordTime = std::chrono::seconds(15);

void say(std::string_view line) {
    core::tell_text(line);
}

class Node {
  public:
    Node(const StepPlan& plan, const NodeContext& context, vet::StepContext members)
        : plan_(plan), context_(context), members_(std::move(members)) {}

    Result<Prepared> run() {
        std::optional<vet::Verdicts> verdicts;
        if (plan_.vetting) {
            auto found = vet_nodes();
            if (!found && vet::is_said_elsewhere(found.error(), members_))
                return refused(found.error().kind());
            if (!found) return std::unexpected(std::move(found.error()));
            verdicts = std::move(*found);
        }
        PreparedNode node;
        node.recorded = plan_.recording && begin_recording(verdicts);
        if (verdicts && !verdicts->passed)  // the first node has said why
            return refused(protocol_failure_.value_or(core::ErrorKind::kNegative));
        std::optional<Error> failure;
        if (plan_.staging) failure = error_of(bring_data(node.recorded));
        if (!failure && plan_.environment && plan_.environment->container) {
            auto container = env::Container::start(*plan_.environment->container,
                                                   task_variables(*plan_.environment, context_.variables),
                                                   context_.watched, context_.notices);
            failure = error_of(container);
            if (container) node.container = std::move(*container);
        }
        if (node.container) node.root_address = root_address();
        if (!failure && context_.offer) failure = error_of(context_.offer(node));
        if (!needs_agreement(plan_)) {
            if (failure) return std::unexpected(std::move(*failure));
            return Prepared(std::move(node));
        }
        auto ready = all_are_ready(failure);
        if (!ready && !failure && vet::is_said_elsewhere(ready.error(), members_))
            return refused(ready.error().kind());
        if (!ready) return std::unexpected(std::move(ready.error()));
        if (!*ready) return refused(failure ? failure->kind() : core::ErrorKind::kNegative);
        return Prepared(std::move(node));
    }

    static Prepared refused(core::ErrorKind kind) { return std::unexpected(kind); }

  private:
    template <typename T>
    static std::optional<Error> error_of(const Result<T>& result) {
        return result ? std::nullopt : std::optional(result.error());
    }

    Result<vet::Verdicts> vet_nodes() {
        vet::StepContext context = members_;
        context.timeout = plan_.vetting->timeout;
        auto protocol =
            vet::parse_protocol(plan_.vetting->text, plan_.vetting->file, plan_.vetting->fallback_name);
        if (!protocol && context.rank > 0) {  // of another version, perhaps; the first node says so for all
            BELAY_CHECK(vet::fail_in_step(protocol.error(), context));
            protocol_failure_ = protocol.error().kind();
            return vet::Verdicts{.protocol = plan_.vetting->file};
        }
        if (!protocol) return std::unexpected(std::move(protocol.error()));
        context.announce = [](const vet::Verdicts& verdicts) {
            for (const std::string& line : vet::warnings(verdicts))
                say("vetting " + verdicts.protocol + ": " + line);
            if (verdicts.passed) return;
            say("vetting " + vet::summary(verdicts));
            for (const std::string& line : vet::refusals(verdicts)) say(line);
        };
        return vet::run_in_step(*protocol, context);
    }

    Result<> bring_data(bool is_recorded) {
        BELAY_TRY(destination,
                  expand_record_path(plan_.staging->destination, std::to_string(context_.step.job_id),
                                     context_.step.step_id ? std::to_string(*context_.step.step_id) : "",
                                     std::to_string(context_.step.restart), this_node()));
        const stage::JobOnNode where{.job = static_cast<uint64_t>(context_.step.job_id), .node = this_node()};
        BELAY_TRY(report, stage_data(*plan_.staging, destination, members_, where));
        if (!is_recorded) return {};
        auto written = core::check_within(kRecordTime, {.what = "recording the staging"}, [&]() -> Result<> {
            BELAY_TRY(placement, observe::find_placement_and_times());
            BELAY_TRY(path, record_path(*plan_.recording, context_.step));
            return write_staging_row(path, *plan_.staging, report, placement, core::system_clock().now());
        });
        if (!written)
            core::tell_error(this_node() + ": recording may be incomplete", written.error(),
                             core::kJobGoesOn);
        return {};
    }

    // The first node never needs to reach itself; its tasks may.
    std::string root_address() const {
        if (members_.nodes.size() == 1) return "127.0.0.1";
        if (members_.rank != 0)
            return members_.root_address.value_or("");  // without it there is no agreement
        auto address = slurm::system_address()(members_.nodes[0]);
        if (!address)
            core::tell_error(this_node() + ": MASTER_ADDR is not set for the tasks", address.error());
        return address.value_or("");
    }

    // Whether the step is to be recorded. A record that cannot be begun is no reason to stop a job: a disk
    // that fails may work again, but what has no place, since a directory holds something else, is left
    // alone.
    bool begin_recording(const std::optional<vet::Verdicts>& verdicts) {
        auto begun = write_beginning_within(kRecordTime, verdicts);
        if (begun) return true;
        const bool has_no_place = begun.error().kind() == core::ErrorKind::kBadInput;
        core::tell_error(fmt::format("{}: {}", this_node(),
                                     has_no_place ? "the step runs without being recorded"
                                                  : "recording may be incomplete"),
                         begun.error(), core::kJobGoesOn);
        return !has_no_place;
    }

    // Slurm is asked here, where what that says is heard: the process that writes has no streams.
    Result<> write_beginning_within(core::Duration time, const std::optional<vet::Verdicts>& verdicts) const {
        BELAY_TRY(placement, observe::find_placement_and_times());
        return core::check_within(time, {.what = "beginning the record"},
                                  [&] { return write_beginning(placement, verdicts); });
    }

    Result<> write_beginning(const observe::Placement& placement,
                             const std::optional<vet::Verdicts>& verdicts) const {
        core::Time now = core::system_clock().now();
        BELAY_TRY(path, record_path(*plan_.recording, context_.step));
        record::Parts parts;
        if (plan_.environment) parts[std::string(record::kEnvironmentPart)] = plan_.environment->locked;
        if (verdicts) parts[std::string(record::kVettingPart)] = vetting_summary(*verdicts);
        BELAY_CHECK(observe::begin_job_record({.record = path,
                                               .command = context_.command,
                                               .interval = plan_.recording->interval,
                                               .flush = plan_.recording->flush,
                                               .parts = std::move(parts)},
                                              placement, now));
        if (verdicts) BELAY_CHECK(write_vetting_rows(path, *verdicts, placement, now));
        return {};
    }

    std::string this_node() const {
        auto found = context_.variables.find("SLURMD_NODENAME");
        return found == context_.variables.end() ? "this node" : found->second;
    }

    Result<bool> all_are_ready(const std::optional<Error>& failure) {
        std::vector<std::string> causes;
        auto ready = agree(members_.for_purpose("ready"), failure, longest_agreement(plan_), causes);
        for (const std::string& cause : causes) say(cause);
        return ready;
    }

    const StepPlan& plan_;
    const NodeContext& context_;
    vet::StepContext members_;
    std::optional<core::ErrorKind> protocol_failure_;  // that the first node has heard of
};

}  // namespace

Result<std::string> record_path(const RecordingPlan& plan, const slurm::TaskFacts& step) {
    std::string pattern = plan.directory;
    // A requeued job is another run: its record must not meet that of the first.
    if (step.restart > 0 && pattern.find("%r") == std::string::npos) pattern += "-r%r";
    return expand_record_path(pattern, std::to_string(step.job_id),
                              step.step_id ? std::to_string(*step.step_id) : "",
                              std::to_string(step.restart));
}

Result<Prepared> prepare_node(const StepPlan& plan, const NodeContext& context) {
    auto find_members = [&]() -> Result<vet::StepContext> {
        BELAY_TRY(members, vet::step_context(slurm::lookup_in(context.variables), slurm::system_address()));
        if (!members) return core::system_error("this is not the first task of a node in a step of Slurm");
        members->secret = plan.secret;
        return std::move(*members);
    };
    if (needs_agreement(plan)) {
        BELAY_TRY(members, find_members());
        return Node(plan, context, std::move(members)).run();
    }
    auto node = Node(plan, context, {}).run();
    if (node || !plan.environment) return node;  // what is only recorded runs on all nodes that can
    auto members = find_members();
    std::vector<std::string> causes;
    if (!members || !fail_together(members->for_purpose("ready"), node.error(), kTellingTime, causes))
        return node;
    for (const std::string& cause : causes) say(cause);
    return Node::refused(node.error().kind());
}

}  // namespace belay::step
