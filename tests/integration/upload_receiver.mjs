// Acts as belayd's POST /api/v1/blocks: node upload_receiver.mjs DIR PORT [KEY CERTIFICATE]. Prints its port; with 0 it takes a free
// one. In DIR, the file "token" holds the token that is accepted, and "fault" what to do with each request:
//   ok                  store it and say so
//   later STATUS N      that status, with Retry-After: N
//   hang                no answer
//   drop PERCENT        as often the connection breaks, before or after the piece was stored
//   refuse N            422 for a piece that holds block N
//   other               409: another writer uses the stream's name
// Each request is a line of DIR/log: status, new blocks, known blocks. Each block that was stored is a line of DIR/blocks, in the
// order in which they came: stream, number, checksum. Started again, it knows what stands there.
//
// node upload_receiver.mjs --compare SPOOL DIR: whether each block of the spool was stored, once, as it stands there, and those of
// a stream in the order of their numbers. Prints "all N blocks of M streams", or what is wrong.
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import path from "node:path";

const fileHeaderBytes = 16;
const blockHeaderBytes = 32;
const blockMagic = 0x4b4c4242;
const sessionBlock = 1;
const zstd = 1;

function encode(name) {
    return [...Buffer.from(name)]
        .map((byte) => (/[A-Za-z0-9._-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte)
            : "%" + byte.toString(16).toUpperCase().padStart(2, "0")))
        .join("");
}

const sessions = new Map(); // bytes of a session block -> what it says
function readSession(payload, compression) {
    const key = payload.toString("latin1");
    if (!sessions.has(key)) {
        const plain = compression === zstd ? spawnSync("zstd", ["-dcq"], { input: payload }).stdout : payload;
        const text = plain.toString("utf8");
        const json = JSON.parse(text);
        const began = /"began":(-?\d+)/.exec(text)[1]; // nanoseconds: more digits than a number of JavaScript has
        const stream = ["1", ...[json.cluster, json.node, json.boot, json.source].map(encode), began].join("/");
        sessions.set(key, { stream, first: json.first_block });
    }
    return sessions.get(key);
}

// The whole blocks of a segment that is not damaged, without its session: { stream, blocks: [{ number, sum }] }.
function readSegment(bytes) {
    if (bytes.subarray(0, 8).toString("latin1") !== "BELAYSEG") throw new Error("no segment");
    let session;
    const blocks = [];
    for (let at = fileHeaderBytes; at + blockHeaderBytes <= bytes.length;) {
        if (bytes.readUInt32LE(at) !== blockMagic) throw new Error(`no block at byte ${at}`);
        const kind = bytes.readUInt8(at + 4), compression = bytes.readUInt8(at + 5);
        const size = bytes.readUInt32LE(at + 12), sequence = bytes.readUInt32LE(at + 20);
        const end = at + blockHeaderBytes + size;
        if (end > bytes.length) break;
        if (kind === sessionBlock) session = readSession(bytes.subarray(at + blockHeaderBytes, end), compression);
        else blocks.push({ number: session.first + sequence, sum: bytes.readUInt32LE(at + 24) });
        at = end;
    }
    return { stream: session?.stream, blocks };
}

function readStored(directory) {
    const file = path.join(directory, "blocks");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
    return lines.map((line) => {
        const [stream, number, sum] = line.split(" ");
        return { stream, number: Number(number), sum: Number(sum) };
    });
}

function compare(spool, directory) {
    const stored = new Map();
    const last = new Map();
    for (const { stream, number, sum } of readStored(directory)) {
        const key = `${stream} ${number}`;
        if (stored.has(key)) return `${key} was stored twice`;
        if (number <= (last.get(stream) ?? -1)) return `${key} came after ${last.get(stream)}`;
        stored.set(key, sum);
        last.set(stream, number);
    }
    let count = 0;
    const streams = new Set();
    for (const name of readdirSync(spool).filter((one) => one.endsWith(".seg")).sort()) {
        const { stream, blocks } = readSegment(readFileSync(path.join(spool, name)));
        for (const { number, sum } of blocks) {
            const key = `${stream} ${number}`;
            if (!stored.has(key)) return `${key} of ${name} did not arrive`;
            if (stored.get(key) !== sum) return `${key} arrived with other bytes`;
            count += 1;
            streams.add(stream);
        }
    }
    return `all ${count} blocks of ${streams.size} streams`;
}

function serve(directory, port, tls) {
    const streams = new Map(); // stream -> { blocks: number -> checksum, next }
    const entry = (stream) => streams.get(stream) ?? streams.set(stream, { blocks: new Map(), next: 0 }).get(stream);
    const note = ({ blocks }, owner, number, sum) => {
        blocks.set(number, sum);
        owner.next = Math.max(owner.next, number + 1);
    };
    for (const { stream, number, sum } of readStored(directory)) note(entry(stream), entry(stream), number, sum);

    let seed = 1; // the same breaks each time
    const chance = (percent) => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return seed / 2147483648 < percent / 100;
    };
    const log = (status, added = 0, known = 0) => appendFileSync(path.join(directory, "log"), `${status} ${added} ${known}\n`);

    function store({ stream, blocks }) {
        const owner = entry(stream);
        const fresh = blocks.filter(({ number }) => !owner.blocks.has(number));
        appendFileSync(path.join(directory, "blocks"), fresh.map(({ number, sum }) => `${stream} ${number} ${sum}\n`).join(""));
        for (const { number, sum } of fresh) note(owner, owner, number, sum);
        return {
            next_block: owner.next,
            new_blocks: fresh.length,
            known_blocks: blocks.length - fresh.length,
            stream: `${stream}/${owner.next}`,
        };
    }

    function take(request, answer, body) {
        const say = (status, value, headers = {}) => {
            log(status, value.new_blocks, value.known_blocks);
            answer.writeHead(status, { "content-type": "application/json", ...headers });
            answer.end(JSON.stringify(value));
        };
        const token = readFileSync(path.join(directory, "token"), "utf8").trim();
        if (request.headers.authorization !== `Bearer ${token}`) return say(401, { error: "unknown token" });
        if (request.method !== "POST" || request.url !== "/api/v1/blocks") return say(404, { error: "nothing here" });
        const [fault, first, second] = readFileSync(path.join(directory, "fault"), "utf8").trim().split(" ");
        if (fault === "hang") return log("hang");
        if (fault === "later") return say(Number(first), { error: "not now" }, { "retry-after": second });
        if (fault === "other") return say(409, { error: "another writer" });
        if (fault === "drop" && chance(Number(first))) {
            log("drop");
            return answer.destroy();
        }
        let piece;
        try {
            piece = readSegment(body);
        } catch (error) {
            return say(400, { error: error.message });
        }
        if (fault === "refuse" && piece.blocks.some(({ number }) => number === Number(first))) return say(422, { error: "that block" });
        const stored = store(piece);
        if (fault === "drop" && chance(Number(first))) {
            log("drop", stored.new_blocks, stored.known_blocks);
            return answer.destroy();
        }
        return say(200, stored);
    }

    const onRequest = (request, answer) => {
        const parts = [];
        request.on("data", (part) => parts.push(part));
        request.on("end", () => take(request, answer, Buffer.concat(parts)));
    };
    const server = tls ? https.createServer({ key: readFileSync(tls[0]), cert: readFileSync(tls[1]) }, onRequest)
        : http.createServer(onRequest);
    server.listen(port, "127.0.0.1", () => console.log(server.address().port));
}

const [first, second, ...more] = process.argv.slice(2);
if (first === "--compare") console.log(compare(second, more[0]));
else serve(first, Number(second), more.length === 2 ? more : undefined);
