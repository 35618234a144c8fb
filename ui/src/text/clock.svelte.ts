/** The time, every second, for ages and estimates on the page. */
class Clock {
  now = $state(Date.now())

  start() {
    const timer = setInterval(() => !document.hidden && (this.now = Date.now()), 1_000)
    return () => clearInterval(timer)
  }
}

export const clock = new Clock()
