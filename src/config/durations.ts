import { z } from 'zod'
import { days } from '../kernel/index.ts'

/** Node's timers hold 24 days, and one that is asked for more fires at once. Two of these, and some seconds, are less. */
const longestWaitMs = days(10)

/** A hundred years: a moment that lies so far ahead still has a year of four digits, in the store and in answers. */
const longestLifeMs = days(36_500)

/** What is waited for: a deadline, a pause, the time between two looks. */
export const wait = (leastMs: number) => z.int().min(leastMs).max(longestWaitMs)

/** What moments are reckoned by: how long something is good or kept. */
export const life = (leastMs: number) => z.int().min(leastMs).max(longestLifeMs)
