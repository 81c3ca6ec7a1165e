// What `belay findings` says of the runs of tests/long/programs:  judge.mjs BELAY PROGRAMS RUNS
// PLAN.tsv says what is wrong with each program, accepted.tsv which rules name that and which only what is true beside it.
// A program counts as named if it was in every way in which it ran.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkAccepted, readAccepted, table } from '../accepted.mjs';

const [belay, programs, runs] = process.argv.slice(2);
const kWays = ['srun', 'alone'];
const kAims = [ // of the programs of PLAN.tsv
    ['faults named rightly first', 'least', 24], ['faults named or shown as a symptom', 'least', 28], ['healthy programs accused', 'most', 1]];

const rows = file => table(join(programs, file));
const accepted = readAccepted(join(programs, 'accepted.tsv'));
const reports = [];

function findings(record) {
    let text;
    try {
        text = execFileSync(belay, ['findings', record, '--json'], { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 });
    } catch (error) {
        if (error.status !== 1) throw error; // else there are findings
        text = error.stdout;
    }
    reports.push(JSON.parse(text));
    return reports.at(-1).findings;
}

// What was said of one run: right, symptom or nothing of a fault; sound or accused of a healthy program.
function judge(kind, rules, found) {
    const accusing = found.filter(one => one.severity !== 'info').map(one => one.id);
    if (kind !== 'fault') return accusing.length > 0 ? 'accused' : 'sound';
    const ids = found.map(one => one.id);
    if (rules.names.has(ids[0])) return 'first';
    if (ids.some(id => rules.names.has(id))) return 'named';
    return ids.some(id => rules.beside.has(id)) ? 'symptom' : 'nothing';
}

// Whether it did what the plan says: the fault happened, and the program ended as it must.
function ranAsPlanned(record, kind, wanted) {
    const read = file => existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
    const status = Number(read(`${record}.status`));
    const truth = read(`${record}.truth`).split('\n')[0];
    const begins = truth ? JSON.parse(truth).fault_begins_seconds : undefined;
    const signal = /signal (\d+)/.exec(wanted);
    const ended = wanted.startsWith('killed') ? status === 124 : status === (signal ? 128 + Number(signal[1]) : Number(wanted));
    return ended && (kind !== 'fault' || begins !== null);
}

const judged = ['PLAN.tsv', 'PLAN_EXTRA.tsv'].flatMap(file => rows(file).filter(([name]) => name !== 'program').map(([name, kind, , , fault, , , exit]) => {
    const ways = kWays.filter(way => existsSync(join(runs, way, `${name}.status`))).map(way => {
        const record = join(runs, way, name);
        const found = existsSync(record) ? findings(record) : [];
        const verdict = existsSync(record) && ranAsPlanned(record, kind, exit) ? judge(kind, accepted.get(name), found) : 'did not run as planned';
        return { way, ids: found.map(one => one.severity === 'info' ? `(${one.id})` : one.id), verdict };
    });
    return { name, kind, fault, ways, planned: file === 'PLAN.tsv' };
}));

checkAccepted(accepted, reports);

const all = (program, ...verdicts) => program.ways.length > 0 && program.ways.every(one => verdicts.includes(one.verdict));
const faults = judged.filter(program => program.planned && program.kind === 'fault');
const healthy = judged.filter(program => program.planned && program.kind !== 'fault');
const figures = [faults.filter(one => all(one, 'first')).length, faults.filter(one => all(one, 'first', 'named', 'symptom')).length,
                 healthy.filter(one => !all(one, 'sound')).length];
const verdicts = kAims.map(([what, side, limit], i) => {
    const met = side === 'least' ? figures[i] >= limit : figures[i] <= limit;
    return `| ${what} | at ${side} ${limit} | ${figures[i]} | ${met ? 'met' : 'missed'} |`;
});

console.log(`${faults.length} programs with a fault and ${healthy.length} without of \`tests/programs/cpu/PLAN.tsv\`, whose author had not read the rules, under \`srun\` on a`);
console.log('private real Slurm and, those of one task, under `belay record run` alone. A program counts where it was judged so in every way it ran. The');
console.log(`rules were changed after such runs had been judged, so the programs are known to the rules' author by now. Notes stand in brackets. The programs of \`PLAN_EXTRA.tsv\`, the last ones, are shown and not counted.\n`);
console.log('| aim | wanted | measured | verdict |\n|---|---|---|---|');
for (const verdict of verdicts) console.log(verdict);
console.log('\n| program | what is wrong | way | judged | findings |\n|---|---|---|---|---|');
for (const { name, kind, fault, ways } of judged)
    for (const { way, ids, verdict } of ways)
        console.log(`| ${name} | ${kind === 'fault' ? fault : 'nothing'} | ${way} | ${verdict} | ${ids.join(', ') || '–'} |`);
