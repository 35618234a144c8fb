#!/usr/bin/env node
// The second part of `make bench-ui`: measures an operation over 10,000 targets and an ingest plan of 100,000 batches in
// Chromium, against a server with the bundled mocks, and writes the 95th percentile beside each budget into
// docs/benchmarks.md. TARGETS and BATCHES change the sizes, REPEATS how often each is measured, WINDROW names the binary;
// `--out FILE` writes elsewhere.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Browser } from './chromium.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const WINDROW = process.env.WINDROW ?? join(ROOT, 'target/release/windrow')
const TARGETS = Number(process.env.TARGETS ?? 10_000)
const BATCHES = Number(process.env.BATCHES ?? 100_000)
const SLICES = 100
// Batches of a slice that are drawn at once.
const SHOWN = Math.min(200, Math.ceil(BATCHES / SLICES))
const REPEATS = Number(process.env.REPEATS ?? 10)
const OUT = process.argv.includes('--out') ? process.argv[process.argv.indexOf('--out') + 1] : join(ROOT, 'docs/benchmarks.md')
const TITLE = '## Operations and ingest in the web UI'
const BUILD = WINDROW.includes('/release/') ? '' : ' Measured with an unoptimised build.'
const WORK = mkdtempSync(join(tmpdir(), 'windrow-bench-admin-'))
const started = []

// Each figure with its budget in milliseconds: that of the results of an experiment with as many rows.
const OPERATION = {
  first: ['first 200 targets, answer of the server', 80],
  shown: ['first rows after opening the page, with all scripts', undefined],
  counter: ['failed targets by a click on their counter', 120],
  search: ['text filter', 150],
  jump: ['jump to the middle of the table', 80],
  drawer: ['open a target with its difference', 120],
  key: ['key press to visible response', 50],
}
const INGEST = {
  first: ['slices with attempts and batches, answer of the server', 120],
  shown: ['lineage after opening the page, with all scripts', undefined],
  slice: ['choose another slice: its newest 200 batches', 120],
  batch: ['choose another batch', 120],
  key: ['key press to visible response', 50],
}

function start(...args) {
  const child = spawn(WINDROW, args, { cwd: WORK, stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, WINDROW_DATA: join(WORK, 'data') } })
  started.push(child)
  return new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(String(line).split('\n')[0].trim()))
    child.once('exit', () => reject(new Error(`windrow ${args.join(' ')} ended`)))
  })
}

async function run(url, job, file) {
  const response = await fetch(`${url}/api/v1/jobs`, { method: 'POST', body: file, headers: { 'Content-Type': 'text/yaml' } })
  if (!response.ok) throw new Error(await response.text())
  for (;;) {
    const { latest_run: latest } = await (await fetch(`${url}/api/v1/jobs/${job}`)).json()
    if (latest.ended_at != null && latest.items.succeeded === 0) throw new Error(`${job} ended with ${latest.status}`)
    if (latest.ended_at != null) return latest
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

async function operation(url) {
  const connect = (await start('mock', 'connect', '--connectors', String(TARGETS), '--broken', '1%', '--port', '0')).replace(/\/east$/, '')
  const wave = Math.ceil(TARGETS / 20)
  const file = `kind: operation\nname: many-targets\ntargets: { select: "orders-*" }\naction:\n  kafka-connect:\n    url: ${connect}/east\n    do: change_config\n    set: { tasks.max: "2" }\nstrategy: { canary: 10, wave: ${wave} }\nconcurrency: 64\n`
  return (await run(url, 'many-targets', file)).items
}

async function ingest(url) {
  const source = await start('mock', 'source', '--records', String(BATCHES), '--page-size', '1', '--port', '0')
  const file = `kind: ingest\nname: many-batches\nsource:\n  rest:\n    url: ${source.replace(/(\/records)?$/, '/records')}\n    params: { from: "{{ slice.from }}", to: "{{ slice.to }}", limit: 1 }\n    records: $.records\n    pagination: { token: { param: page_token, next: $.next } }\nslices: { keys: { from: 1, to: ${BATCHES + 1}, every: ${Math.ceil(BATCHES / SLICES)} } }\nkey: id\nconcurrency: 16\ndestination:\n  sqlite: { path: many.db }\n`
  return (await run(url, 'many-batches', file)).items
}

// In the page: milliseconds from an action until something is seen, by frames.
const HELPERS = `window.until = (done) => new Promise((resolve, reject) => { const begun = performance.now(); const look = () => { if (done()) resolve(performance.now() - begun); else if (performance.now() - begun > 60000) reject(new Error('waited in vain: ' + done)); else requestAnimationFrame(look) }; look() })
window.measure = async (act, done) => { const begun = performance.now(); await act(); await until(done); return performance.now() - begun }
window.rows = () => [...document.querySelectorAll('[role=grid][aria-label=Targets] .body [role=row]')]
window.matches = () => document.querySelector('.matches')?.innerText ?? ''
window.type = (text) => { const input = document.querySelector('[aria-label="Filter targets"]'); input.focus(); input.value = text; input.dispatchEvent(new InputEvent('input', { bubbles: true })); input.blur() }
window.press = (key) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
window.links = (title) => [...document.querySelectorAll('section[aria-label=' + title + '] a')]
window.answer = (part) => performance.getEntriesByType('resource').find((entry) => entry.name.includes(part)).duration
undefined`

async function opened(browser, url, path, seen) {
  await browser.call('Page.navigate', { url: 'about:blank' })
  await browser.call('Page.navigate', { url: `${url}${path}` })
  await browser.until(`location.pathname + location.search === ${JSON.stringify(path)} && document.readyState === 'complete'`, path)
  await browser.evaluate(HELPERS)
  // Counted from the start of the navigation.
  return browser.evaluate(`until(() => ${seen}).then(() => performance.now())`)
}

async function measured(browser, budgets, once) {
  const figures = Object.fromEntries(Object.keys(budgets).map((key) => [key, []]))
  const take = async (key, expression) => figures[key].push(await browser.evaluate(expression))
  let [memory, dom] = [0, 0]
  for (let n = 0; n < REPEATS; n++) {
    await once(take, figures, n)
    dom = Math.max(dom, await browser.evaluate(`document.querySelectorAll('[role=row], section li').length`))
    memory = Math.max(memory, await browser.evaluate('performance.memory.usedJSHeapSize / 1e6'))
  }
  return { figures, memory, dom }
}

const ofOperation = (browser, url) =>
  measured(browser, OPERATION, async (take, figures, n) => {
    figures.shown.push(await opened(browser, url, '/jobs/many-targets', 'rows().length > 5'))
    await take('first', `answer('/targets')`)
    await browser.evaluate(`until(() => matches().endsWith('of ${TARGETS.toLocaleString('en')}'))`)
    await take('counter', `measure(() => { window.before = matches(); document.querySelector('.tools a[href*="state=failed"]').click() }, () => matches() !== before)`)
    await browser.evaluate(`measure(() => [...document.querySelectorAll('button')].find((button) => button.innerText === 'All targets').click(), () => matches().startsWith('${TARGETS.toLocaleString('en')}'))`)
    await take('search', `measure(() => { window.before = matches(); type('orders-${String(n).padStart(2, '0')}') }, () => matches() !== before)`)
    await browser.evaluate(`measure(() => type(''), () => matches().startsWith('${TARGETS.toLocaleString('en')}'))`)
    await take('jump', `measure(() => scrollTo(0, document.documentElement.scrollHeight * ${(n + 1) / (REPEATS + 2)}), () => rows().filter((row) => { const { top } = row.getBoundingClientRect(); return top > 120 && top < innerHeight - 40 }).length > 10)`)
    await take('drawer', `measure(() => rows()[12].click(), () => document.querySelector('.drawer .diff'))`)
    await take('key', `measure(() => { window.before = document.querySelector('.row.open').getAttribute('aria-rowindex'); press('j') }, () => (document.querySelector('.row.open')?.getAttribute('aria-rowindex') ?? before) !== before)`)
  })

const ofIngest = (browser, url) =>
  measured(browser, INGEST, async (take, figures, n) => {
    figures.shown.push(await opened(browser, url, '/jobs/many-batches', `links('Slices').length > 5 && links('Batches').length > 5`))
    await take('first', `answer('/lineage?limit')`)
    await browser.evaluate(`until(() => links('Batches').length >= ${SHOWN})`)
    await take('slice', `measure(() => { window.before = document.querySelector('.batch code').innerText; links('Slices')[${3 * n + 5}].click() }, () => links('Batches').length >= ${SHOWN} && document.querySelector('.batch code').innerText !== before)`)
    await take('batch', `measure(() => { window.before = document.querySelector('.batch code').innerText; links('Batches')[${n + 3}].click() }, () => document.querySelector('.batch code').innerText !== before)`)
    await take('key', `measure(() => { links('Batches')[${n + 3}].focus(); window.before = document.activeElement; press('j') }, () => document.activeElement !== before)`)
  })

const p95 = (values) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * 0.95) - 1)]
const cell = (value) => (value < 10 ? value.toFixed(1) : String(Math.round(value)))

function table(head, budgets, { figures, memory, dom }, megabytes) {
  const lines = Object.entries(budgets).map(([key, [what, budget]]) => `| ${what} | ${cell(p95(figures[key]))} | ${budget ?? '–'} |`)
  return [`| ${head} | p95 | budget |`, '|---|---:|---:|', ...lines, `| memory of the tab's scripts, MB | ${cell(memory)} | ${megabytes} |`, `| rows in the page | ${dom} | – |`].join('\n')
}

try {
  const url = await start('serve', '--listen', '127.0.0.1:0')
  const [targets, slices] = [await operation(url), await ingest(url)]
  const browser = new Browser()
  await browser.open()
  await browser.call('Emulation.setDeviceMetricsOverride', { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false })
  const tables = [
    table(`operation over ${targets.total.toLocaleString('en')} targets`, OPERATION, await ofOperation(browser, url), 120),
    table(`ingest plan of ${BATCHES.toLocaleString('en')} batches in ${slices.total} slices`, INGEST, await ofIngest(browser, url), 150),
  ]
  browser.close()
  const text = `${TITLE}\n\n\`make bench-ui\` writes this part: the pages of an operation and of an ingest job in Chromium, 1440 × 900, server and browser on the same machine. 95th percentile of ${REPEATS}, in milliseconds where no unit is named. The budgets are those of the results of an experiment.${BUILD}\n\n${tables.join('\n\n')}\n`
  const before = readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8')
  const others = before.split(/^(?=## )/m).filter((part) => !part.startsWith(TITLE))
  writeFileSync(OUT, OUT.endsWith('benchmarks.md') ? `${others.join('').trimEnd()}\n\n${text}` : text)
  console.log(text)
} finally {
  for (const child of started) child.kill()
  setTimeout(() => rmSync(WORK, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }), 500)
}
