/** Reads the steps of an item: outputs, messages, and what evaluators compared. */
import type { ItemDetail, Run, Score, Step } from '../../../api/types'
import { compact, field } from '../../../text/json'

export interface Message {
  role: string
  turn: number
  content: string
  /** The call that gave it. */
  step?: Step
}

function contentOf(step: Step): string | undefined {
  const content = field(step.output, 'content')
  if (content === undefined || content === null) return undefined
  return compact(content)
}

const isTarget = (step: Step) => step.kind === 'target'

export function outputsOf(item: ItemDetail): string[] {
  return item.steps.filter(isTarget).flatMap((step) => contentOf(step) ?? [])
}

/** The last messages of each call, and its answer. Earlier turns are in it too, and not repeated. */
export function conversationOf(item: ItemDetail): Message[] {
  const found: Message[] = []
  let known = 0
  for (const step of item.steps.filter(isTarget)) {
    const messages = field(step.input, 'messages')
    const asked = Array.isArray(messages) ? messages : []
    for (const message of asked.slice(known)) {
      const role = String(field(message, 'role') ?? 'user')
      if (role !== 'assistant') found.push({ role, turn: step.turn, content: compact(field(message, 'content')) })
    }
    const answer = contentOf(step)
    found.push({ role: 'target', turn: step.turn, content: answer ?? step.failure?.message ?? '', step })
    known = asked.length + 1
  }
  return found
}

/** What an evaluator compared. */
export function evaluationOf(item: ItemDetail, score: Score): { expected?: string } | undefined {
  const step = item.steps.find((step) => step.kind === 'evaluator' && step.name === score.name && step.turn === score.turn)
  const expected = field(step?.input, 'expected')
  return expected === undefined || expected === null ? undefined : { expected: compact(expected) }
}

export function tookMs(step: Step): number | undefined {
  return step.ended_at ? Date.parse(step.ended_at) - Date.parse(step.started_at) : undefined
}

export interface Text {
  id: string
  title: string
  text: string
}

/** What can be compared: what was expected, and the output of each run and turn. */
export function textsOf(item: ItemDetail, runs: readonly Run[]): Text[] {
  const outputs = item.steps.filter(isTarget).flatMap((step) => {
    const text = contentOf(step)
    const run = item.attempts.find((attempt) => step.id.startsWith(`${attempt.id}.`))?.run
    const no = runs.find((entry) => entry.id === run)?.no
    return text === undefined ? [] : [{ id: `run-${no ?? step.id}-${step.turn + 1}`, title: `${no === undefined ? 'Output' : `Run ${no}`}${step.turn > 0 ? `, turn ${step.turn + 1}` : ''}`, text }]
  })
  const expected = item.scores.map((score) => evaluationOf(item, score)?.expected).find((text) => text !== undefined)
  return [
    ...(expected === undefined ? [] : [{ id: 'expected', title: 'Expected', text: expected }]),
    // An item that was retried has several outputs of a run; the last one counts.
    ...new Map(outputs.map((output) => [output.id, output])).values(),
  ]
}
