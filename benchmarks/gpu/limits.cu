// Programs that use one limit of an NVIDIA GPU as fully as they can, for as long as they are told: what a
// ceiling is measured with (docs/formats/ceilings.md).
//
//     limits KIND SECONDS      prints {"kind","seconds","runs","rate","unit","correct"}
//
// KIND       work of a run                                                     counted as
// gemm-bf16  C = A·B, 8192³, BF16 with FP32 sums (cuBLAS)                       2n³ operations
// gemm-fp32  the same in FP32, tensor cores not allowed                        2n³
// gemm-fp64  the same in FP64, 4096³; on the tensor pipe where there is one    2n³
// fp32, fp64, fp16   chains of x = a·x + b in registers                        2 operations a lane (FP16: 4)
// dram       STREAM's triad a = b + s·c over 3 GiB                             three accesses an element
// copy       a = b over 2 GiB                                                  two accesses an element
// idle       nothing, with a context
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "limits: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}

void check(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "limits: %s: cuBLAS status %d\n", what, static_cast<int>(status));
    std::exit(1);
}

// A kind of work, ready to run: `run` starts one, `correct` looks at the result of the last.
struct Work {
    double operations = 0;  // of one run
    const char* unit = "FLOP/s";
    std::function<void()> run = [] {};
    std::function<bool()> correct = [] { return true; };
};

template <typename T>
T* on_device(size_t count) {
    T* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    return memory;
}

template <typename T>
__global__ void fill(T* values, size_t count, float scale) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
        // Values in (-1, 1) that differ, since equal ones take less power than those of real work.
        const unsigned mixed = static_cast<unsigned>(i * 2654435761u) ^ static_cast<unsigned>(i >> 7);
        values[i] = static_cast<T>(scale * (static_cast<float>(mixed & 0xffff) / 32768.0f - 1.0f));
    }
}

// One element of the product, computed again on the host: it shows that the right operation ran, not that every element is right.
template <typename In, typename Out>
bool row_is_right(const In* a, const In* b, const Out* c, int n, double tolerance) {
    std::vector<In> row(n), column(n);
    constexpr int kRow = 17, kColumn = 4001;
    Out found;
    check(cudaMemcpy2D(row.data(), sizeof(In), a + kRow, n * sizeof(In), sizeof(In), n, cudaMemcpyDeviceToHost), "row");
    check(cudaMemcpy(column.data(), b + size_t{kColumn} * n, n * sizeof(In), cudaMemcpyDeviceToHost), "column");
    check(cudaMemcpy(&found, c + size_t{kColumn} * n + kRow, sizeof found, cudaMemcpyDeviceToHost), "element");
    double sum = 0, size = 0;
    for (int i = 0; i < n; ++i) {
        const double product = static_cast<double>(row[i]) * static_cast<double>(column[i]);
        sum += product;
        size += std::fabs(product);
    }
    return std::fabs(static_cast<double>(found) - sum) <= tolerance * size;
}

template <typename In, typename Out>
Work gemm(cudaDataType in, cudaDataType out, cublasComputeType_t compute, int n, double tolerance) {
    cublasHandle_t blas;
    check(cublasCreate(&blas), "cublasCreate");
    auto *a = on_device<In>(size_t(n) * n), *b = on_device<In>(size_t(n) * n);
    auto* c = on_device<Out>(size_t(n) * n);
    fill<<<1024, 256>>>(a, size_t(n) * n, 1.0f);
    fill<<<1024, 256>>>(b, size_t(n) * n, 0.5f);
    static double one = 1, zero = 0;
    static float one32 = 1, zero32 = 0;
    const bool wide = compute == CUBLAS_COMPUTE_64F;
    const void* alpha = wide ? static_cast<void*>(&one) : &one32;
    const void* beta = wide ? static_cast<void*>(&zero) : &zero32;
    return {.operations = 2.0 * n * n * n,
            .run = [=] {
                check(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, alpha, a, in, n, b, in, n, beta, c, out, n, compute,
                                   CUBLAS_GEMM_DEFAULT),
                      "cublasGemmEx");
            },
            .correct = [=] { return row_is_right(a, b, c, n, tolerance); }};
}

template <typename T>
__device__ T start_of(float value) {
    if constexpr (std::is_same_v<T, __half2>)
        return __float2half2_rn(value);
    else
        return value;
}

constexpr int kChains = 8, kSteps = 4096, kThreads = 512, kBlocksPerSm = 4;

// Eight chains a thread hide the latency of an instruction; every x ends at the fixed point b/(1-a) = 2.
template <typename T>
__global__ void chains(T* results, T a, T b) {
    T x[kChains];
    for (int c = 0; c < kChains; ++c) x[c] = start_of<T>(static_cast<float>(threadIdx.x % 32 + c) / 16.0f);
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int c = 0; c < kChains; ++c) {
            if constexpr (std::is_same_v<T, float>)
                x[c] = fmaf(a, x[c], b);
            else if constexpr (std::is_same_v<T, double>)
                x[c] = fma(a, x[c], b);
            else
                x[c] = __hfma2(a, x[c], b);
        }
    T sum = x[0];
    for (int c = 1; c < kChains; ++c) {
        if constexpr (std::is_same_v<T, __half2>)
            sum = __hadd2(sum, x[c]);
        else
            sum += x[c];
    }
    results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <typename T>
double as_double(T value) {
    if constexpr (std::is_same_v<T, __half2>)
        return __low2float(value);
    else
        return value;
}

template <typename T>
Work pipe(int operations_a_lane) {
    int device = 0;
    cudaDeviceProp properties;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    const int blocks = properties.multiProcessorCount * kBlocksPerSm;
    const size_t threads = size_t(blocks) * kThreads;
    T* results = on_device<T>(threads);
    T a, b;
    if constexpr (std::is_same_v<T, __half2>) {
        a = __float2half2_rn(0.5f);
        b = __float2half2_rn(1.0f);
    } else {
        a = T(0.5);
        b = T(1);
    }
    return {.operations = 1.0 * operations_a_lane * threads * kSteps * kChains,
            .run = [=] { chains<T><<<blocks, kThreads>>>(results, a, b); },
            .correct = [=] {
                std::vector<T> sums(threads);
                check(cudaMemcpy(sums.data(), results, threads * sizeof(T), cudaMemcpyDeviceToHost), "results");
                for (const T sum : sums)
                    if (std::fabs(as_double(sum) - 2.0 * kChains) > 1e-2) return false;
                return true;
            }};
}

__global__ void triad(float4* a, const float4* b, const float4* c, float s, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
        const float4 x = b[i], y = c[i];
        a[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
    }
}

__global__ void copy(float4* a, const float4* b, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
        a[i] = b[i];
}

Work memory(bool with_three) {
    constexpr size_t kBytes = size_t{1} << 30, kCount = kBytes / sizeof(float4);
    auto *a = on_device<float4>(kCount), *b = on_device<float4>(kCount), *c = on_device<float4>(with_three ? kCount : 1);
    fill<<<1024, 256>>>(reinterpret_cast<float*>(b), kCount * 4, 1.0f);
    if (with_three) fill<<<1024, 256>>>(reinterpret_cast<float*>(c), kCount * 4, 1.0f);
    const int blocks = static_cast<int>(kCount / 256);
    return {.operations = (with_three ? 3.0 : 2.0) * kBytes,
            .unit = "B/s",
            .run = [=] {
                if (with_three)
                    triad<<<blocks, 256>>>(a, b, c, 3.0f, kCount);
                else
                    copy<<<blocks, 256>>>(a, b, kCount);
            },
            .correct = [=] {
                std::vector<float> first(4096), in(4096);
                check(cudaMemcpy(first.data(), a + 12345, first.size() * sizeof(float), cudaMemcpyDeviceToHost), "a");
                check(cudaMemcpy(in.data(), b + 12345, in.size() * sizeof(float), cudaMemcpyDeviceToHost), "b");
                for (size_t i = 0; i < in.size(); ++i)
                    if (std::fabs(first[i] - in[i] * (with_three ? 4.0f : 1.0f)) > 1e-5f) return false;
                return true;
            }};
}

Work idle() {
    on_device<float>(1);
    return {.unit = "", .run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }};
}

struct Kind {
    const char* name;
    Work (*make)();
};

constexpr Kind kKinds[] = {
    {"gemm-bf16", [] { return gemm<__nv_bfloat16, __nv_bfloat16>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 8192, 1e-2); }},
    {"gemm-fp32", [] { return gemm<float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, 8192, 1e-4); }},
    {"gemm-fp64", [] { return gemm<double, double>(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 4096, 1e-10); }},
    {"fp32", [] { return pipe<float>(2); }},
    {"fp64", [] { return pipe<double>(2); }},
    {"fp16", [] { return pipe<__half2>(4); }},
    {"dram", [] { return memory(true); }},
    {"copy", [] { return memory(false); }},
    {"idle", idle},
};

int usage() {
    std::fprintf(stderr, "usage: limits KIND SECONDS; the kinds are");
    for (const Kind& kind : kKinds) std::fprintf(stderr, " %s", kind.name);
    std::fprintf(stderr, "\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return usage();
    const double wanted = std::atof(argv[2]);
    const Kind* kind = nullptr;
    for (const Kind& each : kKinds)
        if (std::strcmp(each.name, argv[1]) == 0) kind = &each;
    if (kind == nullptr || !(wanted > 0)) return usage();
    const Work work = kind->make();
    for (int i = 0; i < 3; ++i) work.run();
    check(cudaDeviceSynchronize(), "warm-up");

    // Enough runs between two looks at the clock that the GPU never waits for the host.
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    double seconds = 0;
    long runs = 0;
    cudaEvent_t before, ahead;
    check(cudaEventCreate(&before), "event");
    check(cudaEventCreate(&ahead), "event");
    bool first = true;
    while (seconds < wanted) {
        for (int i = 0; i < 16; ++i, ++runs) work.run();
        check(cudaEventRecord(ahead), "record");
        if (!first) check(cudaEventSynchronize(before), "kernels");
        std::swap(before, ahead);
        first = false;
        seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    check(cudaDeviceSynchronize(), "kernels");
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const bool correct = work.correct();
    std::printf("{\"kind\":\"%s\",\"seconds\":%.2f,\"runs\":%ld,\"rate\":%.6g,\"unit\":\"%s\",\"correct\":%s}\n", kind->name,
                seconds, runs, work.operations * runs / seconds, work.unit, correct ? "true" : "false");
    return correct ? 0 : 1;
}
