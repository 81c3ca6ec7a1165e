#include "core/program.h"

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

namespace belay::core {

Result<int> without_exceptions(const std::function<Result<int>()>& function) {
    try {
        return function();
    } catch (const std::bad_alloc&) {
        return system_error("out of memory");
    } catch (const std::filesystem::filesystem_error& error) {
        return errno_error(error.code(), fmt::format("cannot use {}", error.path1().string()));
    } catch (const std::system_error& error) {  // of fmt::print: a full disk, a reader that is gone
        return errno_error(error.code(), "cannot write the output");
    } catch (const std::exception& error) {
        return system_error("internal error: {}", error.what());
    }
}

int show_error(std::string_view program, const Error& error, std::FILE* stream) {
    std::fputs(error.render(program).c_str(), stream);
    std::fflush(stream);
    return error.exit_status();
}

int run_program(std::string_view program, const std::function<Result<int>()>& function, std::FILE* out,
                std::FILE* err) {
    Result<int> status = without_exceptions([&]() -> Result<int> {
        BELAY_TRY(returned, function());
        if (std::fflush(out) != 0) return errno_error(errno, "cannot write the output");
        return returned;
    });
    if (status) return *status;
    std::fflush(out);
    return show_error(program, status.error(), err);
}

}  // namespace belay::core
