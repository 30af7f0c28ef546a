/** Standard error, where progress is shown only on a terminal. */
export interface Screen {
  isTTY?: boolean
  write(text: string): unknown
}

const width = 30
const everyMs = 120
const clearLine = '\r\u001b[K'

/** Ends the line when complete. */
export function progressBar(screen: Screen): (done: number, total: number) => void {
  let drawnWidth = -1
  return (done, total) => {
    const filled = total === 0 ? width : Math.round((done / total) * width)
    if (!screen.isTTY || (filled === drawnWidth && done !== total)) return
    drawnWidth = filled
    screen.write(`\r[${'#'.repeat(filled).padEnd(width)}] ${done}/${total}${done === total ? '\n' : ''}`)
  }
}

const linesPerRun = 10

/** Like `progressBar`. Without a terminal, writes a line per tenth of the total, for the log of a job. */
export function progressLines(screen: Screen, label: string): (done: number, total: number) => void {
  const draw = progressBar(screen)
  let writtenTenths = 0
  return (done, total) => {
    draw(done, total)
    const tenths = total === 0 ? linesPerRun : Math.floor((done / total) * linesPerRun)
    if (screen.isTTY || tenths <= writtenTenths) return
    writtenTenths = tenths
    screen.write(`${label} ${done} of ${total}\n`)
  }
}

/** Shows a spinner during `work`, and clears it afterwards. */
export async function withSpinner<T>(screen: Screen, label: string, work: () => Promise<T>): Promise<T> {
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

const updatesPerLine = 5

/** Returns a function that replaces the last line. Without a terminal, it writes every fifth line and the last one. */
export function liveLine(screen: Screen): (text: string, isLast: boolean) => void {
  let updates = 0
  return (text, isLast) => {
    updates += 1
    if (screen.isTTY) screen.write(`${clearLine}${text}${isLast ? '\n' : ''}`)
    else if (isLast || updates % updatesPerLine === 0) screen.write(`${text}\n`)
    if (isLast) updates = 0
  }
}
