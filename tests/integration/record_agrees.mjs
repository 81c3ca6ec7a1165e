// The record agrees with /proc: while a load runs under the recorder, this program reads the same files of /proc five times
// as often. Then it reads the sealed Parquet files with DuckDB's own package for Node.js, which shares no code with Belay,
// and compares: a counter of the record lies between its values before and after; a constant is the same.
//
//   node record_agrees.mjs BELAY WORKING_DIRECTORY

import assert from 'node:assert/strict';
import {spawn, execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [belay, directory] = process.argv.slice(2);
const require = createRequire(new URL('../../packages/npm/check/package.json', import.meta.url));
const {DuckDBInstance} = require('@duckdb/node-api');
const record = path.join(directory, 'record');

const kTicksPerSecond = Number(execFileSync('getconf', ['CLK_TCK']));
const kPageBytes = Number(execFileSync('getconf', ['PAGESIZE']));

const lines = file => readFileSync(file, 'utf8').trim().split('\n').map(line => line.trim().split(/\s+/));

// Each source: the counters of one look at /proc, by a key that names table, thing and column.
const sources = [
  function host() {
    const counters = {};
    const stat = Object.fromEntries(lines('/proc/stat').map(words => [words[0], words.slice(1).map(Number)]));
    const [user, nice, system, idle, , irq, softirq, steal] = stat.cpu.map(ticks => ticks / kTicksPerSecond);
    counters['host||cpu_user_seconds_total'] = user + nice;
    counters['host||cpu_system_seconds_total'] = system;
    counters['host||cpu_idle_seconds_total'] = idle;
    counters['host||cpu_irq_seconds_total'] = irq + softirq;
    counters['host||cpu_steal_seconds_total'] = steal;
    counters['host||context_switches_total'] = stat.ctxt[0];
    counters['host||interrupts_total'] = stat.intr[0];
    counters['host||forks_total'] = stat.processes[0];
    const events = Object.fromEntries(lines('/proc/vmstat').map(([key, value]) => [key, Number(value)]));
    counters['host||page_faults_major_total'] = events.pgmajfault;
    counters['host||oom_kills_total'] = events.oom_kill;
    for (const resource of existsSync('/proc/pressure') ? ['cpu', 'memory', 'io'] : [])
      counters[`host||pressure_${resource}_some_seconds_total`] =
        Number(readFileSync(`/proc/pressure/${resource}`, 'utf8').match(/^some.*total=(\d+)/)[1]) / 1e6;
    const memory = Object.fromEntries(lines('/proc/meminfo').map(([key, value]) => [key, 1024 * Number(value)]));
    counters['host||memory_total_bytes'] = memory['MemTotal:'];
    counters['host||swap_total_bytes'] = memory['SwapTotal:'];
    return counters;
  },
  function network() {
    const counters = {};
    for (const line of readFileSync('/proc/net/dev', 'utf8').trim().split('\n').slice(2)) {
      const [device, rest] = line.split(':');
      const words = rest.trim().split(/\s+/).map(Number);
      const key = `network|${device.trim()}|`;
      counters[key + 'receive_bytes_total'] = words[0];
      counters[key + 'receive_packets_total'] = words[1];
      counters[key + 'transmit_bytes_total'] = words[8];
      counters[key + 'transmit_packets_total'] = words[9];
    }
    return counters;
  },
  function disks() {
    const counters = {};
    for (const [, , disk, reads, , sectorsRead, , writes, , sectorsWritten] of lines('/proc/diskstats')) {
      counters[`filesystem|${disk}|reads_total`] = Number(reads);
      counters[`filesystem|${disk}|read_bytes_total`] = 512 * Number(sectorsRead);
      counters[`filesystem|${disk}|writes_total`] = Number(writes);
      counters[`filesystem|${disk}|written_bytes_total`] = 512 * Number(sectorsWritten);
    }
    return counters;
  },
  function load() {
    const counters = {};
    try {
      const stat = readFileSync(`/proc/${loadPid()}/stat`, 'utf8');
      const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ').map(Number);
      const io = Object.fromEntries(lines(`/proc/${loadPid()}/io`).map(([key, value]) => [key, Number(value)]));
      const key = `process|${loadPid()}|`;
      counters[key + 'cpu_user_seconds_total'] = words[11] / kTicksPerSecond;
      counters[key + 'cpu_system_seconds_total'] = words[12] / kTicksPerSecond;
      counters[key + 'written_characters_total'] = io['wchar:'];
      counters[key + 'read_characters_total'] = io['rchar:'];
      counters[key + 'page_faults_major_total'] = words[9];
    } catch {
      // not started yet, or over
    }
    return counters;
  },
];

// The load computes, writes and sends over the loopback interface; it says its process id first.
const kLoad = `
  echo $BASHPID >"$1/pid"
  for i in $(seq 40); do
    head -c 3000000 /dev/zero >"$1/file"; sync "$1/file"
    for ((j = 0; j < 20000; j++)); do :; done
    sleep 0.1
  done`;
const loadPid = () => readFileSync(path.join(directory, 'pid'), 'utf8').trim();

const looks = [];
function look() {
  const before = Date.now() / 1000;
  const counters = Object.assign({}, ...sources.map(source => source()));
  looks.push({before, after: Date.now() / 1000, counters});
}
const timer = setInterval(look, 100);
look();
const job = spawn(belay, ['record', 'run', '-o', record, '--interval', '500ms', '--', 'bash', '-c', kLoad, 'load', directory],
  {stdio: 'inherit'});
const status = await new Promise(resolve => job.on('exit', resolve));
look();
clearInterval(timer);
assert.equal(status, 0, 'the load ends well');
execFileSync(belay, ['record', 'seal', record]);

const connection = await (await DuckDBInstance.create()).connect();
const rows = async table =>
  (await connection.runAndReadAll(
    `SELECT *, epoch_us(time) / 1e6 AS seconds FROM read_parquet('${record}/tables/${table}.parquet')`)).getRowObjects();

const kTick = 1 / kTicksPerSecond + 1e-9;  // values in seconds are rounded to a clock tick on both sides
let compared = 0;
const seen = new Set();
for (const [table, nameOf] of [['host', () => ''], ['network', row => row.device],
  ['filesystem', row => row.kind === 'disk' ? row.name : null], ['process', row => String(row.pid)]]) {
  for (const row of await rows(table)) {
    const name = nameOf(row);
    for (const column of Object.keys(row)) {
      const key = `${table}|${name}|${column}`;
      const earlier = looks.findLast(({after, counters}) => after < row.seconds && key in counters);
      const later = looks.find(({before, counters}) => before > row.seconds + 0.02 && key in counters);
      if (!earlier || !later || row[column] === null) continue;
      const value = Number(row[column]);
      const slack = column.includes('_seconds_') ? kTick : 0;
      assert.ok(value >= earlier.counters[key] - slack && value <= later.counters[key] + slack,
        `${key} at ${row.seconds}: ${earlier.counters[key]} <= ${value} <= ${later.counters[key]}`);
      compared += 1;
      seen.add(`${table}.${column}`);
    }
  }
}
console.log(`${compared} values of ${seen.size} columns lie between those of /proc before and after`);
for (const column of ['host.cpu_user_seconds_total', 'host.memory_total_bytes', 'host.context_switches_total',
  'network.receive_bytes_total', 'filesystem.written_bytes_total', 'process.cpu_user_seconds_total',
  'process.written_characters_total'])
  assert.ok(seen.has(column), `${column} was compared`);
assert.ok(compared > 300, 'enough was compared');

// What the load did is in its own row.
const [own] = (await connection.runAndReadAll(
  `SELECT max(resident_bytes) AS resident, max(cpu_user_seconds_total + cpu_system_seconds_total) AS cpu
   FROM read_parquet('${record}/tables/process.parquet') WHERE pid = ${loadPid()}`)).getRowObjects();
assert.ok(Number(own.resident) >= kPageBytes && Number(own.cpu) > 0.1, 'the load used memory and CPU');
const meta = (await connection.runAndReadAll(
  `SELECT value::VARCHAR AS text FROM parquet_kv_metadata('${record}/tables/host.parquet') WHERE key = 'belay'`)).getRowObjects();
assert.ok(meta.length === 1 && meta[0].text.includes('memory_total_bytes'), 'the file explains its columns');
