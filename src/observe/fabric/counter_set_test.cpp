#include "observe/fabric/counter_set.h"

#include "observe/fabric/port_text.h"
#include "observe/fabric/rdma_counters.h"
#include "observe/fabric/testing.h"

#include <fcntl.h>
#include <unistd.h>

namespace belay::observe::fabric {
namespace {

using namespace testing;

constexpr CounterSource kTestSources[] = {
    every_tick(pma("receive_bytes_total", "port_rcv_data", 32), kWordBytes),
    every_tick(hardware("receive_bytes_total", "ip4InOctets", "ip6InOctets")),
    pma("symbol_errors_total", "symbol_error", 16),
    pma("link_downed_total", "link_downed", 8),
    {.column = schema::column(schema::kFabric, "pause_frames_received_total"),
     .directory = "hw_counters",
     .files = {"pause_"},
     .numbered = 3,
     .combine = Combine::kHighest},
};

// The counters of a directory of files.
class CounterFiles {
  public:
    CounterFiles() { root_.write("port/counters/x", ""); }

    void write(const fs::path& name, std::string_view text) const { root_.write("port" / name, text); }
    void remove(const fs::path& name) const { root_.remove("port" / name); }
    void look() {
        const core::Descriptor fd(
            open((root_.sys().parent_path() / "port").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(fd);
        counters_.look(fd.get());
    }
    // A row with them.
    stream::Batch row() {
        EXPECT_TRUE(counters_.read());
        stream::Batch rows(schema::kFabric);
        rows.add_row(at_second(1), "n1");
        saturated_.clear();
        counters_.set(rows, saturated_);
        return rows;
    }
    const std::string& saturated() const { return saturated_; }
    bool is_denied() const { return counters_.is_denied(); }
    fs::path path() const { return root_.sys().parent_path() / "port"; }

  private:
    FakeRoot root_;
    CounterSet counters_{kTestSources, parse_counter};
    std::string saturated_;
};

TEST(observe_fabric, data_are_words_of_four_bytes) {
    CounterFiles files;
    files.write("counters/port_rcv_data", "1000000000001\n");
    files.look();
    EXPECT_EQ(integer(files.row(), 0, "receive_bytes_total"), 4000000000004);
    files.write("counters/port_rcv_data", "1000000000002\n");  // read at every tick
    EXPECT_EQ(integer(files.row(), 0, "receive_bytes_total"), 4000000000008);
    files.write("counters/port_rcv_data", "2305843009213693951\n");
    EXPECT_EQ(integer(files.row(), 0, "receive_bytes_total"), 9223372036854775804);
    files.write("counters/port_rcv_data", "2305843009213693952\n");  // beyond 63 bits
    EXPECT_TRUE(is_null(files.row(), 0, "receive_bytes_total"));
}

TEST(observe_fabric, where_one_source_says_nothing_the_next_is_taken) {
    CounterFiles files;
    files.write("counters/port_rcv_data", "N/A (no PMA)\n");
    files.write("hw_counters/ip4InOctets", "7\n");
    files.look();
    EXPECT_TRUE(is_null(files.row(), 0, "receive_bytes_total")) << "half of a sum";
    files.write("hw_counters/ip6InOctets", "30\n");
    files.look();
    EXPECT_EQ(integer(files.row(), 0, "receive_bytes_total"), 37);
    files.write("hw_counters/ip6InOctets", "wrong\n");
    EXPECT_TRUE(is_null(files.row(), 0, "receive_bytes_total")) << "a sum without it would go back";
    files.write("hw_counters/ip6InOctets", "31\n");
    files.write("counters/port_rcv_data", "1000\n");  // now it would say something
    files.look();
    EXPECT_EQ(integer(files.row(), 0, "receive_bytes_total"), 38) << "another source began elsewhere";
}

TEST(observe_fabric, errors_stand_until_the_next_look) {
    CounterFiles files;
    files.write("counters/symbol_error", "3\n");
    files.look();
    files.write("counters/symbol_error", "4\n");
    EXPECT_EQ(integer(files.row(), 0, "symbol_errors_total"), 3);
    files.look();
    EXPECT_EQ(integer(files.row(), 0, "symbol_errors_total"), 4);
    files.remove("counters/symbol_error");
    files.look();
    EXPECT_TRUE(is_null(files.row(), 0, "symbol_errors_total"));
}

TEST(observe_fabric, a_counter_at_its_highest_value_is_named) {
    CounterFiles files;
    files.write("counters/symbol_error", "65534\n");
    files.write("counters/link_downed", "254\n");
    files.write("counters/port_rcv_data", "4294967294\n");
    files.look();
    EXPECT_EQ(integer(files.row(), 0, "link_downed_total"), 254);
    EXPECT_EQ(files.saturated(), "");
    files.write("counters/symbol_error", "65535\n");
    files.write("counters/link_downed", "255\n");
    files.write("counters/port_rcv_data", "4294967295\n");
    files.look();
    stream::Batch rows = files.row();
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 17179869180);
    EXPECT_EQ(integer(rows, 0, "symbol_errors_total"), 65535);
    EXPECT_EQ(integer(rows, 0, "link_downed_total"), 255);
    EXPECT_EQ(files.saturated(), "receive_bytes_total,symbol_errors_total,link_downed_total");
}

TEST(observe_fabric, of_several_priorities_the_highest_counts) {
    CounterFiles files;
    files.write("hw_counters/pause_0", "3\n");
    files.write("hw_counters/pause_1", "9\n");
    files.look();
    EXPECT_TRUE(is_null(files.row(), 0, "pause_frames_received_total"));
    files.write("hw_counters/pause_2", "4\n");
    files.look();
    EXPECT_EQ(integer(files.row(), 0, "pause_frames_received_total"), 9);
}

TEST(observe_fabric, hostile_counters_are_null) {
    CounterFiles files;
    for (std::string_view wrong :
         {"", "\n", "-1\n", "12", "99999999999999999999999999\n", "0x1\n", "one\n", "1 1\n"}) {
        files.write("counters/symbol_error", wrong);
        files.look();
        EXPECT_TRUE(is_null(files.row(), 0, "symbol_errors_total")) << wrong;
    }
    files.write("counters/symbol_error", std::string(100'000, '1') + "\n");
    files.look();
    EXPECT_TRUE(is_null(files.row(), 0, "symbol_errors_total"));
}

TEST(observe_fabric, a_counter_that_may_not_be_read_is_noticed) {
    if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
    CounterFiles files;
    files.write("counters/symbol_error", "1\n");
    fs::permissions(files.path() / "counters/symbol_error", fs::perms::none);
    files.look();
    EXPECT_TRUE(files.is_denied());
    EXPECT_TRUE(is_null(files.row(), 0, "symbol_errors_total"));
}

TEST(observe_fabric, sums_are_right_or_absent) {
    EXPECT_EQ(combined(1, 2, Combine::kSum), 3);
    EXPECT_EQ(combined(1, 2, Combine::kHighest), 2);
    EXPECT_EQ(combined(INT64_MAX, 1, Combine::kSum), std::nullopt);
    EXPECT_EQ(combined(std::nullopt, 1, Combine::kSum), std::nullopt);
    EXPECT_EQ(combined(1, std::nullopt, Combine::kHighest), std::nullopt);
}

}  // namespace
}  // namespace belay::observe::fabric
