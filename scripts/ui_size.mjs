#!/usr/bin/env node
// Fails if a page of ui/dist needs more than 200 kB of scripts and styles, gzipped: its own chunk, all that it imports, and
// the entry. Parts that load when they are needed (editor, charts, matrix) do not count. Run by scripts/ui check.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const MOST = 200_000
const PAGES = ['Home', 'Job', 'Jobs', 'NewJob', 'Compare', 'Trends', 'Dataset', 'Nodes']
const ASSETS = join(dirname(fileURLToPath(import.meta.url)), '../ui/dist/assets')
const files = readdirSync(ASSETS)
const text = (file) => readFileSync(join(ASSETS, file), 'utf8')
const chunk = (name, end) => files.find((file) => new RegExp(`^${name}-[\\w-]{8}\\.${end}$`).test(file))

/** A script with all that it imports at once. */
function withImports(file, found = new Set()) {
  if (!file || found.has(file)) return found
  found.add(file)
  for (const [, name] of text(file).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) withImports(name, found)
  return found
}

const entry = chunk('index', 'js')
const styles = (scripts) => [...scripts].map((file) => chunk(file.replace(/-[\w-]{8}\.js$/, ''), 'css')).filter(Boolean)
let failed = false
for (const page of PAGES) {
  const own = chunk(page, 'js')
  if (!own) throw new Error(`ui/dist has no page ${page}`)
  const scripts = withImports(own, withImports(entry))
  const sum = [...new Set([...scripts, ...styles(scripts)])].reduce((sum, file) => sum + gzipSync(readFileSync(join(ASSETS, file))).length, 0)
  if (sum > MOST) failed = true
  if (sum > MOST || process.argv.includes('--list')) console.error(`${page}: ${(sum / 1000).toFixed(1)} kB gzipped${sum > MOST ? `, more than ${MOST / 1000} kB` : ''}`)
}
process.exit(failed ? 1 : 0)
