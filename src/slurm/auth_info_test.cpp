#include "slurm/auth_info.h"

#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

TEST(slurm, the_socket_of_munge_is_that_of_auth_info) {
    EXPECT_EQ(munge_socket_in("ClusterName=c\nAuthInfo=socket=/run/other/munge.socket.2\nNodeName=n1\n"),
              "/run/other/munge.socket.2");
    EXPECT_EQ(munge_socket_in(" authinfo = cred_expire=300, socket=/s # socket=/no\n"), "/s");
    EXPECT_EQ(munge_socket_in("AuthInfo=\"Socket=/quoted\"\n"), "/quoted");
    EXPECT_EQ(munge_socket_in("AuthInfo=socket=/first\nAuthInfo=socket=/second"), "/second");
}

TEST(slurm, no_socket_of_munge_is_found_where_none_is_named) {
    EXPECT_EQ(munge_socket_in(""), "");
    EXPECT_EQ(munge_socket_in("AuthType=auth/munge\n#AuthInfo=socket=/comment\nAuthInfo=cred_expire=300\n"),
              "");
    EXPECT_EQ(munge_socket_in("AuthAltParameters=socket=/other\nAuthInfo\n=socket=/nameless\n"), "");
}

}  // namespace
}  // namespace belay::slurm
