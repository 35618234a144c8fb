/** A job file as the form sees it: values by their path, read and written in the text. Comments and all else stay. */
import { isMap, isScalar, LineCounter, parseDocument, type Document, type Node, type Pair } from 'yaml'

export type Path = readonly (string | number)[]

export class JobFile {
  readonly #document: Document.Parsed
  readonly #lines = new LineCounter()

  constructor(readonly text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines })
  }

  /** Why a form cannot show the file. */
  get unfit(): string | undefined {
    if (this.#document.errors.length > 0) return 'The file is no valid YAML yet.'
    if (this.text.trim() !== '' && !isMap(this.#document.contents)) return 'The file has no fields.'
    const kind = this.get(['kind'])
    return kind === undefined || kind === 'experiment' ? undefined : `The form describes experiments; this file is of kind ${String(kind)}.`
  }

  get(path: Path): unknown {
    const value: unknown = this.#document.getIn([...path])
    return value !== null && typeof value === 'object' && 'toJSON' in value ? (value as { toJSON(): unknown }).toJSON() : (value ?? undefined)
  }

  string(path: Path): string {
    const value = this.get(path)
    return value === undefined || typeof value === 'object' ? '' : String(value)
  }

  /** The text with another value; nothing takes the field away. */
  with(path: Path, value: unknown): string {
    return this.#changed((document) => {
      if (value === undefined || value === '') document.deleteIn([...path])
      else document.setIn([...path], typeof value === 'object' && value !== null ? nodeOf(document, value) : value)
    })
  }

  /** The text with an entry less. */
  without(path: Path): string {
    return this.#changed((document) => void document.deleteIn([...path]))
  }

  /** The same value under another name, in its place. */
  renamed(path: Path, name: string, value: unknown): string {
    return this.#changed((document) => {
      const parent = document.getIn([...path].slice(0, -1)) as unknown
      const pair = isMap(parent) ? parent.items.find((pair: Pair) => keyOf(pair) === path[path.length - 1]) : undefined
      if (!pair) return void document.setIn([...path.slice(0, -1), name], value)
      pair.key = document.createNode(name)
      pair.value = document.createNode(value, { flow: true })
    })
  }

  #changed(change: (document: Document.Parsed) => void): string {
    const document = parseDocument(this.text.trim() === '' ? '{}' : this.text)
    if (isMap(document.contents)) document.contents.flow = this.text.trim().startsWith('{')
    change(document)
    return document.toString({ lineWidth: 0, flowCollectionPadding: true })
  }

  /** Whether a line belongs to the value at a path. */
  has(path: Path, line: number): boolean {
    const range = this.#rangeOf(path)
    if (!range) return false
    return line >= this.#lines.linePos(range[0]).line && line <= this.#lines.linePos(Math.max(range[0], range[1] - 1)).line
  }

  #rangeOf(path: Path): readonly [number, number] | undefined {
    const parent = path.length === 1 ? this.#document.contents : (this.#document.getIn([...path].slice(0, -1)) as unknown)
    const last = path[path.length - 1]
    const pair = isMap(parent) ? parent.items.find((pair: Pair) => keyOf(pair) === last) : undefined
    const value = (pair ? pair.value : this.#document.getIn([...path], true)) as Node | undefined
    const start = (pair?.key as Node | undefined)?.range?.[0] ?? value?.range?.[0]
    return start === undefined ? undefined : [start, value?.range?.[1] ?? start + 1]
  }
}

const keyOf = (pair: Pair): unknown => (isScalar(pair.key) ? pair.key.value : pair.key)
/** A list line by line, each entry in one line if it is short. */
function nodeOf(document: Document.Parsed, value: object): Node {
  if (!Array.isArray(value)) return document.createNode(value, { flow: isShort(value) })
  const list = document.createNode(value.map((entry: unknown) => (typeof entry === 'object' && entry !== null ? document.createNode(entry, { flow: isShort(entry) }) : entry)))
  list.flow = false
  return list
}

const isShort = (value: object) => JSON.stringify(value).length < 100
