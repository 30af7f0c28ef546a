/** Where progress is drawn: standard error, and only when a person looks at it. */
export interface Screen {
  isTTY?: boolean
  write(text: string): unknown
}

const width = 30
const everyMs = 120
const clearLine = '\r\u001b[K'

/** Draws how much is done of a known number, and ends the line with the last one. */
export const progressBar = (screen: Screen): ((done: number, all: number) => void) => {
  let drawn = -1
  return (done, all) => {
    const filled = all === 0 ? width : Math.round((done / all) * width)
    if (!screen.isTTY || (filled === drawn && done !== all)) return
    drawn = filled
    screen.write(`\r[${'#'.repeat(filled).padEnd(width)}] ${done}/${all}${done === all ? '\n' : ''}`)
  }
}

/** Shows that something of unknown length goes on, and leaves nothing behind. */
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
