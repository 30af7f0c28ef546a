const minIntervalMs = 1_000
/** Reading data prolongs the session, so a page that nobody uses waits for its user. */
const attendedMs = 300_000
const inputs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const

interface Refresher {
  /** Refreshes soon, or as soon as the user is back. */
  request(): void
  stop(): void
}

/** Calls `refresh` after events: at most once per second, and only for a user who is there. */
export function createRefresher(refresh: () => void): Refresher {
  let lastInputAt = Date.now()
  let isWanted = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = (): void => {
    timer = undefined
    if (!isWanted || Date.now() - lastInputAt > attendedMs) return
    isWanted = false
    refresh()
  }
  const schedule = (): void => {
    if (isWanted) timer ??= setTimeout(run, minIntervalMs)
  }
  const onInput = (): void => {
    lastInputAt = Date.now()
    schedule()
  }
  for (const input of inputs) addEventListener(input, onInput, { passive: true })
  return {
    request: () => {
      isWanted = true
      schedule()
    },
    stop: () => {
      clearTimeout(timer)
      for (const input of inputs) removeEventListener(input, onInput)
    },
  }
}
