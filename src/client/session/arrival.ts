const stepMs = 25
const patienceMs = 500

/**
 * Reads until the value is what another tab should have written. Browsers bring a tab's writes to another tab's
 * localStorage a moment late, and a lock does not wait for that. After half a second what is there is taken for the truth.
 */
export const arrived = async <T>(read: () => Promise<T>, isNews: (value: T) => boolean): Promise<T> => {
  for (let waitedMs = 0; ; waitedMs += stepMs) {
    const value = await read()
    if (isNews(value) || waitedMs >= patienceMs) return value
    await new Promise((resolve) => setTimeout(resolve, stepMs))
  }
}
