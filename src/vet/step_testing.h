// A step whose nodes are processes of a test on this machine.
#pragma once

#include "core/file.h"
#include "core/work.h"
#include "vet/step.h"
#include "vet/verdict_json.h"

#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::vet::testing {

inline Protocol protocol_of(const std::string& checks) {
    return parse_protocol("name: p\nchecks:\n" + checks, "p.yaml").value();
}

// A step of this test: nodes n0, n1, … on this machine, whose memory the test makes up.
class Step {
  public:
    explicit Step(uint32_t size) : directory_(core::TemporaryDirectory::create().value()) {
        for (uint32_t rank = 0; rank < size; ++rank) {
            base_.nodes.push_back(fmt::format("n{}", rank));
            auto proc = directory_.path() / base_.nodes.back() / "proc";
            EXPECT_TRUE(core::make_directories(proc));
            set_memory(rank, 100);
        }
        base_.root_address = "127.0.0.1";
        base_.name = directory_.path();
        base_.secret = "the secret of " + base_.name;
        base_.timeout = std::chrono::seconds(20);
    }

    void set_memory(uint32_t rank, int kib) {
        auto file = directory_.path() / base_.nodes[rank] / "proc/meminfo";
        EXPECT_TRUE(core::replace_file(file, fmt::format("MemTotal: 100 kB\nMemAvailable: {} kB\n", kib)));
    }

    void forget_memory(uint32_t rank) {
        std::filesystem::remove(directory_.path() / base_.nodes[rank] / "proc/meminfo");
    }

    StepContext context(uint32_t rank) const {
        StepContext out = base_;
        out.rank = rank;
        out.view = {directory_.path() / base_.nodes[rank]};
        if (prepare) prepare(out);
        return out;
    }
    StepContext& base() { return base_; }
    // What each node does with its context first.
    std::function<void(StepContext& context)> prepare = {};

    // Every other node is a process; what each ends with is in told().
    core::Result<Verdicts> run(const Protocol& protocol, const std::set<uint32_t>& silent = {}) {
        std::map<uint32_t, core::Work> members;
        for (uint32_t rank = 1; rank < base_.nodes.size(); ++rank)
            if (!silent.contains(rank)) members.emplace(rank, member(protocol, context(rank)));
        auto verdicts = run_in_step(protocol, context(0));
        for (auto& [rank, task] : members) {
            auto text = task.finish(core::Deadline::after(std::chrono::seconds(30)));
            told_[rank] = text ? *text : text.error().message();
        }
        return verdicts;
    }
    std::string told(uint32_t rank) { return told_[rank]; }

    static core::Work member(Protocol protocol, StepContext context) {
        return core::Work::start({.what = "a node"},
                                 [protocol = std::move(protocol), context = std::move(context)] {
                                     auto verdicts = run_in_step(protocol, context);
                                     return verdicts ? compact(to_json(*verdicts))
                                                     : verdicts.error().render();
                                 })
            .value();
    }

  private:
    core::TemporaryDirectory directory_;
    StepContext base_;
    std::map<uint32_t, std::string> told_;
};

inline const char* const kMemory = "- {name: memory, type: mem.free, min: 50KiB}\n";

}  // namespace belay::vet::testing
