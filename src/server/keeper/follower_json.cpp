#include "server/keeper/follower_json.h"

#include "core/json.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::server {

using core::Result;
using core::Time;

namespace {

using Json = nlohmann::ordered_json;

// Nanoseconds: nothing is lost on the way.
Json time_json(Time time) {
    return core::to_nanoseconds(time);
}
Json time_json(const std::optional<Time>& time) {
    return time ? time_json(*time) : Json();
}
Json number_json(const std::optional<int64_t>& number) {
    return number ? Json(*number) : Json();
}

// Reads members of an object; what is missing or of another type is remembered as wrong.
class Members {
  public:
    explicit Members(const Json& object) : object_(object) {}
    bool are_right() const { return is_right_; }

    std::string text(const char* name) { return get<std::string>(name, &Json::is_string); }
    int64_t number(const char* name) { return get<int64_t>(name, &Json::is_number_integer); }
    bool truth(const char* name) { return get<bool>(name, &Json::is_boolean); }
    Time time(const char* name) { return core::time_from_nanoseconds(number(name)); }
    std::optional<int64_t> optional_number(const char* name) {
        if (is_null(name)) return std::nullopt;
        return number(name);
    }
    std::optional<Time> optional_time(const char* name) {
        if (is_null(name)) return std::nullopt;
        return time(name);
    }
    std::vector<std::string> texts(const char* name) {
        std::vector<std::string> texts;
        for (const Json& one : array(name)) {
            is_right_ = is_right_ && one.is_string();
            if (one.is_string()) texts.push_back(one.get<std::string>());
        }
        return texts;
    }
    const Json& array(const char* name) {
        static const Json kNone = Json::array();
        const auto found = object_.find(name);
        const bool is_there = found != object_.end() && found->is_array();
        is_right_ = is_right_ && is_there;
        return is_there ? *found : kNone;
    }
    void take(bool is_right) { is_right_ = is_right_ && is_right; }

  private:
    template <typename T>
    T get(const char* name, bool (Json::*is_of_type)() const noexcept) {
        const auto found = object_.find(name);
        const bool is_there = found != object_.end() && ((*found).*is_of_type)();
        is_right_ = is_right_ && is_there;
        return is_there ? found->template get<T>() : T{};
    }
    bool is_null(const char* name) const {
        const auto found = object_.find(name);
        return found != object_.end() && found->is_null();
    }

    const Json& object_;
    bool is_right_ = true;
};

Json slurm_json(const SlurmSaid& said) {
    return {{"cluster", said.cluster},
            {"id", said.id},
            {"restart", said.restart},
            {"submit", time_json(said.submit)},
            {"state", said.state},
            {"user", said.user},
            {"account", said.account},
            {"name", said.name},
            {"partition", said.partition},
            {"array_job", number_json(said.array_job)},
            {"array_task", number_json(said.array_task)},
            {"start", time_json(said.start)},
            {"end", time_json(said.end)},
            {"is_over", said.is_over},
            {"nodes", said.nodes}};
}

bool read_slurm(const Json& json, SlurmSaid& said) {
    Members members(json);
    said = {.cluster = members.text("cluster"),
            .id = members.number("id"),
            .restart = members.number("restart"),
            .submit = members.time("submit"),
            .state = members.text("state"),
            .user = members.text("user"),
            .account = members.text("account"),
            .name = members.text("name"),
            .partition = members.text("partition"),
            .array_job = members.optional_number("array_job"),
            .array_task = members.optional_number("array_task"),
            .start = members.optional_time("start"),
            .end = members.optional_time("end"),
            .is_over = members.truth("is_over"),
            .nodes = members.texts("nodes")};
    return members.are_right();
}

Json node_json(const FollowedNode& node) {
    Json steps = Json::array();
    for (const FollowedStep& step : node.steps)
        steps.push_back({{"step", step.step},
                         {"t0", time_json(step.t0)},
                         {"t1", time_json(step.t1)},
                         {"told", time_json(step.told)},
                         {"writer", time_json(step.writer)}});
    return {{"node", node.node},
            {"first", time_json(node.first)},
            {"last", time_json(node.last)},
            {"steps", std::move(steps)},
            {"forgotten", time_json(node.forgotten)}};
}

bool read_node(const Json& json, FollowedNode& node) {
    Members members(json);
    node.node = members.text("node");
    node.first = members.time("first");
    node.last = members.time("last");
    node.forgotten = members.time("forgotten");
    for (const Json& one : members.array("steps")) {
        Members step(one);
        node.steps.push_back({.step = step.text("step"),
                              .t0 = step.time("t0"),
                              .t1 = step.optional_time("t1"),
                              .told = step.time("told"),
                              .writer = step.time("writer")});
        members.take(step.are_right());
    }
    return members.are_right();
}

constexpr std::array kStageNames = {"open", "cutting", "cut", "done"};

bool read_stage(const std::string& name, JobStage& stage) {
    for (size_t i = 0; i < kStageNames.size(); ++i)
        if (name == kStageNames[i]) {
            stage = static_cast<JobStage>(i);
            return true;
        }
    return false;
}

bool read_job(const Json& json, FollowedJob& job) {
    Members members(json);
    job.key = members.text("key");
    job.made = static_cast<uint64_t>(members.number("made"));
    job.cluster = members.text("cluster");
    job.id = members.number("id");
    job.restart = members.number("restart");
    members.take(read_stage(members.text("stage"), job.stage));
    job.is_told = members.truth("is_told");
    job.is_changed = members.truth("is_changed");
    job.is_stale = members.truth("is_stale");
    job.heard = members.time("heard");
    job.slurm_heard = members.time("slurm_heard");
    job.over_since = members.optional_time("over_since");
    job.first_cut = members.optional_time("first_cut");
    job.asked = members.optional_time("asked");
    job.ended_by = members.optional_time("ended_by");
    if (const auto slurm = json.find("slurm"); slurm != json.end() && !slurm->is_null())
        members.take(read_slurm(*slurm, job.slurm.emplace()));
    for (const Json& node : members.array("nodes")) members.take(read_node(node, job.nodes.emplace_back()));
    return members.are_right();
}

}  // namespace

std::string to_json(const FollowedJob& job) {
    Json nodes = Json::array();
    for (const FollowedNode& node : job.nodes) nodes.push_back(node_json(node));
    const Json json = {{"key", job.key},
                       {"made", job.made},
                       {"cluster", job.cluster},
                       {"id", job.id},
                       {"restart", job.restart},
                       {"slurm", job.slurm ? slurm_json(*job.slurm) : Json()},
                       {"nodes", std::move(nodes)},
                       {"stage", kStageNames[static_cast<size_t>(job.stage)]},
                       {"is_told", job.is_told},
                       {"is_changed", job.is_changed},
                       {"is_stale", job.is_stale},
                       {"heard", time_json(job.heard)},
                       {"slurm_heard", time_json(job.slurm_heard)},
                       {"over_since", time_json(job.over_since)},
                       {"first_cut", time_json(job.first_cut)},
                       {"asked", time_json(job.asked)},
                       {"ended_by", time_json(job.ended_by)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<FollowedJob> followed_job_from_json(std::string_view text) {
    const Json json = core::parse_ordered_json(text);
    FollowedJob job;
    if (!json.is_object() || !read_job(json, job))
        return core::bad_input("what was kept of a followed job is damaged, or of another version");
    return job;
}

}  // namespace belay::server
