// Tests of what a program does where system calls fail that work here.
#pragma once

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <span>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::core {

// Runs the test in a child in which system calls fail as the rules say; its failures are failures here.
inline void expect_in_sandbox(std::span<sock_filter> rules, const std::function<void()>& test) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const sock_fprog program{.len = static_cast<unsigned short>(rules.size()), .filter = rules.data()};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(99);
        test();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "99: seccomp refused the filter";
}

// Where a system call fails in this way.
inline void expect_where_call_fails(unsigned call, int failure, const std::function<void()>& test) {
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(failure)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    expect_in_sandbox(rules, test);
}

// As in old kernels and under strict sandboxes.
inline void expect_without_openat2(int failure, const std::function<void()>& test) {
    expect_where_call_fails(SYS_openat2, failure, test);
}

// Where every file has a name (no O_TMPFILE), as on NFS and Lustre.
inline void expect_where_files_have_names(const std::function<void()>& test) {
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    expect_in_sandbox(rules, test);
}

}  // namespace belay::core
