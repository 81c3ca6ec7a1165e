// Tables of tests that judge what rules say: which rules name a cause, and which only say what is true beside it.
import { readFileSync } from 'node:fs';

// Rows of tab-separated words; lines with # say what they are.
export function table(file) {
    return readFileSync(file, 'utf8').split('\n').filter(line => line && !line.startsWith('#')).map(line => line.split('\t'));
}

export const words = text => (text ?? '').split(/[ ,]+/).filter(word => word && word !== '-');

// Of each row's cause: { names, beside }, sets of rules.
export function readAccepted(file) {
    return new Map(table(file).map(([cause, names, beside]) => [cause, { names: new Set(words(names)), beside: new Set(words(beside)) }]));
}

// Throws where a rule is named that `reports` (of belay findings --json) do not know: it would only count as a miss.
export function checkAccepted(accepted, reports) {
    const asked = new Set(reports.flatMap(report => [...report.evaluated, ...report.skipped.map(one => one.id)]));
    for (const [cause, { names, beside }] of accepted)
        for (const id of [...names, ...beside])
            if (!asked.has(id)) throw new Error(`accepted.tsv: ${cause}: there is no rule ${id}`);
}
