#include "server/state/link_store.h"

#include "database/cause.h"
#include "server/access/token.h"
#include "server/state/testing.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LinkFacts link_to(const std::string& job, bool is_once = true) {
    return {.job = job, .made_by = "ann", .is_once = is_once, .expires = kStateTime + std::chrono::hours(1)};
}

TEST_P(OnState, a_link_is_taken_once_and_shows_its_job) {
    put(job_number(1, "ann"));
    const MadeLink link = got(create_link(state(), link_to("c/1"), kStateTime, soon()));
    EXPECT_THAT(got(list_links(state(), "c/1", kStateTime, soon())), SizeIs(1));
    const auto taken = got(take_link(state(), link.text, kStateTime, soon()));
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->id, link.id);
    EXPECT_EQ(taken->facts.job, "c/1");
    EXPECT_EQ(taken->facts.made_by, "ann");
    EXPECT_FALSE(taken->facts.is_staff);
    EXPECT_EQ(taken->facts.expires, kStateTime + std::chrono::hours(1));
    EXPECT_FALSE(got(take_link(state(), link.text, kStateTime, soon()))) << "twice";
    EXPECT_THAT(got(list_links(state(), "c/1", kStateTime, soon())), IsEmpty());
}

TEST_P(OnState, a_link_until_an_expiry_is_taken_often_and_then_not) {
    put(job_number(1, "ann"));
    const MadeLink link = got(create_link(state(), link_to("c/1", false), kStateTime, soon()));
    const core::Time end = kStateTime + std::chrono::hours(1);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(got(take_link(state(), link.text, kStateTime, soon())));
    EXPECT_TRUE(got(take_link(state(), link.text, end - std::chrono::seconds(1), soon())));
    EXPECT_FALSE(got(take_link(state(), link.text, end, soon())));
    EXPECT_FALSE(got(remove_link(state(), "c/2", link.id, soon()))) << "of another job";
    EXPECT_TRUE(got(remove_link(state(), "c/1", link.id, soon())));
    EXPECT_FALSE(got(take_link(state(), link.text, kStateTime, soon())));
}

TEST_P(OnState, what_is_not_a_link_takes_nothing) {
    put(job_number(1, "ann"));
    const MadeLink link = got(create_link(state(), link_to("c/1"), kStateTime, soon()));
    std::string forged = link.text;
    forged.back() = forged.back() == 'A' ? 'E' : 'A';
    for (const std::string& text :
         {std::string(), std::string("belay_"), make_token()->text(), forged, link.id, link.text + "A",
          "belay_" + link.id + "_" + make_token()->secret})
        EXPECT_FALSE(got(take_link(state(), text, kStateTime, soon()))) << text;
    EXPECT_TRUE(got(take_link(state(), link.text, kStateTime, soon()))) << "and leaves it there";

    const auto nowhere = create_link(state(), link_to("c/9"), kStateTime, soon());
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().cause(), database::kReference);
    LinkFacts facts = link_to("c/1");
    facts.expires = kStateTime;
    EXPECT_FALSE(create_link(state(), facts, kStateTime, soon()));
    facts.expires = kStateTime + std::chrono::days(400);
    EXPECT_FALSE(create_link(state(), facts, kStateTime, soon()));
}

TEST_P(OnState, of_those_that_take_a_link_at_once_one_gets_it) {
    put(job_number(1, "ann"));
    constexpr int kRounds = 10, kTakers = 4;
    for (int round = 0; round < kRounds; ++round) {
        const MadeLink link = got(create_link(state(), link_to("c/1"), kStateTime, soon()));
        std::atomic<int> taken = 0, failed = 0;
        std::latch ready(kTakers);
        std::vector<std::thread> takers;
        for (int i = 0; i < kTakers; ++i)
            takers.emplace_back([&, own = another()]() mutable {
                ready.arrive_and_wait();
                const auto got_it = take_link(own, link.text, kStateTime, soon());
                if (!got_it) ++failed;
                if (got_it && *got_it) ++taken;
            });
        for (std::thread& taker : takers) taker.join();
        EXPECT_EQ(taken, 1);
        EXPECT_EQ(failed, 0);
    }
}

}  // namespace
}  // namespace belay::server
