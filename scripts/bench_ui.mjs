#!/usr/bin/env node
// `make bench-ui`: measures the results of an experiment in Chromium against a server with generated jobs, and writes the
// 95th percentile beside each budget into docs/benchmarks.md. ROWS names the sizes (default: 10000,100000), REPEATS how
// often each is measured, WINDROW the binary; `--out FILE` writes elsewhere.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Browser } from './chromium.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const WINDROW = process.env.WINDROW ?? join(ROOT, 'target/release/windrow')
const SIZES = (process.env.ROWS ?? '10000,100000').split(',').map(Number)
const REPEATS = Number(process.env.REPEATS ?? 10)
const OUT = process.argv.includes('--out') ? process.argv[process.argv.indexOf('--out') + 1] : join(ROOT, 'docs/benchmarks.md')
const WORK = mkdtempSync(join(tmpdir(), 'windrow-bench-ui-'))
const LIVE_MS = 15_000
const started = []

// Each figure, with its budget at 10,000, at 100,000 and at 1,000,000 rows in milliseconds.
const BUDGETS = {
  opened: ['first page readable after opening the address that `serve` prints', 1000, 1000, 1000],
  shell: ['shell painted after opening the page', 300, 300, 300],
  header: ['header and score strip: the numbers of all rows', 50, 60, 100],
  rows: ['first rows, in the order of the dataset: question and page', 80, 120, 200],
  sorted: ['first rows, other order and a filter', 120, 250, 600],
  search: ['text search over the previews', 150, 500, 1500],
  jump: ['jump to any place of the table', 80, 100, 150],
  drawer: ['open an item', 120, 120, 150],
  paired: ['paired differences to a baseline, first time', 100, 400, 3000],
  paired_again: ['paired differences, again', 30, 50, 100],
  key: ['key press to visible response', 50, 50, 50],
  live: ['result of an item to its count on the screen, while a run is active', 1000, 1000, 1000],
}
const MEMORY_MB = [120, 150, 250]
/** Which budget a size has. */
const tier = (rows) => (rows <= 10_000 ? 0 : rows <= 100_000 ? 1 : 2)

function start(...args) {
  const process_ = spawn(WINDROW, args, { cwd: WORK, stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, OPENAI_API_KEY: 'sk-mock', WINDROW_DATA: join(WORK, 'data') } })
  started.push(process_)
  return new Promise((resolve, reject) => {
    process_.stdout.once('data', (line) => resolve(String(line).split('\n')[0].trim()))
    process_.once('exit', () => reject(new Error(`windrow ${args.join(' ')} ended`)))
  })
}

async function ask(url, method, path, body, type = 'application/json') {
  const response = await fetch(`${url}/api/v1${path}`, { method, body, headers: { 'Content-Type': type } })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response.json()
}

/** A job with two runs over this many rows: the second has a prompt that some answers get wrong. */
async function generate(url, model, rows) {
  const name = `sums-${rows}`
  const lines = Array.from({ length: rows }, (_, n) => JSON.stringify({ id: `sum-${n}`, question: `What is ${n % 97} + ${n % 89}?`, answer: String((n % 97) + (n % 89)), topic: ['rates', 'money', 'fractions'][n % 3] }))
  await ask(url, 'POST', `/datasets/${name}`, lines.join('\n') + '\n', 'application/x-ndjson')
  for (const prompt of ['{{ question }}', 'Carefully: {{ question }} Really, {{ topic }}?']) {
    const job = `kind: experiment\nname: ${name}\ndataset: { name: ${name} }\ntarget:\n  openai: { model: mock, base_url: "${model}", api_key: "\${env:OPENAI_API_KEY}" }\n  prompt: "${prompt}"\nevaluators:\n  - exact: { expect: "{{ answer }}" }\n  - levenshtein: { expect: "{{ answer }}", name: nearly }\nconcurrency: 64\n`
    await ask(url, 'POST', '/jobs', job, 'text/yaml')
    while ((await ask(url, 'GET', `/jobs/${name}`)).latest_run.ended_at == null) await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return name
}

/** A run beside the large job: how long after the end of an item the page counts it. */
async function lag(browser, url, slow, name) {
  const job = `kind: experiment\nname: live-${name}\ndataset: { name: ${name} }\ntarget:\n  openai: { model: mock, base_url: "${slow}", api_key: "\${env:OPENAI_API_KEY}" }\n  prompt: "{{ question }}"\nevaluators:\n  - exact: { expect: "{{ answer }}" }\nconcurrency: 2\n`
  await ask(url, 'POST', '/jobs', job, 'text/yaml')
  await browser.call('Page.navigate', { url: `${url}/jobs/live-${name}` })
  await browser.until(`/\\d+\\s*succeeded/.test(document.querySelector('.progress ul')?.textContent ?? '')`, 'the first result')
  await browser.evaluate(`(() => { window.shown = []; const look = () => { const count = Number(/([\\d,]+)\\s*succeeded/.exec(document.querySelector('.progress ul').textContent)?.[1].replaceAll(',', '') ?? 0); if (count !== shown[shown.length - 1]?.count) shown.push({ count, at: Date.now() }); requestAnimationFrame(look) }; look() })()`)
  await new Promise((resolve) => setTimeout(resolve, LIVE_MS))
  const seen = (await browser.evaluate('shown')).slice(1)
  await ask(url, 'POST', `/jobs/live-${name}/terminate`, '{}')
  const ended = (await ask(url, 'GET', `/jobs/live-${name}/items?state=succeeded&limit=1000`)).items.map((item) => Date.parse(item.finished_at)).sort((a, b) => a - b)
  return seen.filter(({ count }) => ended[count - 1]).map(({ count, at }) => at - ended[count - 1])
}

// In the page: milliseconds from an action until something is seen, by frames.
const HELPERS = `window.until = (done) => new Promise((resolve, reject) => { const begun = performance.now(); const look = () => { if (done()) resolve(performance.now() - begun); else if (performance.now() - begun > 60000) reject(new Error('waited in vain: ' + done)); else requestAnimationFrame(look) }; look() })
window.measure = async (act, done) => { const begun = performance.now(); await act(); await until(done); return performance.now() - begun }
window.rows = () => [...document.querySelectorAll('[role=grid] .body [role=row]:not([aria-busy])')]
window.shown = () => document.querySelector('.matches')?.innerText ?? ''
window.apply = (text) => { const input = document.querySelector('[aria-label="Filter items"]'); input.focus(); input.value = text; input.dispatchEvent(new InputEvent('input', { bubbles: true })); input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })); input.blur() }
undefined`

async function measured(browser, url, slow, name, total) {
  const figures = Object.fromEntries(Object.keys(BUDGETS).map((key) => [key, []]))
  const take = async (key, expression) => figures[key].push(await browser.evaluate(expression))
  const open = async (path) => {
    await browser.call('Page.navigate', { url: `${url}${path}` })
    await browser.until(`location.pathname + location.search === ${JSON.stringify(path)} && document.readyState === 'complete'`, path)
    await browser.evaluate(HELPERS)
  }
  const viewMs = `(() => { const all = performance.getEntriesByType('resource').filter((entry) => /\\/views$/.test(entry.name)); return all[all.length - 1].duration })()`
  let memory = 0
  let dom = 0
  for (let n = 0; n < REPEATS; n++) {
    await open('/')
    await browser.until(`document.querySelector('h1')?.innerText === 'Home' && document.querySelector('table')`, 'the first page')
    await take('opened', `Math.max(performance.getEntriesByName('first-contentful-paint')[0].startTime, ...performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/api/v1/jobs')).map((entry) => entry.responseEnd))`)
    await open('/about')
    await browser.until(`performance.getEntriesByName('first-contentful-paint').length > 0`, 'the first paint')
    await take('shell', `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
    await open(`/jobs/${name}?vs=none&sort=row`)
    await browser.until('window.rows?.().length > 5', 'rows')
    await take('rows', `(() => { const all = performance.getEntriesByType('resource'); const view = all.findLast((entry) => /\\/views$/.test(entry.name)); const page = all.find((entry) => entry.startTime >= view.startTime && /\\/rows\\?/.test(entry.name)); return page.responseEnd - view.startTime })()`)
    await take('header', `(async () => { const begun = performance.now(); await (await fetch('/api/v1/jobs/${name}/views', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).json(); return performance.now() - begun })()`)
    await take('sorted', `measure(() => { window.before = shown(); apply('outcome = ${n % 2 ? 'pass' : 'fail'}') }, () => shown() !== before)`)
    await take('search', `measure(() => { window.before = shown(); apply('text contains "${10 + n}"') }, () => shown() !== before)`)
    await browser.evaluate(`measure(() => apply(''), () => shown().startsWith(${JSON.stringify(total.toLocaleString('en'))}))`)
    await take('jump', `measure(() => scrollTo(0, document.documentElement.scrollHeight * ${(n + 1) / (REPEATS + 2)}), () => { const seen = rows().filter((row) => { const { top } = row.getBoundingClientRect(); return top > 120 && top < innerHeight - 40 }); return seen.length > 10 })`)
    await take('drawer', `measure(() => rows()[12].click(), () => document.querySelector('.drawer .sides, .drawer .content table'))`)
    await take('key', `measure(() => { window.before = document.querySelector('.row.open').getAttribute('aria-rowindex'); dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true })) }, () => (document.querySelector('.row.open')?.getAttribute('aria-rowindex') ?? before) !== before)`)
    dom = Math.max(dom, await browser.evaluate('rows().length'))
    memory = Math.max(memory, await browser.evaluate('performance.memory.usedJSHeapSize / 1e6'))
    await open(`/jobs/${name}?vs=${encodeURIComponent(`${name}#1`)}`)
    await browser.until(`document.body.innerText.includes('regressed') && window.rows?.().length > 5`, 'the baseline')
    await take(n === 0 ? 'paired' : 'paired_again', viewMs)
  }
  figures.live = await lag(browser, url, slow, name)
  return { figures, memory, dom }
}

const p95 = (values) => (values.length === 0 ? undefined : [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * 0.95) - 1)])
const cell = (value) => (value === undefined ? '–' : value < 10 ? value.toFixed(1) : String(Math.round(value)))

try {
  const url = await start('serve', '--listen', '127.0.0.1:0')
  const model = await start('mock', 'model', '--latency', '0ms', '--port', '0')
  const slow = await start('mock', 'model', '--latency', '700ms', '--port', '0')
  const browser = new Browser()
  await browser.open()
  await browser.call('Emulation.setDeviceMetricsOverride', { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false })
  const found = []
  for (const rows of SIZES) {
    const name = await generate(url, model, rows)
    found.push(await measured(browser, url, slow, name, rows))
  }
  browser.close()
  const heads = SIZES.map((rows) => `${rows.toLocaleString('en')} rows | budget`).join(' | ')
  const lines = Object.entries(BUDGETS).map(([key, [what, ...budgets]]) => `| ${what} | ${SIZES.map((rows, n) => `${cell(p95(found[n].figures[key]))} | ${budgets[tier(rows)]}`).join(' | ')} |`)
  const tab = `| memory of the tab's scripts, MB | ${SIZES.map((rows, n) => `${cell(found[n].memory)} | ${MEMORY_MB[tier(rows)]}`).join(' | ')} |`
  const dom = `| rows in the page | ${SIZES.map((_, n) => `${found[n].dom} | 80`).join(' | ')} |`
  const text = `## The web UI\n\n\`make bench-ui\` writes this part: the results of an experiment in Chromium, 1440 × 900, server and browser on the same machine. 95th percentile of ${REPEATS}, in milliseconds where no unit is named.\n\n| figure | ${heads} |\n|---|${SIZES.map(() => '---:|---:').join('|')}|\n${[...lines, tab, dom].join('\n')}\n`
  const before = readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8')
  const others = before.split(/^(?=## )/m).filter((part) => !part.startsWith('## The web UI'))
  writeFileSync(OUT, OUT.endsWith('benchmarks.md') ? `${others.join('').trimEnd()}\n\n${text}` : text)
  console.log(text)
} finally {
  for (const process_ of started) process_.kill()
  setTimeout(() => rmSync(WORK, { recursive: true, force: true, maxRetries: 5 }), 500)
}
