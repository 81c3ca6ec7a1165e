#include "record/archive/testing.h"
#include "schema/tables/progress.h"
#include "score/cpu_score.h"

namespace belay::score {
namespace {

struct Line {
    int64_t milliseconds;  // since the start
    const char* key;
    std::optional<double> flops_per_second = std::nullopt;
};

CpuUse use_of(const std::vector<Line>& lines) {
    record::RecordFixture fixture;
    const stream::Session session{.node = "n1",
                                  .start = record::kStart,
                                  .interval = std::chrono::seconds(1),
                                  .flush = std::chrono::seconds(2)};
    auto directory = core::Directory::open(fixture.path()).value();
    auto writer = record::new_segment(directory, fixture.segment("n1").filename().native(), session).value();
    stream::Batch progress(schema::kProgress);
    for (const Line& line : lines) {
        progress.add_row(record::kStart + std::chrono::milliseconds(line.milliseconds), "n1");
        progress.set(column(schema::kProgress, "task"), 0);
        progress.set(column(schema::kProgress, "source"), "mllog");
        progress.set(column(schema::kProgress, "key"), line.key);
        if (line.flops_per_second)
            progress.set(column(schema::kProgress, "fp32_flops_per_second"), *line.flops_per_second);
    }
    EXPECT_TRUE(writer.append(progress));
    EXPECT_TRUE(writer.finish(record::kStart + std::chrono::seconds(100)));
    auto archive = record::Archive::open(fixture.path());
    return read_cpu_use(archive.value()).value();
}

TEST(score, work_counts_since_the_line_or_the_mark_before_it) {
    const CpuUse use = use_of({{0, "init_start"},
                               {10000, "tracked_stats", 1e9},
                               {40000, "epoch_start"},
                               {50000, "tracked_stats", 3e9}});
    EXPECT_NEAR(use.work.single_flop, 4e10, 1);
    EXPECT_NEAR(use.reported_seconds, 20, 1e-6);
}

// Belay's trainer ends an epoch with both within a millisecond.
TEST(score, work_that_comes_with_a_mark_is_of_the_time_before_it) {
    for (const bool mark_first : {true, false}) {
        const Line mark{10000, "eval_start"}, figure{10000, "tracked_stats", 1e9};
        const CpuUse use =
            use_of({{0, "init_start"}, mark_first ? mark : figure, mark_first ? figure : mark});
        EXPECT_NEAR(use.work.single_flop, 1e10, 1);
        EXPECT_NEAR(use.reported_seconds, 10, 1e-6);
    }
}

TEST(score, figures_below_zero_are_counted_and_left_out) {
    const CpuUse use =
        use_of({{0, "init_start"}, {10000, "tracked_stats", -1e9}, {20000, "tracked_stats", 1e9}});
    EXPECT_NEAR(use.work.single_flop, 1e10, 1);
    EXPECT_EQ(use.below_zero, 1);
}

}  // namespace
}  // namespace belay::score
