/** Numbers that the server does not keep over time, since the page was opened, for small charts. */
const KEPT_MS = 300_000
const POINTS = 40

class History {
  #values = new Map<string, { at: number; value: number }[]>()
  #version = $state(0)

  add(key: string, value: number) {
    const now = Date.now()
    const values = this.#values.get(key) ?? []
    if (values.length > 0 && now - values[values.length - 1]!.at < 900) return
    values.push({ at: now, value })
    while (now - values[0]!.at > KEPT_MS) values.shift()
    this.#values.set(key, values)
    this.#version++
  }

  of(key: string): number[] {
    void this.#version
    const values = this.#values.get(key) ?? []
    const step = Math.max(1, Math.ceil(values.length / POINTS))
    return values.filter((_, n) => n % step === 0).map(({ value }) => value)
  }
}

export const history = new History()
