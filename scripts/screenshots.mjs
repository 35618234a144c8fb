#!/usr/bin/env node
// Takes the screenshots of docs/ui.md: starts a server with generated data (scripts/ui_dev.py) and opens each page in
// Chromium. `--url URL` uses a running server, `--out DIR` another directory, `--all` every width and both themes,
// and names (`home jobs`) take only those.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const FLAGS = ['--headless', '--no-sandbox', '--remote-debugging-pipe', '--disable-gpu', '--disable-quic', '--no-first-run', '--no-proxy-server',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--hide-scrollbars', '--force-color-profile=srgb']

// A page, what must be in its text before the picture is taken, and what is pressed before.
const PAGES = [
  { name: 'home', path: '/', text: 'Running now', settle: 10000 },
  { name: 'jobs', path: '/jobs', text: 'capitals' },
  { name: 'new-job', path: '/jobs/new?example=capitals', text: 'Preview', settle: 2500 },
  { name: 'job', path: '/jobs/arithmetic', text: 'exact' },
  { name: 'job-live', path: '/jobs/math-word-problems', text: 'queued', settle: 10000, fixed: true },
  { name: 'item', path: '/jobs/support-chat?view=conversation', text: 'Row 1', press: `document.querySelector('[role=row][aria-rowindex="2"]').click()`, fixed: true },
  { name: 'operation', path: '/jobs/orders-tasks-max', text: 'Wave', fixed: true },
  { name: 'operation-target', path: '/jobs/bulk-config?diff=whole', text: 'Wave', press: `document.querySelector('[role=grid][aria-label=Targets] .body [role=row]').click()`, fixed: true },
  { name: 'ingest', path: '/jobs/ingest-orders', text: 'Slices' },
  { name: 'datasets', path: '/datasets', text: 'capitals' },
  { name: 'dataset', path: '/datasets/capitals?old=1', text: 'Versions', fixed: true },
  { name: 'schedules', path: '/schedules', text: 'capitals' },
  { name: 'health', path: '/health', text: 'Checks' },
  { name: 'audit', path: '/audit', text: 'Who' },
  { name: 'settings', path: '/settings', text: 'API keys' },
  { name: 'webhooks', path: '/settings/webhooks', text: 'Deliveries' },
  { name: 'limits', path: '/settings/limits', text: 'concurrency' },
  { name: 'backups', path: '/settings/backups', text: 'Verify' },
  { name: 'api', path: '/settings/api?op=list_jobs', text: 'Send', press: `[...document.querySelectorAll('button')].find((button) => button.innerText === 'Send').click()`, settle: 1500 },
  { name: 'nodes', path: '/nodes', text: 'alive' },
]

class Browser {
  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), 'windrow-shots-'))
    const options = { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: this.profile } }
    this.process = spawn('chromium', [...FLAGS, `--user-data-dir=${this.profile}`], options)
    this.waiting = new Map()
    this.sent = 0
    this.complaints = []
    let rest = ''
    this.process.stdio[4].on('data', (data) => {
      const parts = (rest + data).split('\0')
      rest = parts.pop()
      parts.forEach((part) => this.hear(JSON.parse(part)))
    })
  }

  hear(message) {
    if (message.id) this.waiting.get(message.id)?.(message)
    else if (message.method === 'Runtime.exceptionThrown') this.complaints.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text)
    else if (message.method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(message.params.type)) this.complaints.push(message.params.args.map((a) => a.value ?? a.description).join(' '))
    else if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error') this.complaints.push(message.params.entry.text + ' ' + (message.params.entry.url ?? ''))
  }

  call(method, params = {}) {
    const id = ++this.sent
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId: this.session }) + '\0')
    return new Promise((resolve, reject) => this.waiting.set(id, (m) => (m.error ? reject(new Error(`${method}: ${m.error.message}`)) : resolve(m.result))))
  }

  async open() {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' })
    this.session = (await this.call('Target.attachToTarget', { targetId, flatten: true })).sessionId
    await this.call('Runtime.enable')
    await this.call('Log.enable')
  }

  async evaluate(expression) {
    return (await this.call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })).result.value
  }

  async until(expression, what) {
    for (let n = 0; n < 300; n++) {
      // Between two pages there is nothing to ask.
      if (await this.evaluate(expression).catch(() => false)) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error(`waited in vain for ${what}: ${await this.evaluate('document.body.innerText.slice(0, 400)')}`)
  }

  async shot(page, url, width, dark, out) {
    await this.call('Emulation.setDeviceMetricsOverride', { width, height: width < 700 ? 844 : 900, deviceScaleFactor: 1, mobile: width < 700 })
    await this.call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] })
    await this.call('Page.navigate', { url: url + page.path })
    await this.until(`document.readyState === 'complete' && document.body.innerText.includes(${JSON.stringify(page.text)}) && document.fonts.size >= 2`, `${page.name}: ${page.text}`)
    if (page.press) await this.evaluate(page.press)
    await new Promise((resolve) => setTimeout(resolve, page.settle ?? 700))
    const height = page.fixed ? 900 : await this.evaluate('Math.min(Math.max(document.documentElement.scrollHeight, innerHeight), 2400)')
    const overflow = await this.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    if (overflow > 0) console.error(`${page.name} ${width}: ${overflow}px wider than the window`)
    const { data } = await this.call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } })
    writeFileSync(out, Buffer.from(data, 'base64'))
  }

  close() {
    this.process.kill()
    this.process.on('exit', () => rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 }))
  }
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
  const variants = all ? [[1440, false, ''], [1440, true, '-dark'], [1024, false, '-1024'], [390, false, '-390']] : [[1440, false, '']]
  for (const [width, dark, end] of variants) await browser.shot(page, server.url, width, dark, join(out, `ui-${page.name}${end}.png`))
}
for (const complaint of browser.complaints) console.error(`console: ${complaint}`)
browser.close()
server.stop()
