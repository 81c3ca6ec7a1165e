// How well `belay findings` names the causes of made-up jobs:  judge.mjs BELAY DIRECTORY [--mistakes]
// DIRECTORY is what second_generator wrote. Each job is sealed and asked once; the answer is kept beside it, so that a run
// that was ended goes on. accepted.tsv says which rules name a cause, and which only say what is true beside it. --mistakes
// lists the jobs of which something wrong or nothing was said.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkAccepted, readAccepted, table, words } from '../accepted.mjs';

const [belay, directory] = process.argv.slice(2);
const run = promisify(execFile);
const kNotes = 'info'; // a note accuses nobody

const accepted = readAccepted(join(dirname(fileURLToPath(import.meta.url)), 'accepted.tsv'));

function jobs() {
    const [head, ...rows] = table(join(directory, 'truth.tsv'));
    return rows.map(row => Object.fromEntries(head.map((name, i) => [name, row[i]]))).map(row => {
        const bands = words(row.noticeable);
        return { id: row.job, truth: row.truth, confounders: row.confounders, seconds: Number(row.seconds),
                 causes: words(row.faults).map((name, i) => ({ name, band: bands[i] })) };
    });
}

async function answer(job) {
    const record = join(directory, `${job.id}.record-dir`);
    const kept = join(directory, `${job.id}.json`);
    if (!existsSync(kept)) {
        await run(belay, ['record', 'seal', record]);
        // Exit status 1 says that there are findings.
        const { stdout } = await run(belay, ['findings', record, '--json'], { maxBuffer: 1 << 26 })
            .catch(error => error.code === 1 ? error : Promise.reject(error));
        writeFileSync(kept, stdout);
    }
    return JSON.parse(readFileSync(kept, 'utf8'));
}

async function ask(all) {
    const waiting = [...all];
    await Promise.all(cpus().map(async () => {
        for (let job = waiting.shift(); job; job = waiting.shift()) job.report = await answer(job);
    }));
}

// Of one job: each accusation with whether it is right, each cause with how it was named.
function judge(job) {
    const rules = job.causes.map(cause => accepted.get(cause.name) ?? (() => { throw new Error(`no row for ${cause.name}`); })());
    const isTrue = id => rules.some(rule => rule.names.has(id) || rule.beside.has(id));
    const found = job.report.findings.map(finding => finding.id);
    job.accusations = job.report.findings.filter(finding => finding.severity !== kNotes)
        .map(finding => ({ id: finding.id, right: isTrue(finding.id) }));
    job.causes.forEach((cause, i) => {
        cause.named = found.some(id => rules[i].names.has(id));
        cause.first = found.length > 0 && rules[i].names.has(found[0]);
        cause.symptom = cause.named || found.some(id => rules[i].beside.has(id));
    });
}

const share = (part, whole) => whole === 0 ? '-' : (part / whole).toFixed(3);

function summary(all) {
    const accusations = all.flatMap(job => job.accusations);
    const causes = all.flatMap(job => job.causes);
    const clear = causes.filter(cause => cause.band === 'clear');
    const weak = causes.filter(cause => cause.band === 'weak');
    const sound = all.filter(job => job.causes.length === 0);
    const count = (list, test) => list.filter(test).length;
    return {
        precision: [count(accusations, one => one.right), accusations.length],
        recall: [count(clear, cause => cause.named), clear.length],
        first: [count(clear, cause => cause.first), clear.length],
        symptom: [count(clear, cause => cause.symptom), clear.length],
        weak: [count(weak, cause => cause.named), weak.length],
        accused: [count(sound, job => job.accusations.length > 0), sound.length],
    };
}

function print(all) {
    const said = {
        precision: 'of the warnings and critical findings are right (precision)',
        recall: 'of the clear causes are named (recall)', first: 'of the clear causes are named before everything else',
        symptom: 'of the clear causes are named or show as a symptom', weak: 'of the weak causes are named',
        accused: 'of the sound jobs are accused of something',
    };
    console.log('| share | of | what |\n|---|---|---|');
    for (const [key, [part, whole]] of Object.entries(summary(all))) console.log(`| ${share(part, whole)} | ${whole} | ${said[key]} |`);

    console.log('\n| cause | clear | named | first | weak | named |\n|---|---|---|---|---|---|');
    for (const name of accepted.keys()) {
        const own = all.flatMap(job => job.causes).filter(cause => cause.name === name);
        const of = (band, test = () => true) => own.filter(cause => cause.band === band && test(cause)).length;
        console.log(`| ${name} | ${of('clear')} | ${of('clear', c => c.named)} | ${of('clear', c => c.first)} | ${of('weak')} | ${of('weak', c => c.named)} |`);
    }

    console.log('\n| rule | right | wrong |\n|---|---|---|');
    const accusations = all.flatMap(job => job.accusations);
    const ids = [...new Set(accusations.map(one => one.id))].sort();
    for (const id of ids) {
        const own = accusations.filter(one => one.id === id);
        console.log(`| ${id} | ${own.filter(one => one.right).length} | ${own.filter(one => !one.right).length} |`);
    }
    const asked = new Set(all.flatMap(job => [...job.report.evaluated, ...job.report.skipped.map(one => one.id)]));
    const fired = new Set(all.flatMap(job => job.report.findings.map(one => one.id)));
    console.log(`\nRules that never fired: ${[...asked].filter(id => !fired.has(id)).sort().join(', ') || 'none'}.`);
}

function printMistakes(all) {
    for (const job of all) {
        const wrong = job.accusations.filter(one => !one.right).map(one => one.id);
        const missed = job.causes.filter(cause => cause.band === 'clear' && !cause.named).map(cause => cause.name);
        if (wrong.length > 0 || missed.length > 0)
            console.log([job.id, `wrong: ${wrong.join(' ') || '-'}`, `missed: ${missed.join(' ') || '-'}`,
                         `found: ${job.report.findings.map(one => one.id).join(' ')}`, job.truth, job.confounders].join('\t'));
    }
}

const all = jobs();
await ask(all);
checkAccepted(accepted, all.map(job => job.report));
all.forEach(judge);
print(all);
if (process.argv.includes('--mistakes')) printMistakes(all);
