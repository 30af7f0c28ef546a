/** The terminal that progress is drawn on: standard error. Nothing is drawn if it is not a terminal. */
export interface Screen {
  isTTY?: boolean
  write(text: string): unknown
}

const width = 30
const everyMs = 120
const clearLine = '\r\u001b[K'

/** Draws a progress bar for a known total, and ends the line when it is complete. */
export const progressBar = (screen: Screen): ((done: number, all: number) => void) => {
  let drawn = -1
  return (done, all) => {
    const filled = all === 0 ? width : Math.round((done / all) * width)
    if (!screen.isTTY || (filled === drawn && done !== all)) return
    drawn = filled
    screen.write(`\r[${'#'.repeat(filled).padEnd(width)}] ${done}/${all}${done === all ? '\n' : ''}`)
  }
}

/** Shows a spinner during `work`, and clears it afterwards. */
export const withSpinner = async <T>(screen: Screen, what: string, work: () => Promise<T>): Promise<T> => {
  if (!screen.isTTY) return work()
  let step = 0
  const draw = (): void => {
    const place = step++ % (width - 2)
    screen.write(`\r[${' '.repeat(place)}###${' '.repeat(width - 3 - place)}] ${what}`)
  }
  draw()
  const timer = setInterval(draw, everyMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    screen.write(clearLine)
  }
}
