import { type Clock, instantOf } from '../../kernel/index.ts'

/** The machine's own time. */
export const systemClock: Clock = { now: () => instantOf(Date.now()) }
