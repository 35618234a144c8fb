#!/usr/bin/env node
// Takes the screenshots of docs/ui.md: starts a server with generated data (scripts/ui_dev.py) and opens each page in
// Chromium. `--url URL` uses a running server, `--out DIR` another directory, `--all` every width and both themes,
// and names (`home jobs`) take only those.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Browser } from './chromium.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const pressed = (text) => `[...document.querySelectorAll('button')].find((button) => button.innerText === ${JSON.stringify(text)}).click()`
// A page, what must be in its text before the picture is taken, and what is pressed before.
const PAGES = [
  { name: 'home', path: '/', text: 'Running now', settle: 10000 },
  { name: 'jobs', path: '/jobs', text: 'capitals' },
  { name: 'new-job', path: '/jobs/new?example=capitals', text: 'Preview', settle: 2500 },
  { name: 'new-job-form', path: '/jobs/new?as=form&example=capitals', text: 'Forecast', settle: 2500 },
  { name: 'job', path: '/jobs/arithmetic', text: 'exact', fixed: true },
  { name: 'experiment', path: '/jobs/sums-prompt', text: 'regressed', fixed: true, settle: 1500 },
  { name: 'experiment-item', path: '/jobs/sums-prompt?q=change.exact+%3D+regressed', text: 'Row 6', press: `document.querySelector('[role=grid] .body [role=row]').click()`, fixed: true, settle: 1500 },
  { name: 'experiment-scores', path: '/jobs/sums-prompt?q=change.exact+%3D+regressed&view=scores', text: 'Row 6', press: `document.querySelector('[role=grid] .body [role=row]').click()`, fixed: true, settle: 1500 },
  { name: 'experiment-grouped', path: '/jobs/sums-prompt?layout=grouped&group=outcome', text: 'Outcomes', fixed: true, settle: 1500 },
  { name: 'experiment-diff', path: '/jobs/sums-prompt?rows=diff', text: 'regressed', fixed: true, settle: 1500 },
  { name: 'experiment-charts', path: '/jobs/sums-prompt?show=chart', text: 'row by row', fixed: true, settle: 1500 },
  { name: 'experiment-matrix', path: '/jobs/sums-matrix?layout=matrix', text: 'Metric', fixed: true, settle: 1500 },
  { name: 'job-live', path: '/jobs/math-word-problems', text: 'queued', settle: 10000, fixed: true },
  { name: 'item', path: '/jobs/support-chat?view=conversation', text: 'Row 1', press: `document.querySelector('[role=row][aria-rowindex="2"]').click()`, fixed: true },
  { name: 'compare', path: '/compare?runs=sums-prompt%231,sums-prompt%232', text: 'Compare 2 runs', settle: 1500 },
  { name: 'trends', path: '/jobs/sums-prompt/trends', text: 'over 2 runs', settle: 1500 },
  { name: 'about', path: '/about', text: 'Open Font License' },
  { name: 'operation', path: '/jobs/orders-tasks-max', text: 'Wave', fixed: true, window: 1160 },
  { name: 'operation-plan', path: '/jobs/new', text: 'Preview', edit: bulkConfig, press: pressed('Preview the changes'), settle: 4000, window: 1400 },
  { name: 'operation-conflict', path: '/jobs/orders-conflict', text: 'was not overwritten', press: `document.querySelector('[role=grid][aria-label=Targets] .body [role=row]').click()`, settle: 1500, fixed: true },
  { name: 'operation-target', path: '/jobs/bulk-config?diff=whole', text: 'orders-0004', press: `document.querySelectorAll('[role=grid][aria-label=Targets] .body [role=row]')[5].click()`, fixed: true },
  { name: 'ingest', path: '/jobs/ingest-invoices?range=all&slice=nl', text: 'Rejected records', settle: 1500, fixed: true, window: 1640 },
  { name: 'ingest-backfill', path: '/jobs/ingest-invoices', text: 'Backfill', press: pressed('Backfill…'), settle: 2500, fixed: true },
  { name: 'datasets', path: '/datasets', text: 'capitals' },
  { name: 'dataset', path: '/datasets/capitals?old=1', text: 'Versions', fixed: true },
  { name: 'schedules', path: '/schedules', text: 'capitals', settle: 1500 },
  { name: 'health', path: '/health', text: 'slow_run', settle: 1500 },
  { name: 'audit', path: '/audit', text: 'Who' },
  { name: 'webhooks', path: '/settings/webhooks', text: 'Deliveries' },
  { name: 'limits', path: '/settings/limits', text: 'concurrency', settle: 1500 },
  { name: 'backups', path: '/settings/backups', text: 'Verify' },
  { name: 'api', path: '/settings/api?op=list_jobs', text: 'Send', press: pressed('Send'), settle: 1500 },
  { name: 'nodes', path: '/nodes', text: 'alive' },
  // From the first key on, the server asks for one.
  { name: 'settings', path: '/settings', text: 'API keys', before: signIn, settle: 1500 },
]

/** The example over the connectors of the generated data. */
async function bulkConfig(url) {
  const { spec } = await (await fetch(`${url}/api/v1/jobs/bulk-config`)).json()
  const place = /http:\/\/127\.0\.0\.1:\d+/.exec(JSON.stringify(spec))[0]
  const text = readFileSync(join(ROOT, 'examples/bulk-config/bulk-config.yaml'), 'utf8')
  return text.replaceAll('http://127.0.0.1:8083', place).replace('name: bulk-config', 'name: orders-tasks').replace('"2"', '"4"')
}

async function signIn(url, browser) {
  const make = async (key, secret) => (await (await fetch(`${url}/api/v1/keys`, { method: 'POST', body: JSON.stringify(key), headers: { 'Content-Type': 'application/json', ...(secret ? { Authorization: `Bearer ${secret}` } : {}) } })).json()).secret
  const admin = await make({ name: 'ann', role: 'admin' })
  await make({ name: 'ci', role: 'operator', workspace: 'default', expires_in: '90d' }, admin)
  await make({ name: 'dashboard', role: 'viewer' }, admin)
  await browser.evaluate(`fetch('/api/v1/session', { method: 'POST', headers: { Authorization: 'Bearer ${admin}' } }).then(() => undefined)`)
}

/** The page that a server with keys shows to somebody without one. */
async function signInPage() {
  const work = mkdtempSync(join(tmpdir(), 'windrow-shots-'))
  const windrow = process.env.WINDROW ?? join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target'), 'debug/windrow')
  const env = { ...process.env, WINDROW_DATA: join(work, 'data') }
  spawnSync(windrow, ['keys', 'create', 'ann', '--role', 'admin'], { cwd: work, env })
  const server = spawn(windrow, ['serve', '--listen', '127.0.0.1:0'], { cwd: work, env, stdio: ['ignore', 'pipe', 'ignore'] })
  const url = await new Promise((resolve) => server.stdout.once('data', (line) => resolve(String(line).split('\n')[0].trim())))
  return { url, stop: () => (server.once('exit', () => rmSync(work, { recursive: true, force: true })), server.kill()) }
}

function generated() {
  const server = spawn('python3', [join(ROOT, 'scripts/ui_dev.py'), '--serve-only'], { stdio: ['ignore', 'pipe', 'inherit'] })
  return new Promise((resolve, reject) => {
    server.stdout.once('data', (line) => resolve({ url: String(line).trim(), stop: () => server.kill('SIGINT') }))
    server.once('exit', () => reject(new Error('the server did not start')))
  })
}

const given = process.argv.slice(2)
const option = (name) => (given.includes(name) ? given.splice(given.indexOf(name), 2)[1] : undefined)
const flag = (name) => given.includes(name) && given.splice(given.indexOf(name), 1).length > 0
const [url, out, all] = [option('--url'), option('--out') ?? join(ROOT, 'docs/images'), flag('--all')]
const server = url ? { url, stop() {} } : await generated()
mkdirSync(out, { recursive: true })
const browser = new Browser()
process.on('exit', () => browser.process.kill())
await browser.open()
for (const page of PAGES.filter((page) => given.length === 0 || given.includes(page.name))) {
  if (page.before) await page.before(server.url, browser)
  if (page.edit) page.typed = await page.edit(server.url)
  const variants = all ? [[1440, false, ''], [1440, true, '-dark'], [1024, false, '-1024'], [390, false, '-390']] : [[1440, false, '']]
  for (const [width, dark, end] of variants) await browser.shot(page, server.url, width, dark, join(out, `ui-${page.name}${end}.png`))
}
if (!url && (given.length === 0 || given.includes('sign-in'))) {
  const locked = await signInPage()
  await browser.shot({ name: 'sign-in', path: '/', text: 'Sign in', fixed: true }, locked.url, 1440, false, join(out, 'ui-sign-in.png'))
  locked.stop()
}
for (const complaint of browser.complaints) console.error(`console: ${complaint}`)
browser.close()
server.stop()
