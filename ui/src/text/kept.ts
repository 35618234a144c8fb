/** What a user chose, kept in this browser per job. An address that says otherwise wins. */
const PREFIX = 'windrow.kept.'

export function kept<T>(key: string): T | undefined {
  try {
    const text = localStorage.getItem(PREFIX + key)
    return text === null ? undefined : (JSON.parse(text) as T)
  } catch (error) {
    // Storage that is switched off, or written by another version.
    if (error instanceof DOMException || error instanceof SyntaxError) return undefined
    throw error
  }
}

export function keep(key: string, value: unknown) {
  try {
    if (value === undefined || value === '') localStorage.removeItem(PREFIX + key)
    else localStorage.setItem(PREFIX + key, JSON.stringify(value))
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
  }
}
