// A proxy before a registry that spoils what passes: node fault_proxy.mjs REGISTRY FAULT LOG. Prints its own address. The
// file FAULT holds "KIND ARGUMENT..." and is read for each request, the file LOG gets a line for each.
//   pass              as it is
//   flip DIGEST       one byte of that blob is another
//   short DIGEST N    the blob has only N bytes
//   cut N TIMES       the connection breaks after N bytes of a blob, TIMES times
//   drop DIGEST       the connection breaks before a byte of that blob
//   busy TIMES        429 with Retry-After: 1, TIMES times
//   slow N            blobs come with N bytes a second
import { appendFileSync, readFileSync } from "node:fs";
import http from "node:http";

const [registry, faultFile, logFile] = process.argv.slice(2);
const [host, port] = registry.split(":");
const used = new Map();  // fault -> how often it was applied

function spend(fault, times) {
    const count = used.get(fault) ?? 0;
    used.set(fault, count + 1);
    return count < times;
}

async function sendSlowly(answer, body, rate) {
    const step = Math.max(1, Math.floor(rate / 50));
    for (let at = 0; at < body.length && !answer.destroyed; at += step) {
        answer.write(body.subarray(at, at + step));
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    answer.end();
}

function spoil(request, answer, source, body) {
    const fault = readFileSync(faultFile, "utf8").trim();
    const [kind, first, second] = fault.split(" ");
    const isBlob = request.url.includes("/blobs/");
    const isMeant = isBlob && request.url.endsWith(first);
    const headers = { ...source.headers };
    if (kind === "busy" && spend(fault, Number(first))) {
        answer.writeHead(429, { "retry-after": "1", "content-length": "0" });
        answer.end();
        return;
    }
    if (kind === "drop" && isMeant) {
        answer.destroy();
        return;
    }
    if (kind === "flip" && isMeant && body.length > 0) body[body.length >> 1] ^= 1;
    if (kind === "short" && isMeant) {
        body = body.subarray(0, Number(second));
        headers["content-length"] = String(body.length);
    }
    answer.writeHead(source.statusCode, headers);
    if (kind === "cut" && isBlob && body.length > Number(first) && spend(fault, Number(second))) {
        answer.write(body.subarray(0, Number(first)), () => answer.destroy());
    } else if (kind === "slow" && isBlob) {
        sendSlowly(answer, body, Number(first));
    } else {
        answer.end(body);
    }
}

const server = http.createServer((request, answer) => {
    appendFileSync(logFile, `${request.method} ${request.url} ${request.headers.range ?? "-"}\n`);
    const onwards = http.request({ host, port, method: request.method, path: request.url, headers: request.headers });
    onwards.on("error", () => answer.destroy());
    onwards.on("response", (source) => {
        const parts = [];
        source.on("data", (part) => parts.push(part));
        source.on("end", () => spoil(request, answer, source, Buffer.concat(parts)));
    });
    request.pipe(onwards);
});
server.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
