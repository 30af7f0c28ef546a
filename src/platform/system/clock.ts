import { type Clock, toInstant } from '../../kernel/index.ts'

/** The machine's own time. */
export const systemClock: Clock = { now: () => toInstant(Date.now()) }
