/**
 * The editor: CodeMirror with YAML, problems below their lines, and the names of job files to complete. It is in a shadow
 * root, because CodeMirror puts its styles there as style sheets that the content security policy allows.
 */
import { autocompletion, completionKeymap, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { nextDiagnostic, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, WidgetType, type DecorationSet } from '@codemirror/view'
import { StateEffect, StateField } from '@codemirror/state'
import { tags } from '@lezer/highlight'
import type { PlacedProblem } from '../../api/types'
import { namesAt, placeAt } from './complete'

const theme = EditorView.theme({
  '&': { fontSize: '12px', backgroundColor: 'var(--surface)', color: 'var(--text)', blockSize: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '19px', fontVariantLigatures: 'none' },
  '.cm-content': { caretColor: 'var(--text)', paddingBlock: '10px' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--faint)', border: 'none', paddingInlineStart: '8px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-cursor': { borderInlineStartColor: 'var(--text)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line-strong)', borderRadius: '8px', color: 'var(--text)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--text)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--fail-fill)', textUnderlineOffset: '3px' },
  '.problem': { margin: '2px 0 2px 0', padding: '3px 10px', borderInlineStart: '3px solid var(--fail-fill)', backgroundColor: 'var(--fail-soft)', fontFamily: 'var(--sans)', fontSize: '12px', color: 'var(--text)', whiteSpace: 'normal' },
  '.problem b': { fontWeight: '600' },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--run)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--error)' },
  { tag: tags.comment, color: 'var(--muted)' },
])

class Problem extends WidgetType {
  constructor(readonly problem: PlacedProblem) {
    super()
  }

  override eq(other: Problem) {
    return other.problem.message === this.problem.message && other.problem.remedy === this.problem.remedy
  }

  toDOM() {
    const element = document.createElement('div')
    element.className = 'problem'
    const strong = document.createElement('b')
    strong.textContent = this.problem.message
    element.append(strong, this.problem.remedy ? ` ${this.problem.remedy}` : '')
    return element
  }
}

const setProblems = StateEffect.define<readonly PlacedProblem[]>()

const problemLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(found, change) {
    for (const effect of change.effects) if (effect.is(setProblems)) return decorate(change.state, effect.value)
    return found.map(change.changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

function lineOf(state: EditorState, problem: PlacedProblem) {
  return state.doc.line(Math.min(Math.max(problem.line ?? 1, 1), state.doc.lines))
}

function decorate(state: EditorState, problems: readonly PlacedProblem[]) {
  const places = problems.map((problem) => Decoration.widget({ widget: new Problem(problem), block: true, side: 1 }).range(lineOf(state, problem).to))
  return Decoration.set(places, true)
}

async function complete(context: CompletionContext) {
  const text = context.state.doc.toString()
  const place = placeAt(text, context.pos)
  if (!place || (!context.explicit && place.from === context.pos)) return null
  const stop = new AbortController()
  context.addEventListener('abort', () => stop.abort())
  const names = await namesAt(text, place, stop.signal)
  const options = names.map((name) => ({ label: name, apply: place.what === 'name' ? `${name}: ` : name }))
  return names.length === 0 ? null : { from: place.from, to: place.to, options, validFor: /^[\w.-]*$/ }
}

/**
 * Text that replaces other text or has several lines. The browser would give the new lines the colour of the old text
 * as an inline style, which the policy of the page forbids.
 */
function replace(event: InputEvent, view: EditorView) {
  const { data, inputType } = event
  if (inputType !== 'insertText' || !data || event.isComposing || (view.state.selection.main.empty && !data.includes('\n'))) return false
  event.preventDefault()
  view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
  return true
}

export interface Editor {
  setText: (text: string) => void
  show: (problems: readonly PlacedProblem[]) => void
  next: () => void
  destroy: () => void
}

export function createEditor(host: HTMLElement, text: string, onchange: (text: string) => void, onrun: () => void): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const extensions = [
    keymap.of([{ key: 'Mod-Enter', run: () => (onrun(), true) }, { key: 'F8', run: nextDiagnostic }]),
    lineNumbers(), history(), drawSelection(), highlightActiveLine(), yaml(), syntaxHighlighting(colours), problemLines,
    autocompletion({ override: [complete] }),
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ 'aria-label': 'Job file', tabindex: '0' }),
    EditorView.domEventHandlers({ beforeinput: replace }),
    EditorView.updateListener.of((update) => void (update.docChanged && onchange(update.state.doc.toString()))),
    theme,
  ]
  const view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: root, root })
  return {
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    show(problems) {
      const found = problems.map((problem): Diagnostic => {
        const line = lineOf(view.state, problem)
        return { from: line.from + (line.text.length - line.text.trimStart().length), to: line.to, severity: 'error', message: problem.message }
      })
      view.dispatch(setDiagnostics(view.state, found), { effects: setProblems.of(problems) })
    },
    next: () => (view.focus(), void nextDiagnostic(view)),
    destroy: () => view.destroy(),
  }
}
