#include "http/server/self_signed.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

const std::vector<std::string> kNames = {"localhost", "node1.example.org", "127.0.0.1", "::1"};

TEST(self_signed, stands_for_its_names) {
    const auto made = make_self_signed("node1", kNames, core::system_clock().now(), std::chrono::hours(1));
    ASSERT_TRUE(made) << made.error().render();
    BIO* bio = BIO_new_mem_buf(made->certificate.data(), static_cast<int>(made->certificate.size()));
    X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    ASSERT_NE(certificate, nullptr);
    EXPECT_EQ(X509_check_host(certificate, "node1.example.org", 0, 0, nullptr), 1);
    EXPECT_EQ(X509_check_host(certificate, "node2.example.org", 0, 0, nullptr), 0);
    EXPECT_EQ(X509_check_ip_asc(certificate, "127.0.0.1", 0), 1);
    EXPECT_EQ(X509_check_ip_asc(certificate, "::1", 0), 1);
    EXPECT_EQ(X509_check_ip_asc(certificate, "127.0.0.2", 0), 0);
    EXPECT_EQ(X509_cmp_current_time(X509_get0_notBefore(certificate)), -1);
    EXPECT_EQ(X509_cmp_current_time(X509_get0_notAfter(certificate)), 1);
    X509_free(certificate);
    BIO_free(bio);
}

}  // namespace
}  // namespace belay::http
