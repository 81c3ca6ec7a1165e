#include "observe/collect/ended_children.h"

#include "observe/collect/fake_processes.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace belay::observe::collect {
namespace {

using namespace testing;

int64_t unseen_of(JobProcesses& job, int64_t pid, int64_t second) {
    EXPECT_TRUE(job.look(at_second(second)).has_value());
    for (const JobProcess& process : job.members())
        if (process.stat.pid == pid) return process.unseen_children_ticks;
    ADD_FAILURE() << pid << " is not in the job";
    return -1;
}

TEST(observe_collect, children_between_two_looks_are_counted_by_their_parent) {
    FakeProcesses proc;
    proc.start(20, {});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(unseen_of(job, 20, 1), 0);
    proc.start(20, {.children_ticks = 90});
    EXPECT_EQ(unseen_of(job, 20, 2), 90);
    proc.start(20, {.children_ticks = 180});
    EXPECT_EQ(unseen_of(job, 20, 3), 180);
}

TEST(observe_collect, of_a_child_that_was_seen_only_the_rest_is_unseen) {
    FakeProcesses proc;
    proc.start(20, {});
    JobProcesses job = proc.follow({.roots = {20}});
    unseen_of(job, 20, 1);
    proc.start(21, {.parent = 20, .own_ticks = 70});
    proc.start(22, {.parent = 21, .own_ticks = 30});
    EXPECT_EQ(unseen_of(job, 20, 2), 0);
    proc.end(22);
    proc.end(21);
    proc.start(20, {.children_ticks = 70 + 30 + 4});
    EXPECT_EQ(unseen_of(job, 20, 3), 4);
}

TEST(observe_collect, a_child_that_went_after_its_parent_was_read_is_not_counted_twice) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(21, {.parent = 20, .own_ticks = 50});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(unseen_of(job, 20, 1), 0);
    proc.end(21);  // the parent's line is from before
    EXPECT_EQ(unseen_of(job, 20, 2), 0);
    proc.start(20, {.children_ticks = 52});
    EXPECT_EQ(unseen_of(job, 20, 3), 2);
}

TEST(observe_collect, a_child_nobody_waits_for_hides_no_later_one) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(21, {.parent = 20, .own_ticks = 500});
    JobProcesses job = proc.follow({.roots = {20}});
    unseen_of(job, 20, 1);
    proc.end(21);
    EXPECT_EQ(unseen_of(job, 20, 2), 0);
    EXPECT_EQ(unseen_of(job, 20, 3), 0);
    proc.start(20, {.children_ticks = 40});
    EXPECT_EQ(unseen_of(job, 20, 4), 40);
}

TEST(observe_collect, what_children_used_before_the_first_look_is_not_counted) {
    FakeProcesses proc;
    proc.start(20, {.children_ticks = 1000});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(unseen_of(job, 20, 1), 0);
    proc.start(20, {.children_ticks = 1010});
    EXPECT_EQ(unseen_of(job, 20, 2), 10);
    proc.start(21, {.parent = 20, .children_ticks = 7});  // came since, and so did its children
    EXPECT_EQ(unseen_of(job, 21, 3), 7);
}

TEST(observe_collect, a_child_whose_id_is_another_s_by_now_was_seen) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(21, {.parent = 20, .own_ticks = 50});
    JobProcesses job = proc.follow({.roots = {20}});
    unseen_of(job, 20, 1);
    proc.start(21, {.parent = 20, .start = 5000, .own_ticks = 1});
    proc.start(20, {.children_ticks = 53});
    EXPECT_EQ(unseen_of(job, 20, 2), 3);
}

// Whatever starts, works and ends in whatever order: what is seen of all and what is unseen is what was used,
// but for what children used since the last look.
TEST(observe_collect, seen_and_unseen_are_all_that_was_used) {
    struct Node {
        int64_t pid, parent, own = 0, children = 0;
    };
    for (unsigned seed = 0; seed < 4; ++seed) {
        std::mt19937 random(seed);
        FakeProcesses proc;
        std::vector<Node> alive = {{20, 1}};
        JobProcesses job = proc.follow({.roots = {20}});
        proc.start(20, {.own_ticks = 0});
        unseen_of(job, 20, 0);
        int64_t next = 21, used = 0;
        int64_t seen_of_ended = 0;  // rows that go no further
        std::map<int64_t, int64_t> last;
        for (int64_t second = 1; second < 30; ++second) {
            for (int change = 0; change < 12; ++change) {
                const size_t at = random() % alive.size();
                const bool has_children =
                    std::ranges::any_of(alive, [&](const Node& n) { return n.parent == alive[at].pid; });
                switch (random() % 3) {
                    case 0:
                        alive.push_back({next++, alive[at].pid});
                        break;
                    case 1: {
                        const int64_t ticks = static_cast<int64_t>(random() % 100);
                        alive[at].own += ticks, used += ticks;
                        break;
                    }
                    default:
                        if (at == 0 || has_children) break;
                        auto parent = std::ranges::find(alive, alive[at].parent, &Node::pid);
                        parent->children += alive[at].own + alive[at].children;
                        proc.end(alive[at].pid);
                        alive.erase(alive.begin() + static_cast<ptrdiff_t>(at));
                }
            }
            for (const Node& node : alive)
                proc.start(node.pid,
                           {.parent = node.parent, .own_ticks = node.own, .children_ticks = node.children});
            ASSERT_TRUE(job.look(at_second(second)).has_value());
            std::map<int64_t, int64_t> now;
            for (const JobProcess& process : job.members())
                now[process.stat.pid] = *process.stat.user_ticks + process.unseen_children_ticks;
            for (const auto& [pid, ticks] : last)
                if (!now.contains(pid)) seen_of_ended += ticks;
            last = now;
            int64_t told = seen_of_ended;
            for (const auto& [pid, ticks] : now) told += ticks;
            ASSERT_EQ(told, used) << "seed " << seed << ", second " << second;
        }
    }
}

}  // namespace
}  // namespace belay::observe::collect
