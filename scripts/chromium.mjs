// Headless Chromium over the DevTools protocol, for scripts/screenshots.mjs and scripts/bench_ui.mjs.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FLAGS = ['--headless', '--no-sandbox', '--remote-debugging-pipe', '--disable-gpu', '--disable-quic', '--no-first-run', '--no-proxy-server',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--hide-scrollbars', '--force-color-profile=srgb']

export class Browser {
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

  /** Replaces the text of the editor. */
  async type(text) {
    const editor = `document.querySelector('.host')?.shadowRoot?.querySelector('.cm-content')`
    await this.until(`!!${editor}`, 'the editor')
    await this.evaluate(`${editor}.focus()`)
    for (const type of ['keyDown', 'keyUp']) await this.call('Input.dispatchKeyEvent', { type, key: 'a', windowsVirtualKeyCode: 65, modifiers: 2 })
    await this.call('Input.insertText', { text })
    await new Promise((resolve) => setTimeout(resolve, 1500))
  }

  async shot(page, url, width, dark, out) {
    const window = width < 700 ? 844 : (page.window ?? 900)
    await this.call('Emulation.setDeviceMetricsOverride', { width, height: window, deviceScaleFactor: 1, mobile: width < 700 })
    await this.call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] })
    await this.call('Page.navigate', { url: url + page.path })
    await this.until(`document.readyState === 'complete' && document.body.innerText.includes(${JSON.stringify(page.text)}) && document.fonts.size >= 2`, `${page.name}: ${page.text}`)
    if (page.typed) await this.type(page.typed)
    if (page.press) await this.evaluate(page.press)
    await new Promise((resolve) => setTimeout(resolve, page.settle ?? 700))
    const height = page.fixed ? window : await this.evaluate('Math.min(Math.max(document.documentElement.scrollHeight, innerHeight), 2400)')
    const overflow = await this.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    if (overflow > 0) console.error(`${page.name} ${width}: ${overflow}px wider than the window`)
    const { data } = await this.call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } })
    writeFileSync(out, Buffer.from(data, 'base64'))
  }

  close() {
    this.process.kill()
    this.process.on('exit', () => rmSync(this.profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }))
  }
}
