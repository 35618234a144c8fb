/** What people say about items: verdicts, values and notes, sent and taken back. */
import { request } from '../../api/request'
import type { Label, LabelRequest } from '../../api/types'
import { toasts } from '../../parts/toasts.svelte'
import { jobKey } from '../../text/links'
import { counted } from '../../text/number'

/** The name of a verdict about the row as a whole, and of a note. */
export const OUTCOME = 'outcome'
export const NOTE = 'note'

export type Said = 'pass' | 'fail' | number | string | null
export interface Which {
  items?: string[]
  where?: string
}

type Key = Parameters<typeof jobKey>[0]

export async function say(job: Key, which: Which, labels: Record<string, Said>, reason = '') {
  const json: LabelRequest = { labels, reason, new: true, ...which }
  return request('post', '/api/v1/jobs/{job}/labels', { path: { job: jobKey(job) }, json, timeoutMs: 120_000 })
}

/** Says it of one item, with a way back to what was said before. */
export async function sayOf(job: Key, item: string, name: string, said: Said, reason: string, before: Label | undefined, done: () => void) {
  try {
    await say(job, { items: [item] }, { [name]: said }, reason)
    const undo = () => void sayOf(job, item, name, saidBy(before), before?.reason ?? '', undefined, done)
    toasts.say(wordsOf(name, said), { title: 'Undo', act: undo })
    done()
  } catch (error) {
    toasts.fail(error)
  }
}

function wordsOf(name: string, said: Said): string {
  if (name === NOTE) return said === null ? 'Note removed' : 'Note saved'
  const what = name === OUTCOME ? 'the row' : name
  return said === null ? `Label of ${what} cleared` : `Labelled ${what}: ${said}`
}

const saidBy = (label: Label | undefined): Said => label?.verdict ?? label?.value ?? label?.note ?? null

/** The labels that count: the newest under each name that was not cleared. */
export function currentOf(labels: readonly Label[]): Map<string, Label> {
  const newest = new Map(labels.map((label) => [label.name, label]))
  return new Map([...newest].filter(([, label]) => !label.cleared))
}

/** `fail`, `0.40`, or the text of a note. */
export const textOf = (label: Label): string => String(saidBy(label) ?? '')

/** A verdict or a number as somebody typed it; nothing if it is neither. */
export function parse(text: string): Said | undefined {
  const word = text.trim().toLowerCase()
  if (word === 'pass' || word === 'fail') return word
  return word !== '' && Number.isFinite(Number(word)) ? Number(word) : undefined
}

export const labelled = (n: number) => `Labelled ${counted(n, 'row')}`
