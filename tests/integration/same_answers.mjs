// What score, findings and report say of records that an earlier version wrote, beside what that version said:
//   same_answers.mjs BELAY VERSION_DIRECTORY [--list]
// VERSION_DIRECTORY holds records.tar.zst (records/NAME, answers/NAME/COMMAND.json) and differences.tsv: record, command, path in
// the JSON, old, new, why. A difference that is not listed there, or is listed and does not occur, fails. --list prints
// all differences in that form, without their reasons.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, existsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

const [belay, version, mode] = process.argv.slice(2);
const kDigits = 1e-9; // sums may be made in another order

function areClose(a, b) {
    return typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= kDigits * Math.max(Math.abs(a), Math.abs(b));
}

function* differences(before, after, path = '') {
    if (before === after || areClose(before, after)) return;
    const both = [before, after];
    if (both.every(Array.isArray) && before.length === after.length) {
        for (let i = 0; i < before.length; ++i) yield* differences(before[i], after[i], `${path}[${i}]`);
    } else if (both.every(it => it !== null && typeof it === 'object' && !Array.isArray(it))) {
        for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
            yield* differences(before[key], after[key], path === '' ? key : `${path}.${key}`);
    } else {
        yield [path, JSON.stringify(before) ?? 'absent', JSON.stringify(after) ?? 'absent'];
    }
}

// Whether a listed value is the one that was found; both as JSON.
function isSame(listed, found) {
    if (listed === found) return true;
    if (listed === undefined || listed === 'absent' || found === 'absent') return false;
    return areClose(JSON.parse(listed), JSON.parse(found));
}

// What became of each rule, and what it found, by its id. A rule that the earlier version did not have is not a difference; that it
// finds something is one.
function byRule(report) {
    const rules = Object.fromEntries(report.evaluated.map(id => [id, 'evaluated']));
    for (const { id, why } of report.skipped) rules[id] = `skipped: ${why}`;
    const { evaluated, skipped, findings, ...rest } = report;
    const found = Object.fromEntries(findings.map(finding => [finding.id, finding]));
    return { ...rest, rules, found, order: findings.map(finding => finding.id).join(' ') };
}

function comparable(command, before, after) {
    if (command !== 'findings') return [before, after];
    const [old, now] = [byRule(before), byRule(after)];
    for (const id of Object.keys(now.rules)) if (!(id in old.rules)) delete now.rules[id];
    for (const id of Object.keys(now.found)) if (!(id in old.found)) delete now.found[id]; // order tells it
    return [old, now];
}

// Gives each question its answer, as many at once as there are processors.
async function ask(questions) {
    const open = questions.values();
    const asker = async () => {
        for (const question of open) question.answer = JSON.parse(await answerOf(question));
    };
    await Promise.all(cpus().map(asker));
}

function answerOf({ name, command }) {
    const options = { encoding: 'utf8', maxBuffer: 1 << 28, env: { ...process.env, BELAY_CONFIG_DIR: '/nonexistent' } };
    return new Promise((resolve, reject) => {
        const child = execFile(belay, [command, '--json', join(directory, 'records', name)], options, (error, stdout, stderr) => {
            const ended = child.exitCode ?? error?.message;
            if (ended === 0 || ended === 1) resolve(stdout); // 1: something was found
            else reject(new Error(`belay ${command} of ${name} ended with ${ended}: ${stderr}`));
        });
    });
}

const directory = mkdtempSync(join(tmpdir(), 'belay-'));
let failed = 0;
try {
    execFileSync('tar', ['--zstd', '-xf', join(version, 'records.tar.zst'), '-C', directory]);
    const list = join(version, 'differences.tsv');
    const known = new Map();
    if (existsSync(list))
        for (const line of readFileSync(list, 'utf8').split('\n').filter(it => it !== '' && !it.startsWith('#'))) {
            const cells = line.split('\t');
            if (cells.length !== 6 || cells[5] === '') throw new Error(`${list}: "${line}" does not have six columns`);
            known.set(cells.slice(0, 4).join('\t'), cells[4]);
        }
    const names = readdirSync(join(directory, 'records')).sort();
    const questions = names.flatMap(name => ['score', 'findings', 'report'].map(command => ({ name, command })));
    await ask(questions);
    for (const { name, command, answer } of questions) {
        const before = JSON.parse(readFileSync(join(directory, 'answers', name, `${command}.json`), 'utf8'));
        for (const [path, old, now] of differences(...comparable(command, before, answer))) {
            const line = [name, command, path, old].join('\t');
            if (mode === '--list') console.log(`${line}\t${now}`);
            else if (!isSame(known.get(line), now)) {
                ++failed;
                console.log(`FAILED: not explained: ${line}\t${now}`);
            }
            known.delete(line);
        }
    }
    if (mode !== '--list') {
        for (const line of known.keys()) {
            ++failed;
            console.log(`FAILED: listed, but it does not differ so: ${line}`);
        }
        console.log(`${questions.length} answers about ${names.length} records were compared; ${failed} unexplained differences`);
    }
} finally {
    rmSync(directory, { recursive: true, force: true });
}
process.exit(failed > 0 ? 1 : 0);
