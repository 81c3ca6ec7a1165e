// The page of tests/long/gpu-ceilings: page.mjs CEILINGS RESULTS...
// RESULTS are results.json of benchmarks/gpu/measure, one of each kind of GPU.
import { readFileSync } from 'node:fs';

const kLargestDifference = 0.02; // of an activity, between two readers of one counter whose seconds are not the same
const kLargestMiss = 0.01; // of the work that defines a ceiling, from that ceiling
const kIdleScore = 5; // docs/formats/ceilings.md
// The limit that a kind of work uses, and the peak in ceilings.toml its rate is compared with.
const kLimits = {
    'gemm-bf16': ['tensor', 'tensor'], 'gemm-fp32': ['fp32', 'fp32'], 'gemm-fp64': ['fp64', null], fp32: ['fp32', 'fp32'],
    fp64: ['fp64', 'fp64'], fp16: ['fp16', 'fp16'], dram: ['dram', 'dram'], copy: ['dram', 'dram'],
};
const kCompared = ['engine', 'sm', 'occupancy', 'tensor', 'fp64', 'fp32', 'fp16', 'integer', 'dram', 'tensor_half', 'tensor_double'];

const [ceilingsFile, ...files] = process.argv.slice(2);
const lines = [];

// The entry of the longest match, as far as this page needs it.
function ceilingsOf(name) {
    const entries = readFileSync(ceilingsFile, 'utf8').split('[[device]]').slice(1).map(text => {
        const value = key => text.match(new RegExp(`^${key} = "?([^"\\n]*)"?$`, 'm'))?.[1];
        const peaks = Object.fromEntries([...(text.match(/^peak_tflops = \{([^}]*)\}/m)?.[1] ?? '').matchAll(/(\w+) = ([\d.]+)/g)]
            .map(([, key, number]) => [key, Number(number) * 1e12]));
        peaks.dram = Number(value('peak_dram_gbytes_per_second')) * 1e9;
        const limits = Object.fromEntries(['tensor', 'fp64', 'fp32', 'fp16', 'dram'].map(key => [key, Number(value(key) ?? 1)]));
        return { match: value('match'), clock: Number(value('clock_mhz')), peaks, limits, calibrated: value('calibrated') === 'true' };
    });
    return entries.filter(entry => name.includes(entry.match)).sort((a, b) => b.match.length - a.match.length)[0];
}

function aim(what, holds) {
    lines.push(`- ${what}: ${holds ? 'met' : '**missed**'}`);
}

const share = value => value === null || value === undefined ? '' : value.toFixed(3);
const rate = (value, unit) => unit === 'B/s' ? `${(value / 1e9).toFixed(0)} GB/s` : `${(value / 1e12).toFixed(1)} TFLOP/s`;

for (const file of files) {
    const { device, kinds, machine, date } = JSON.parse(readFileSync(file, 'utf8'));
    const ceilings = ceilingsOf(device.name);
    lines.push('', `## ${device.name}`, '', `${date}, driver ${device.driver}, ${machine}. Each kind of work ran alone; medians of its seconds.`, '',
        '| work | reached | of the data sheet | limit | activity | the bindings\' | used | SM clock, MHz | W | CPU of all, % of a core |',
        '|---|---|---|---|---|---|---|---|---|---|');
    let worst = { difference: 0 };
    const uses = {};
    for (const { kind, work, belay, peer, seconds, cpu_seconds: cpu } of kinds) {
        const [limit, peak] = kLimits[kind] ?? [];
        // docs/score.md: activity, at the clock of the ceiling, of the ceiling; DRAM has a clock of its own.
        // FP64 matrices run on the tensor pipe.
        const active = limit && belay[limit] + (limit === 'fp64' ? belay.tensor_double : 0);
        const uncut = limit && active * (limit === 'dram' ? 1 : belay.clock_mhz / ceilings.clock) / ceilings.limits[limit];
        uses[kind] = uncut;
        for (const name of kCompared) {
            const both = typeof belay[name] === 'number' && typeof peer[name] === 'number';
            const difference = both ? Math.abs(belay[name] - peer[name]) : Infinity;
            if (difference > worst.difference) worst = { difference, kind, name };
        }
        lines.push(`| ${kind} | ${limit ? rate(work.rate, work.unit) : ''} | ${peak ? (work.rate / ceilings.peaks[peak] * 100).toFixed(0) + ' %' : ''} ` +
            `| ${limit ?? ''} | ${limit ? share(active) : share(belay.sm)} | ${limit ? share(peer[limit] + (limit === 'fp64' ? peer.tensor_double : 0)) : share(peer.sm)} | ${share(uncut)} ` +
            `| ${belay.clock_mhz.toFixed(0)} | ${belay.watts.toFixed(0)} | ${(cpu / seconds * 100).toFixed(1)} |`);
    }
    lines.push('');
    aim(`the activities of each kind of work are those of NVIDIA's own bindings within ${kLargestDifference} (worst: ` +
        `${worst.difference.toFixed(4)}${worst.name ? `, ${worst.name} of ${worst.kind}` : ''})`, worst.difference <= kLargestDifference);
    aim('every result of the work was right', kinds.every(({ kind, work }) => kind === 'idle' || work?.correct));
    for (const kind of ['gemm-bf16', 'fp64', 'fp32', 'fp16', 'dram'])
        aim(`${kind} reaches its ceiling within ${100 * kLargestMiss} % (${(100 * uses[kind]).toFixed(1)} %)`, Math.abs(uses[kind] - 1) <= kLargestMiss);
    const idle = kinds.find(({ kind }) => kind === 'idle').belay;
    aim(`an idle GPU would score below ${kIdleScore}`, 100 * Math.max(idle.tensor, idle.fp32, idle.fp64, idle.fp16, idle.dram) < kIdleScore);
    aim('its ceilings are marked as measured', ceilings.calibrated);
}
console.log(`Real programs (\`benchmarks/gpu/limits.cu\`: cuBLAS, chains of multiply-adds, STREAM) use one limit of a GPU each, under
\`belay record run\`, while NVIDIA's own Python bindings read the same counters. The readings are kept in \`tests/data/gpu\`.
*Used* is what the score makes of the activity with the ceilings of \`src/score/ceilings.toml\`. The last column is the CPU time
of the work and of Belay together: a program that waits for a GPU by spinning holds a whole core.

One GPU of each model, alone; a kind of work ran for 14 s on the H100 and 10 s on the H200, where the clock of the BF16 product was
still falling a little, so its ceiling is at most some per cent too high. Of each product one element is computed again, of the chains
all sums, of STREAM 4,096 elements.`);
console.log(lines.join('\n'));
