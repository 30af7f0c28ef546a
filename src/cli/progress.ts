/** The terminal that progress is drawn on: standard error. Nothing is drawn if it is not a terminal. */
export interface Screen {
  isTTY?: boolean
  write(text: string): unknown
}

const width = 30
const everyMs = 120
const clearLine = '\r\u001b[K'

/** Draws a progress bar for a known total, and ends the line when it is complete. */
export const progressBar = (screen: Screen): ((done: number, total: number) => void) => {
  let drawnWidth = -1
  return (done, total) => {
    const filled = total === 0 ? width : Math.round((done / total) * width)
    if (!screen.isTTY || (filled === drawnWidth && done !== total)) return
    drawnWidth = filled
    screen.write(`\r[${'#'.repeat(filled).padEnd(width)}] ${done}/${total}${done === total ? '\n' : ''}`)
  }
}

/** Shows a spinner during `work`, and clears it afterwards. */
export const withSpinner = async <T>(screen: Screen, label: string, work: () => Promise<T>): Promise<T> => {
  if (!screen.isTTY) return work()
  let step = 0
  const draw = (): void => {
    const position = step++ % (width - 2)
    screen.write(`\r[${' '.repeat(position)}###${' '.repeat(width - 3 - position)}] ${label}`)
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
