#include "gpu/xid.h"

#include <set>

#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

TEST(gpu, xids_have_one_table) {
    EXPECT_EQ(xid_table().size(), 172U);
    EXPECT_EQ(xid_meaning(79).class_name, "reboot");
    EXPECT_EQ(xid_meaning(9999).class_name, "other");
    const std::set<std::string_view> known{"none",          "restart_app", "reset_gpu", "reboot",
                                           "drain_inspect", "workflow",    "other"};
    for (const XidMeaning& row : xid_table()) EXPECT_TRUE(known.contains(row.class_name)) << row.code;
}

TEST(gpu, xids_are_as_grave_as_what_they_ask_for) {
    for (int64_t code : {37, 38, 43, 44, 63, 92, 106, 107, 121, 137, 160, 161})
        EXPECT_EQ(xid_severity(xid_meaning(code)), "info") << code << " needs nothing";
    EXPECT_EQ(xid_severity(xid_meaning(45)), "info") << "every killed job leaves one";
    for (int64_t code : {13, 31, 32, 94, 135, 154, 171, 9999})
        EXPECT_EQ(xid_severity(xid_meaning(code)), "warning") << code;
    for (int64_t code : {46, 48, 54, 62, 64, 74, 79, 95, 109, 119, 140, 143, 151, 155, 156, 158})
        EXPECT_EQ(xid_severity(xid_meaning(code)), "critical") << code;
    for (const XidMeaning& row : xid_table()) {
        const bool needs_repair =
            row.class_name == "reset_gpu" || row.class_name == "reboot" || row.class_name == "drain_inspect";
        EXPECT_TRUE(!needs_repair || xid_severity(row) == "critical") << row.code;
        EXPECT_TRUE(row.class_name != "none" || xid_severity(row) == "info") << row.code;
    }
}

TEST(gpu, xids_say_what_has_to_be_done) {
    EXPECT_EQ(xid_text(xid_meaning(46)), "GPU timeout; the GPU needs a reset");
    EXPECT_EQ(xid_text(xid_meaning(106)), "SMBPBI test message; nothing has to be done at once");
    EXPECT_EQ(xid_text(xid_meaning(167)), "PCIe fatal timeout; see NVIDIA's XID catalogue");
    for (int64_t code : {1, 9999}) EXPECT_EQ(xid_text(xid_meaning(code)), "see NVIDIA's XID catalogue");
}

}  // namespace
}  // namespace belay::gpu
