/**
 * Filters as a list of terms that `and` joins, so that a click on a value changes one of them and leaves what was typed
 * as it is. What a click cannot change, such as `or`, stays one term in brackets.
 */

export interface Term {
  text: string
  /** Of a term that a click understands. */
  name?: string
  op?: string
  values?: string[]
}

const PREFIX = /^(baseline\.score|score|verdict|reason|delta|change|field|output|label|corrected)\.(.+)$/s
const PLAIN = /^[\w-]+$/
const WORD = /^[\w./:+-]+$/
const RESERVED = /^(and|or|not|in|is|contains|matches|null)$/i
const TERM = /^((?:"(?:[^"\\]|\\.)*"|[\w.-])+)\s*(>=|<=|!=|=|>|<|\bnot\s+in\b|\bin\b|\bis\s+not\b|\bis\b)\s*(.+)$/is

/** A name of the API as the query language writes it: parts with spaces in quotes. */
export function nameText(name: string): string {
  const [, prefix, rest] = PREFIX.exec(name) ?? []
  return prefix && rest && !PLAIN.test(rest) ? `${prefix}.${JSON.stringify(rest)}` : name
}

export function valueText(value: string | number): string {
  if (typeof value === 'number') return String(Number(value.toPrecision(6)))
  return WORD.test(value) && !RESERVED.test(value) ? value : JSON.stringify(value)
}

/** Splits at a word that stands outside quotes and brackets. */
function split(text: string, separator: RegExp): string[] {
  const parts: string[] = []
  let [depth, from] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"') at = closing(text, at)
    else if (sign === '(') depth++
    else if (sign === ')') depth--
    else if (depth === 0) {
      separator.lastIndex = at
      const found = separator.exec(text)
      if (!found) continue
      parts.push(text.slice(from, at))
      from = at + found[0].length
      at = from - 1
    }
  }
  return [...parts, text.slice(from)].map((part) => part.trim()).filter(Boolean)
}

function closing(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text
  try {
    return JSON.parse(text) as string
  } catch {
    return text
  }
}

function termOf(text: string): Term {
  const [, name, op, rest] = TERM.exec(text) ?? []
  if (!name || !op || !rest) return { text }
  const how = op.toLowerCase().replace(/\s+/g, ' ')
  const list = how.endsWith('in') ? split(rest.replace(/^\(|\)$/g, ''), /,/y) : [rest]
  return { text, name: name.replaceAll('"', ''), op: how, values: list.map(unquoted) }
}

export function termsOf(query: string): Term[] {
  if (split(query, /\s+or\s+|\s*\|\|\s*/iy).length > 1) return [{ text: `(${query.trim()})` }]
  return split(query, /\s+and\s+|\s*&&\s*/iy).map(termOf)
}

export const queryOf = (terms: readonly Term[]) => (terms.length === 1 ? terms[0]!.text.replace(/^\((.*)\)$/s, (whole, inner: string) => (split(inner, /\)/y).length > 1 ? whole : inner)) : terms.map((term) => term.text).join(' and '))

const isAbout = (term: Term, name: string) => term.name === name

/** The values that a filter asks for and those it excludes. */
export function chosen(query: string, name: string): { set: readonly string[]; out: readonly string[] } {
  const own = termsOf(query).filter((term) => isAbout(term, name))
  const of = (...ops: string[]) => own.filter((term) => ops.includes(term.op!)).flatMap((term) => term.values!)
  return { set: of('=', 'in', 'is'), out: of('!=', 'not in', 'is not') }
}

function listed(name: string, values: readonly string[], out: boolean): string[] {
  const known = values.filter((value) => value !== 'null').map(valueText)
  const empty = values.includes('null') ? [`${nameText(name)} is ${out ? 'not ' : ''}null`] : []
  const some = known.length === 0 ? [] : known.length === 1 ? [`${nameText(name)} ${out ? '!=' : '='} ${known[0]}`] : [`${nameText(name)} ${out ? 'not in' : 'in'} (${known.join(', ')})`]
  return [...some, ...empty]
}

/** A value of a facet is pressed: it is set, added to those that are set, or taken away again. */
export function toggle(query: string, name: string, value: string, exclude = false): string {
  const now = chosen(query, name)
  const flip = (values: readonly string[]) => (values.includes(value) ? values.filter((other) => other !== value) : [...values, value])
  const set = exclude ? now.set.filter((other) => other !== value) : flip(now.set)
  const out = exclude ? flip(now.out) : now.out.filter((other) => other !== value)
  const rest = termsOf(query).filter((term) => !isAbout(term, name))
  const own = listed(name, set, false)
  const asked = own.length > 1 ? [`(${own.join(' or ')})`] : own
  return [...rest.map((term) => term.text), ...asked, ...listed(name, out, true)].join(' and ')
}

/** Only this value of a name, whatever was asked of it before. */
export function only(query: string, name: string, value: string): string {
  const rest = termsOf(query).filter((term) => !isAbout(term, name))
  return [...rest.map((term) => term.text), ...listed(name, [value], false)].join(' and ')
}

export function between(query: string, name: string, from?: number, to?: number): string {
  const rest = termsOf(query).filter((term) => !isAbout(term, name)).map((term) => term.text)
  const ends = [from === undefined ? '' : `${nameText(name)} >= ${valueText(from)}`, to === undefined ? '' : `${nameText(name)} <= ${valueText(to)}`]
  return [...rest, ...ends.filter(Boolean)].join(' and ')
}

export function bounds(query: string, name: string): { from?: number; to?: number } {
  const own = termsOf(query).filter((term) => isAbout(term, name))
  const end = (...ops: string[]) => own.filter((term) => ops.includes(term.op!)).map((term) => Number(term.values![0])).find(Number.isFinite)
  const [from, to] = [end('>=', '>'), end('<=', '<')]
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}
