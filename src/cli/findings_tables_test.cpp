// The tables of GPUs are declared twice, since findings/ may not use score/: both must be the same.
#include "findings/tables.h"
#include "score/digest_tables.h"

#include <gtest/gtest.h>

namespace belay::cli {
namespace {

TEST(cli, findings_take_the_gpu_tables_that_a_digest_gives) {
    using Pair = std::pair<const record::Table*, const record::Table*>;
    for (auto [given, taken] : {Pair{&score::gpu_summary_table(), &findings::kGpuSummary},
                                Pair{&score::gpu_series_table(), &findings::kGpuSeries},
                                Pair{&score::job_series_table(), &findings::kJobSeries}}) {
        EXPECT_EQ(given->name, taken->name);
        ASSERT_EQ(given->columns.size(), taken->columns.size()) << given->name;
        for (size_t i = 0; i < given->columns.size(); ++i) {
            const record::Column& ours = taken->columns[i];
            EXPECT_EQ(given->columns[i].name, ours.name) << given->name << " " << i;
            EXPECT_EQ(given->columns[i].type, ours.type) << given->name << "." << ours.name;
            EXPECT_EQ(given->columns[i].unit, ours.unit) << given->name << "." << ours.name;
            EXPECT_EQ(given->columns[i].doc, ours.doc) << given->name << "." << ours.name;
        }
    }
}

}  // namespace
}  // namespace belay::cli
