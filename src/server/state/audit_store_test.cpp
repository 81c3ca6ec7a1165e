#include "server/state/audit_store.h"

#include "server/state/job_store.h"
#include "server/state/testing.h"
#include "server/state/transacted.h"

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using database::Transaction;
using ::testing::ElementsAre;
using ::testing::SizeIs;

AuditEntry look_of(const std::string& who, int number) {
    return {.who = who,
            .what = "job.see",
            .job = "c/" + std::to_string(number),
            .owner = "ann",
            .time = kStateTime + std::chrono::seconds(number),
            .peer = "192.0.2.7"};
}

TEST_P(OnState, the_log_is_there_exactly_where_the_change_is) {
    put(job_number(1, "ann"));
    const auto share = [&](bool fails) {
        return state().write(soon(), [&](Transaction& transaction) -> core::Result<> {
            BELAY_CHECK(set_sharing(transaction, "c/1", {Sharing::kProject, false}, kStateTime));
            BELAY_CHECK(append_audit(transaction, look_of("ann", 1)));
            if (fails) return core::negative("changed my mind");
            return {};
        });
    };
    EXPECT_FALSE(share(true));
    EXPECT_EQ(found("c/1").sharing, Sharing::kOwner);
    EXPECT_EQ(count("SELECT count(*) FROM audit"), 0);
    EXPECT_TRUE(share(false));
    EXPECT_EQ(found("c/1").sharing, Sharing::kProject);
    const AuditPage page = got(list_audit(state(), {}, {}, soon()));
    ASSERT_THAT(page.entries, SizeIs(1));
    const AuditEntry& entry = page.entries[0];
    EXPECT_EQ(entry.who, "ann");
    EXPECT_EQ(entry.what, "job.see");
    EXPECT_EQ(entry.job, "c/1");
    EXPECT_EQ(entry.owner, "ann");
    EXPECT_EQ(entry.time, kStateTime + std::chrono::seconds(1));
    EXPECT_EQ(entry.peer, "192.0.2.7");
}

TEST_P(OnState, the_log_is_listed_newest_first_and_page_by_page) {
    for (int i = 1; i <= 9; ++i)
        ASSERT_TRUE(append_audit(state(), look_of(i % 2 == 0 ? "sue" : "tom", i), soon()));
    std::vector<std::string> jobs;
    Page page{.size = 4};
    for (int pages = 1;; ++pages) {
        const AuditPage found = got(list_audit(state(), {}, page, soon()));
        for (const AuditEntry& entry : found.entries) jobs.push_back(entry.job);
        if (found.next.empty()) break;
        ASSERT_LT(pages, 10) << "the pages do not end";
        page.cursor = found.next;
    }
    EXPECT_THAT(jobs, ElementsAre("c/9", "c/8", "c/7", "c/6", "c/5", "c/4", "c/3", "c/2", "c/1"));
    EXPECT_THAT(got(list_audit(state(), {.who = "sue"}, {}, soon())).entries, SizeIs(4));
    EXPECT_THAT(got(list_audit(state(), {.owner = "ann"}, {}, soon())).entries, SizeIs(9));
    EXPECT_THAT(got(list_audit(state(), {.who = "tom", .job = "c/3"}, {}, soon())).entries, SizeIs(1));
    EXPECT_FALSE(list_audit(state(), {}, {.cursor = "x"}, soon()));
    EXPECT_FALSE(list_audit(state(), {}, {.size = 0}, soon()));
    EXPECT_FALSE(append_audit(state(), {.who = "", .what = "x", .time = kStateTime}, soon()));
    EXPECT_FALSE(append_audit(state(), {.who = "ann", .what = "a\nb", .time = kStateTime}, soon()));
}

}  // namespace
}  // namespace belay::server
