import { useEffect, useState } from 'react'

const unattendedMs = 300_000
const signs = ['pointerdown', 'pointermove', 'keydown', 'wheel'] as const

/**
 * Whether someone has used the page lately. Requests prolong a session, so pages that refresh must stop without a user, or
 * the session would never end.
 */
export function useAttendance(): boolean {
  const [isAttended, setAttended] = useState(true)
  useEffect(() => {
    const leave = (): void => setAttended(false)
    let timer = setTimeout(leave, unattendedMs)
    const notice = (): void => {
      clearTimeout(timer)
      timer = setTimeout(leave, unattendedMs)
      setAttended(true)
    }
    for (const sign of signs) addEventListener(sign, notice, { passive: true })
    return () => {
      clearTimeout(timer)
      for (const sign of signs) removeEventListener(sign, notice)
    }
  }, [])
  return isAttended
}
