#include "vet/check_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using testing::HasSubstr;

procfs::KernelMessage message(std::string text) {
    return {1, std::move(text)};
}

TEST(vet, kernel_messages) {
    auto parsed = procfs::parse_kernel_message("6,339,5140900,-;NET: link up\n SUBSYSTEM=net\n");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->text, "NET: link up");
    EXPECT_DOUBLE_EQ(parsed->seconds, 5.1409);
    EXPECT_FALSE(procfs::parse_kernel_message("no record"));
    std::vector<procfs::KernelMessage> log{message("fine"), message("EXT4-fs error (device sda)")};
    EXPECT_EQ(judge_kernel_messages(log, {"EXT4-fs error", "MCE"}).status, Status::kFail);
    EXPECT_EQ(judge_kernel_messages(log, {"^error"}).status, Status::kPass);
}

TEST(vet, kernel_log_that_lost_part_of_the_window_is_an_error) {
    auto at = [](double seconds, std::string text) {
        return procfs::KernelMessage{seconds, std::move(text)};
    };
    auto judge = [](std::vector<procfs::KernelMessage> messages, size_t whole_from,
                    std::optional<core::Duration> window) {
        return judge_log(std::move(messages), whole_from, window, 1000,
                         [](const auto& log) { return judge_kernel_messages(log, {"bad"}); });
    };
    using std::chrono::seconds;
    EXPECT_EQ(judge({at(0, "boot"), at(900, "fine")}, 0, {}).status, Status::kPass);
    Outcome lost = judge({at(600, "fine")}, 0, {});
    EXPECT_EQ(lost.status, Status::kError);
    EXPECT_THAT(lost.reason.text(), HasSubstr("reaches back to 600 s"));
    EXPECT_EQ(judge({at(600, "fine")}, 0, seconds(500)).status, Status::kError);
    EXPECT_EQ(judge({at(600, "fine")}, 0, seconds(300)).status, Status::kPass) << "a shorter window";
    EXPECT_EQ(judge({at(600, "fine"), at(601, "bad")}, 0, {}).status, Status::kFail)
        << "what is there counts";
    EXPECT_EQ(judge({at(0, "boot"), at(900, "fine")}, 1, {}).status, Status::kError) << "a hole";
    EXPECT_EQ(judge({at(0, "bad"), at(900, "fine")}, 1, {}).status, Status::kFail) << "before the hole";
    EXPECT_EQ(judge({}, 0, {}).status, Status::kError);
}

const TextList kGrave{"reset_gpu", "reboot", "drain_inspect", "workflow"};

TEST(vet, xids_are_recognised) {
    auto xid = procfs::parse_xid(
        "NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    ASSERT_TRUE(xid);
    EXPECT_EQ(xid->code, 79);
    EXPECT_EQ(xid->device, "0000:81:00");
    EXPECT_EQ(procfs::parse_xid("NVRM: Xid (0000:03:00): 13, Graphics SM Warp Exception")->code, 13);
    EXPECT_EQ(procfs::parse_xid("NVRM: GPU at PCI:0000:5d:00 has fallen off the bus.")->code, 79)
        << "without a number";
    EXPECT_FALSE(procfs::parse_xid("NVRM: Xid (PCI:0000:81:00): none"));
    EXPECT_FALSE(procfs::parse_xid("usb 1-1: has fallen off the bus"));
    EXPECT_EQ(procfs::parse_xid(
                  "NVRM: Xid (PCI:0000:81:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
                  "(GPU Reset Required)")
                  ->recovery,
              1);
}

TEST(vet, xids_count_by_their_class) {
    auto grave = [](int code, std::optional<int> recovery = {}) {
        return xid_is_grave({.code = code, .recovery = recovery}, kGrave);
    };
    EXPECT_TRUE(grave(79));
    EXPECT_TRUE(grave(64));
    EXPECT_FALSE(grave(13)) << "usually the application";
    EXPECT_FALSE(grave(45)) << "every killed job leaves one";
    EXPECT_TRUE(grave(154, 2));
    EXPECT_FALSE(grave(154, 0)) << "it asks for nothing";
    Outcome out = judge_xids(
        {message("NVRM: Xid (PCI:0000:81:00): 31, x"), message("NVRM: Xid (PCI:0000:81:00): 79, y")}, kGrave);
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_EQ(out.value, 1.0);
    EXPECT_EQ(out.device, "0000:81:00");
    EXPECT_THAT(out.reason.text(), HasSubstr("XID 79"));
    constexpr const char* kFatal =
        "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000)";
    constexpr const char* kNotFatal =
        "NVRM: Xid (PCI:0000:04:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 17 (0x00000003 0x80000000)";
    constexpr const char* kInjected =
        "NVRM: Xid (PCI:0000:04:00): 149, NETIR_LINK_EVT Fatal XC0 i2 Link 17 (0x00000003 0x80000000)";
    EXPECT_EQ(judge_xids({message(kNotFatal), message(kInjected)}, kGrave).status, Status::kPass);
    out = judge_xids({message(kNotFatal), message(kFatal), message("NVRM: Xid (PCI:0000:81:00): 79, y")},
                     kGrave);
    EXPECT_EQ(out.value, 2.0);
    EXPECT_EQ(out.device, "0009:01:00");
    EXPECT_THAT(out.reason.text(), HasSubstr("2 grave XIDs, first: XID 149"));
    EXPECT_THAT(out.reason.text(), HasSubstr("; also 79"));
}

}  // namespace
}  // namespace belay::vet
