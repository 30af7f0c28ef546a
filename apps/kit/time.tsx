import { createContext, type ReactNode, use } from 'react'
import { formatAge, formatTime } from './format.ts'

const Context = createContext<string | undefined>(undefined)

interface ZoneProps {
  /** Such as `Europe/Berlin`. Undefined for that of the browser. */
  zone: string | undefined
  children: ReactNode
}

/** Shows the times in `children` in a time zone, such as that of the workspace. */
export function TimeZone({ zone, children }: ZoneProps) {
  return <Context value={zone}>{children}</Context>
}

/** The time zone of the page, or undefined for that of the browser. */
export function useTimeZone(): string | undefined {
  return use(Context)
}

/** An instant in the time zone of the page. `none` stands for an event that has not happened. */
export function Time({ at, none = '–' }: { at: string | null; none?: string }) {
  const timeZone = useTimeZone()
  return at === null ? none : <time dateTime={at}>{formatTime(at, timeZone)}</time>
}

/** The age of an instant, such as `3 hours ago`, with the instant for pointers. */
export function Age({ at, none = '–' }: { at: string | null; none?: string }) {
  const timeZone = useTimeZone()
  if (at === null) return none
  return (
    <time dateTime={at} title={formatTime(at, timeZone)}>
      {formatAge(at)}
    </time>
  )
}
