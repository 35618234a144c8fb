// graphile-worker: no-op jobs, from an empty queue to an empty queue. `batched` is its best configuration: a local queue
// fetches and completes jobs in batches. `default` is the default configuration. The time includes adding the jobs, as for
// Windrow, with graphile-worker's bulk function. Further nodes are further processes.
import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { run, makeWorkerUtils } from "graphile-worker";

const [url, mode, count, nodes] = [process.argv[2], process.argv[3], Number(process.argv[4]), Number(process.argv[5] ?? 1)];
const isFurther = Boolean(process.send);
const pool = new pg.Pool({ connectionString: url, max: 100 });
pool.on("error", console.error);
const quiet = { error: console.error, warning: console.error, info() {}, debug() {} };
const { Logger } = await import("graphile-worker");
const logger = new Logger(() => (level, message) => quiet[level]?.(message));

const utils = await makeWorkerUtils({ pgPool: pool, logger });
if (!isFurther) {
  await utils.migrate();
  await pool.query("DELETE FROM graphile_worker._private_jobs");
}

const batched = {
  preset: { worker: { concurrentJobs: 24, localQueue: { size: 10000 }, completeJobBatchDelay: 1, failJobBatchDelay: 1 } },
};
let done = 0;
const began = performance.now();
const PAGE = 5000;
for (let from = 0; from < count && !isFurther; from += PAGE) {
  const specs = Array.from({ length: Math.min(PAGE, count - from) }, (_, n) => ({ identifier: "noop", payload: { n: from + n } }));
  await utils.addJobs(specs);
}
const added = performance.now();
const runner = await run({
  pgPool: pool,
  logger,
  noHandleSignals: true,
  ...(mode === "batched" ? batched : {}),
  taskList: { noop: async () => { done += 1; } },
});
if (isFurther) {
  await new Promise((over) => process.once("disconnect", over));
  await runner.stop();
  await utils.release();
  await pool.end();
  process.exit(0);
}
const others = Array.from({ length: nodes - 1 }, () => fork(import.meta.filename, process.argv.slice(2)));
while (nodes === 1 && done < count) await sleep(5);
// Finished when the queue is empty.
for (;;) {
  const left = (await pool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs")).rows[0].n;
  if (left === 0) break;
  await sleep(5);
}
const [seconds, without] = [began, added].map((from) => (performance.now() - from) / 1000);
others.forEach((other) => other.disconnect());
await runner.stop();
await utils.release();
await pool.end();
const name = `graphile_worker_${mode}${nodes === 1 ? "" : `_${nodes}_nodes`}.items_per_s`;
console.log(JSON.stringify({ [name]: count / seconds, [`${name}_without_adding`]: count / without }));
