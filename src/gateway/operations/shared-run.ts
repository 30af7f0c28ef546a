export interface SharedRun<T> {
  /** Runs the work, or joins the run that has not ended. */
  now(): Promise<T>
  /** Returns the last result if it is recent. */
  recent(): Promise<T>
}

/** Shorter than the interval of any scrape, and longer than that of most health checks. */
const recentMs = 5_000

/** Health checks and scrapes share the load of the probes. */
export function shareRun<T>(work: () => Promise<T>): SharedRun<T> {
  let running: Promise<T> | null = null
  let last: { result: T; at: number } | null = null
  const run = async (): Promise<T> => {
    const result = await work()
    last = { result, at: performance.now() }
    return result
  }
  const now = (): Promise<T> => {
    running ??= run().finally(() => {
      running = null
    })
    return running
  }
  return {
    now,
    recent: async () => (last && performance.now() - last.at < recentMs ? last.result : now()),
  }
}
