// A proxy on loopback, as a process of its own: node proxy-process.mjs UPSTREAM_PORT [CREDENTIALS]
//
// Whatever name is asked for, the connection goes to UPSTREAM_PORT on this machine, so that names need not exist. Prints its port, then
// one JSON line for each request: {"method","target","authorized"}.
import { createServer, request } from "node:http";
import { connect } from "node:net";

const [upstream, credentials] = process.argv.slice(2);
const expected = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;

/** @param {import("node:http").IncomingMessage} asked */
function isAllowed(asked) {
  const authorized = expected === undefined || asked.headers["proxy-authorization"] === expected;
  process.stdout.write(`${JSON.stringify({ method: asked.method, target: asked.url, authorized })}\n`);
  return authorized;
}

const server = createServer((asked, response) => {
  if (!isAllowed(asked)) {
    response.writeHead(407).end();
    return;
  }
  const { pathname, search } = new URL(asked.url ?? "");
  const onward = request({ host: "127.0.0.1", port: Number(upstream), method: asked.method, path: pathname + search, headers: asked.headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  asked.pipe(onward);
});
server.on("connect", (asked, socket) => {
  socket.on("error", () => {});
  if (!isAllowed(asked)) {
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    return;
  }
  const onward = connect(Number(upstream), "127.0.0.1", () => {
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    onward.pipe(socket).pipe(onward);
  });
  onward.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address) process.stdout.write(`${address.port}\n`);
});
