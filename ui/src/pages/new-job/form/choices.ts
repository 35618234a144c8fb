/** What the form offers. Other targets and evaluators are written in the file, and stay when the form changes it. */

export const PROVIDERS = ['openai', 'anthropic', 'gemini', 'ollama', 'mistral', 'groq', 'deepseek', 'openrouter', 'together', 'xai'] as const

/** The environment variable that has the key of a provider. */
export const keyOf = (provider: string) => (provider === 'ollama' ? undefined : `\${env:${provider.toUpperCase()}_API_KEY}`)

export interface Option {
  name: string
  title: string
  hint?: string
  /** Takes the fields of a row. */
  template?: boolean
  number?: boolean
  long?: boolean
}
export interface Kind {
  id: string
  title: string
  options: readonly Option[]
}

const EXPECT: Option = { name: 'expect', title: 'Expected', hint: '{{ answer }}', template: true }

export const EVALUATORS: readonly Kind[] = [
  { id: 'exact', title: 'equals the expected text', options: [EXPECT] },
  { id: 'contains', title: 'contains the expected text', options: [EXPECT] },
  { id: 'starts_with', title: 'starts with the expected text', options: [EXPECT] },
  { id: 'numeric', title: 'gives the expected number', options: [EXPECT, { name: 'tolerance', title: 'Tolerance', number: true }] },
  { id: 'levenshtein', title: 'is close to the expected text', options: [EXPECT, { name: 'threshold', title: 'Threshold', hint: '0.8', number: true }] },
  { id: 'regex', title: 'matches a pattern', options: [{ name: 'pattern', title: 'Pattern', hint: '^\\d+$' }] },
  { id: 'judge', title: 'gets a good score from a model', options: [{ name: 'rubric', title: 'Rubric', hint: 'Is the answer polite and right?', template: true, long: true }, { name: 'threshold', title: 'Threshold', hint: '0.5', number: true }] },
  { id: 'refusal', title: 'refuses the request', options: [] },
]
