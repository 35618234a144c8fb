/**
 * Where rows of equal height are drawn. Browsers clamp an element at about 17 to 33 million pixels, which is less than a
 * million rows need, so a longer table has a shorter body. A place in it (`scroll`) stands for a place in the whole table
 * (`real`) in proportion, and both ends are exact. Rows keep their height: a small scroll moves them by as many pixels.
 */
const LIMIT_PX = 12_000_000

export class Placing {
  /** All rows, and the body that stands for them. */
  readonly whole: number
  readonly body: number

  constructor(
    readonly count: number,
    readonly rowHeight: number,
  ) {
    this.whole = count * rowHeight
    this.body = Math.min(this.whole, LIMIT_PX)
  }

  get isScaled() {
    return this.body < this.whole
  }

  /** What is at the top of a window of this height. */
  toReal(scroll: number, window: number): number {
    const room = this.body - window
    if (!this.isScaled || scroll <= 0) return scroll
    return scroll >= room ? scroll + this.whole - this.body : (scroll / room) * (this.whole - window)
  }

  toScroll(real: number, window: number): number {
    const room = this.whole - window
    if (!this.isScaled || real <= 0) return real
    return real >= room ? real - this.whole + this.body : (real / room) * (this.body - window)
  }

  /** The rows in sight, with some before and after them; of a table that is out of sight those nearest to it. */
  rowsAt(real: number, window: number, more: number): readonly number[] {
    const top = Math.max(0, Math.min(real, this.whole - window))
    const first = Math.max(0, Math.floor(top / this.rowHeight) - more)
    const end = Math.min(this.count, Math.ceil((top + window) / this.rowHeight) + more)
    return Array.from({ length: Math.max(0, end - first) }, (_, n) => first + n)
  }
}

/** Follows the scrolling of the window: what is at its top, in pixels of the whole table. */
export class Sight {
  real = 0
  #seen = 0

  /** `top` is where the body begins in the document. */
  constructor(
    public placing: Placing,
    readonly top: () => number,
  ) {
    this.jump()
  }

  /** The window has been scrolled. A small step moves as many pixels; a far one goes where it leads. */
  follow() {
    const scroll = scrollY - this.top()
    const by = scroll - this.#seen
    const room = this.placing.body - innerHeight
    const isFar = Math.abs(by) > 2 * innerHeight
    if (!this.placing.isScaled || isFar || scroll <= 0 || scroll >= room) return this.jump()
    this.real += by
    this.#seen = scroll
    // Small steps have led away from where the bar of the window is; at the ends both must agree.
    const isNearEnd = Math.min(scroll, this.real) < 2 * innerHeight || Math.max(scroll - room, this.real - this.placing.whole + innerHeight) > -2 * innerHeight
    if (isNearEnd) this.settle()
  }

  /** To where the window is. */
  jump() {
    this.#seen = scrollY - this.top()
    this.real = Math.round(this.placing.toReal(this.#seen, innerHeight))
  }

  /** Moves the bar of the window to where the rows in sight are; they do not move. */
  settle() {
    const wanted = this.placing.toScroll(this.real, innerHeight)
    if (!this.placing.isScaled || Math.abs(wanted - this.#seen) < 1) return
    scrollTo({ top: wanted + this.top(), behavior: 'instant' })
    this.#seen = scrollY - this.top()
  }

  to(real: number) {
    const wanted = this.placing.toScroll(real, innerHeight)
    scrollTo({ top: wanted + this.top(), behavior: 'instant' })
    this.#seen = scrollY - this.top()
    // The document may end before that.
    this.real = Math.abs(this.#seen - wanted) > 1 ? this.placing.toReal(this.#seen, innerHeight) : real
  }

  /** Where a row is drawn in the body. */
  startOf(index: number): number {
    return index * this.placing.rowHeight - this.real + this.#seen
  }
}
