#include "observe/collect/collector.h"

#include "observe/collect/testing.h"

#include <unistd.h>
#include <vector>

namespace belay::observe::collect {
namespace {

using namespace testing;

std::vector<std::string> tables_of(const std::vector<std::unique_ptr<Collector>>& collectors) {
    std::vector<std::string> names;
    for (const std::unique_ptr<Collector>& collector : collectors)
        names.emplace_back(collector->table().name);
    return names;
}

TEST(observe_collect, there_is_a_collector_for_each_table) {
    std::vector<std::unique_ptr<Collector>> collectors = make_collectors({});
    EXPECT_EQ(tables_of(collectors),
              (std::vector<std::string>{"host", "network", "filesystem", "process", "gpu", "io"}));
    std::vector<stream::Batch> rows = make_batches(collectors);
    ASSERT_EQ(rows.size(), collectors.size());
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(&rows[i].table(), &collectors[i]->table());
}

TEST(observe_collect, one_that_fails_hides_no_other) {
    FakeRoot root;
    root.load("x86_64_psi/tick1");
    root.remove("proc/net");
    std::vector<std::unique_ptr<Collector>> collectors = make_collectors(root.options());
    std::vector<stream::Batch> rows = make_batches(collectors);
    std::vector<std::string> failed;
    auto on_error = [&](const schema::Table& table, const core::Error& error) {
        failed.emplace_back(table.name);
        EXPECT_NE(error.message().find("net/dev"), std::string::npos);
    };
    collect_all(collectors, {at_second(1), "n1"}, rows, on_error);
    EXPECT_EQ(failed, std::vector<std::string>{"network"});
    EXPECT_EQ(rows[0].rows(), 1u);
    EXPECT_EQ(rows[1].rows(), 0u);
    EXPECT_GT(rows[2].rows(), 0u);
    EXPECT_GT(real(rows[0], 0, "collection_seconds"), 0);
    collect_all(collectors, {at_second(2), "n1"}, rows, nullptr);  // nobody asks
    EXPECT_EQ(rows[0].rows(), 2u);
}

TEST(observe_collect, without_host_row_the_others_stand) {
    FakeRoot root;
    root.load("x86_64_psi/tick1");
    root.remove("proc/stat");
    std::vector<std::unique_ptr<Collector>> collectors = make_collectors(root.options());
    std::vector<stream::Batch> rows = make_batches(collectors);
    collect_all(collectors, {at_second(1), "n1"}, rows, nullptr);
    EXPECT_EQ(rows[0].rows(), 0u);
    EXPECT_GT(rows[1].rows(), 0u);
}

TEST(observe_collect, a_tick_of_this_machine_fills_every_table) {
    CollectOptions options;
    options.job = {.roots = {getpid()}, .exclude_own_executable = false};
    std::vector<std::unique_ptr<Collector>> collectors = make_collectors(options);
    std::vector<stream::Batch> rows = make_batches(collectors);
    collect_all(collectors, {at_second(1), "n1"}, rows,
                [](const schema::Table& table, const core::Error& error) {
                    ADD_FAILURE() << table.name << ": " << error.message();
                });
    for (size_t i = 0; i < rows.size(); ++i) {
        const stream::Batch& batch = rows[i];
        if (!collectors[i]->is_expected()) continue;
        EXPECT_GT(batch.rows(), 0u) << batch.table().name;
        for (size_t column = 0; column < batch.table().columns.size(); ++column)
            EXPECT_EQ(batch.values(column).present.size(), batch.rows());
    }
}

}  // namespace
}  // namespace belay::observe::collect
