/** What this browser remembers about the events of a workspace. It has no content of events. */
interface Mark {
  /** The cursor with which to read the recent events. */
  start?: string | undefined
  /** ISO 8601. */
  seenUntil?: string | undefined
}

const prefix = 'portico.events.'

export function readMark(key: string): Mark {
  const stored = localStorage.getItem(prefix + key)
  try {
    const mark: unknown = stored === null ? {} : JSON.parse(stored)
    return { start: textIn(mark, 'start'), seenUntil: textIn(mark, 'seenUntil') }
  } catch {
    return {}
  }
}

/** Replaces the members of `changes`. */
export function writeMark(key: string, changes: Mark): void {
  localStorage.setItem(prefix + key, JSON.stringify({ ...readMark(key), ...changes }))
}

function textIn(mark: unknown, name: string): string | undefined {
  if (typeof mark !== 'object' || mark === null) return undefined
  const value: unknown = Reflect.get(mark, name)
  return typeof value === 'string' ? value : undefined
}
