"""Reads a GPU with NVIDIA's own bindings (nvidia-ml-py), once a second, into a table: the second opinion of `measure`."""

import csv
import signal
import sys
import time

import pynvml as nvml

METRICS = {
    "engine": nvml.NVML_GPM_METRIC_GRAPHICS_UTIL,
    "sm": nvml.NVML_GPM_METRIC_SM_UTIL,
    "occupancy": nvml.NVML_GPM_METRIC_SM_OCCUPANCY,
    "integer": nvml.NVML_GPM_METRIC_INTEGER_UTIL,
    "tensor": nvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL,
    "tensor_double": nvml.NVML_GPM_METRIC_DFMA_TENSOR_UTIL,
    "tensor_half": nvml.NVML_GPM_METRIC_HMMA_TENSOR_UTIL,
    "dram": nvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
    "fp64": nvml.NVML_GPM_METRIC_FP64_UTIL,
    "fp32": nvml.NVML_GPM_METRIC_FP32_UTIL,
    "fp16": nvml.NVML_GPM_METRIC_FP16_UTIL,
}


def main() -> None:
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    nvml.nvmlInit()
    device = nvml.nvmlDeviceGetHandleByIndex(0)
    samples = [nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()]
    nvml.nvmlGpmSampleGet(device, samples[0])
    with open(sys.argv[1], "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["time", *METRICS, "clock_mhz", "watts", "celsius", "utilization", "memory_used"])
        while running:
            time.sleep(1)
            nvml.nvmlGpmSampleGet(device, samples[1])
            wanted = nvml.c_nvmlGpmMetricsGet_t()
            wanted.version = nvml.NVML_GPM_METRICS_GET_VERSION
            wanted.numMetrics = len(METRICS)
            wanted.sample1, wanted.sample2 = samples
            for i, metric in enumerate(METRICS.values()):
                wanted.metrics[i].metricId = metric
            nvml.nvmlGpmMetricsGet(wanted)
            # Percent, as NVML gives them.
            values = [wanted.metrics[i].value / 100 for i in range(len(METRICS))]
            samples.reverse()
            table.writerow([
                f"{time.time():.3f}", *values,
                nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM),
                nvml.nvmlDeviceGetPowerUsage(device) / 1000,
                nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU),
                nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100,
                nvml.nvmlDeviceGetMemoryInfo(device).used,
            ])
            file.flush()


main()
