#include "core/program.h"

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

namespace belay::core {

std::optional<Error> exception_of(const std::function<void()>& function, std::FILE* out) {
    try {
        function();
        return std::nullopt;
    } catch (const std::bad_alloc&) {
        return system_error("out of memory").because_of_errno(ENOMEM).error();
    } catch (const std::filesystem::filesystem_error& error) {
        return errno_error(error.code(), fmt::format("cannot use {}", error.path1().string())).error();
    } catch (const std::system_error& error) {  // of fmt::print: a full disk, a reader that is gone
        const bool is_output = std::ferror(out) != 0;
        return errno_error(error.code(),
                           is_output ? "cannot write the output" : "a call of the system failed")
            .error();
    } catch (const std::exception& error) {  // libraries put backtraces behind the first line
        const std::string_view text = error.what();
        return system_error("internal error: {}", text.substr(0, text.find('\n'))).error();
    } catch (...) {
        return system_error("internal error: an exception of an unknown type").error();
    }
}

int show_error(std::string_view program, const Error& error, std::FILE* stream) {
    std::fputs(error.render(program).c_str(), stream);
    std::fflush(stream);
    return error.exit_status();
}

int run_program(std::string_view program, const std::function<Result<int>()>& function, std::FILE* out,
                std::FILE* err) {
    Result<int> status = without_exceptions(
        [&]() -> Result<int> {
            BELAY_TRY(returned, function());
            if (std::fflush(out) != 0) return errno_error(errno, "cannot write the output");
            return returned;
        },
        out);
    if (status) return *status;
    std::fflush(out);
    return show_error(program, status.error(), err);
}

}  // namespace belay::core
