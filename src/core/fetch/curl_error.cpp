#include "core/fetch/curl_error.h"

namespace belay::core::fetch {

bool worth_another_try(CURLcode code) {
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_CONNECT:
        case CURLE_PARTIAL_FILE:
        case CURLE_OPERATION_TIMEDOUT:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
            return true;
        default:
            return false;
    }
}

Cause cause_of(CURLcode code, int errno_value) {
    switch (code) {
        case CURLE_COULDNT_CONNECT:
            if (Cause cause = cause_of_errno(errno_value); cause != Cause::kOther) return cause;
            return Cause::kUnreachable;
        case CURLE_OPERATION_TIMEDOUT:
            return Cause::kTimedOut;
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_PARTIAL_FILE:
        case CURLE_GOT_NOTHING:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_HTTP2:
        case CURLE_HTTP2_STREAM:
            return Cause::kUnreachable;
        default:  // a certificate, TLS, the URL, memory
            return Cause::kOther;
    }
}

std::string_view hint_of(CURLcode code) {
    switch (code) {
        case CURLE_PEER_FAILED_VERIFICATION:
            return "this machine must trust whoever signed its certificate; SSL_CERT_FILE may name a file "
                   "of more authorities";
        case CURLE_SSL_CACERT_BADFILE:
            return "install the system's certificates (ca-certificates), or let SSL_CERT_FILE name a file of "
                   "them that can be read";
        case CURLE_SSL_CONNECT_ERROR:
            return "does it speak TLS at this port, and at least TLS 1.2?";
        default:
            return "";
    }
}

}  // namespace belay::core::fetch
