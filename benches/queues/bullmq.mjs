// BullMQ on Redis: no-op jobs, added in bulk; measured from the first add to the last completion.
import { Queue, Worker } from "bullmq";

const [url, count] = [process.argv[2], Number(process.argv[3])];
const { hostname: host, port } = new URL(url);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue("windrow-bench", { connection });
await queue.obliterate({ force: true });

let done = 0;
const began = performance.now();
const finished = new Promise((resolve) => {
  const worker = new Worker("windrow-bench", async () => {}, { connection, concurrency: 200, removeOnComplete: { count: 0 } });
  worker.on("completed", () => { if (++done === count) resolve(worker); });
});
const PAGE = 5000;
for (let from = 0; from < count; from += PAGE) {
  const jobs = Array.from({ length: Math.min(PAGE, count - from) }, (_, n) => ({ name: "noop", data: { n: from + n } }));
  await queue.addBulk(jobs);
}
const worker = await finished;
const seconds = (performance.now() - began) / 1000;
await worker.close();
await queue.close();
console.log(JSON.stringify({ "bullmq.items_per_s": count / seconds }));
