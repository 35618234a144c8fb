/** What can follow in a filter: names, then operators, then values that were observed. */
import type { Facet, FieldList } from '../../../api/types'
import { count } from '../../../text/number'
import { nameText, valueText } from './terms'

export interface Completion {
  text: string
  note: string
  /** What it replaces. */
  from: number
  to: number
}

const MOST = 12
const VALUE = /((?:"[^"]*"|[\w.-])+)\s*(?:=|!=|<=|>=|<|>|\bin\s*\((?:[^)]*,)?|\bcontains\b|\bmatches\b)\s*("?[^\s"(),]*)$/i
const NAME = /(?:^|[\s(])((?:"[^"]*|[\w.-])*)$/

export function completions(text: string, cursor: number, fields: FieldList['fields'], facets: readonly Facet[]): Completion[] {
  const before = text.slice(0, cursor)
  const value = VALUE.exec(before)
  if (value) return valuesFor(value[1]!.replaceAll('"', ''), value[2]!, cursor, fields, facets)
  const part = NAME.exec(before)?.[1] ?? ''
  const wanted = part.toLowerCase()
  const after = /(?:[\w"]\s+)$/.test(before) && !/\b(and|or|not)\s+$/i.test(before)
  if (after) return (isWhole(before) ? ['and', 'or'] : ['=', '!=', '<', '>', 'in', 'contains', 'matches', 'is null']).map((word) => ({ text: word, note: '', from: cursor, to: cursor }))
  const rank = (name: string) => (name.toLowerCase().startsWith(wanted) ? 0 : 1)
  return fields
    .filter((field) => field.name.toLowerCase().includes(wanted) && nameText(field.name) !== part)
    .sort((a, b) => rank(a.name) - rank(b.name))
    .slice(0, MOST)
    .map((field) => ({ text: nameText(field.name), note: field.kind, from: cursor - part.length, to: cursor }))
}

/** The text ends with a whole test, which `and` or `or` can follow. */
function isWhole(before: string): boolean {
  return /(=|<|>|\bcontains|\bmatches)\s*("[^"]*"|[^\s"()]+)\s+$|\)\s+$|\bnull\s+$/i.test(before)
}

function valuesFor(name: string, typed: string, cursor: number, fields: FieldList['fields'], facets: readonly Facet[]): Completion[] {
  const facet = facets.find((facet) => facet.field === name)
  const counts = new Map(facet?.kind === 'values' ? facet.values.map((entry) => [entry.value, entry.count]) : [])
  const listed = fields.find((field) => field.name === name)?.values ?? []
  const wanted = typed.replace(/^"/, '').toLowerCase()
  return [...new Set([...counts.keys(), ...listed])]
    .filter((value) => value.toLowerCase().includes(wanted) && value !== typed)
    .slice(0, MOST)
    .map((value) => ({ text: valueText(value), note: counts.has(value) ? count(counts.get(value)) : '', from: cursor - typed.length, to: cursor }))
}

/** The parts of a filter as they are coloured. */
export function coloured(text: string): { text: string; kind: 'name' | 'word' | 'value' | 'sign' }[] {
  const found = text.matchAll(/"(?:[^"\\]|\\.)*"?|[\w.]+(?:"[^"]*"|[\w.-])*|\s+|[^\w\s"]+/g)
  let isValue = false
  return [...found].map(([part]) => {
    if (/^\s+$/.test(part)) return { text: part, kind: 'sign' as const }
    if (/^(and|or|not)$/i.test(part)) return (isValue = false), { text: part, kind: 'word' as const }
    if (/^(in|is|contains|matches|null)$/i.test(part)) return (isValue = true), { text: part, kind: 'word' as const }
    if (/^[^\w"]/.test(part)) return (isValue = isValue || /[=<>~]/.test(part)), { text: part, kind: 'sign' as const }
    return { text: part, kind: isValue ? ('value' as const) : ('name' as const) }
  })
}
