#!/usr/bin/env node
// Runs the binary of this platform's package, with this process's arguments and terminal.
"use strict";
const { spawnSync } = require("node:child_process");

const musl =
  process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const name = `@npm@-${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
let binary;
try {
  binary = require.resolve(`${name}/tome`);
} catch {
  console.error(`tome: ${name} is not installed; either this platform has no binary, or npm left`);
  console.error("out optional packages: install without --omit=optional, or build from the source");
  process.exit(2);
}
const result = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
if (result.error) {
  console.error(`tome: ${binary}: ${result.error.message}`);
  process.exit(2);
}
if (result.signal) process.kill(process.pid, result.signal);
process.exit(result.status);
