import { isIP } from 'node:net'
import { z } from 'zod'

/** What a listener can be bound to: an address, or a name for which the machine is asked at the start. */
const isHost = (text: string): boolean => isIP(text) !== 0 || /^[\w.-]+$/.test(text)

export const host = z.string().refine(isHost, 'an address such as 127.0.0.1 or ::1, or a name that has one')
