import * as z from 'zod'
import { instant, zoneDescription } from './fields.ts'

/** Returns the schema of an integer query parameter. */
const count = (min: number, max: number, initial: number) =>
  z
    .string()
    .regex(/^\d{1,7}$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(initial)

/** A time interval. Both ends are included, and either end can be open. */
export const interval = {
  startTime: instant.meta({ description: `Start of the interval, inclusive. ${zoneDescription}` }).optional(),
  endTime: instant.meta({ description: `End of the interval, inclusive. ${zoneDescription}` }).optional(),
}

const Interval = z.object({ startTime: z.string().optional(), endTime: z.string().optional() })

/** Whether an interval does not end before it starts. Returns true if either end is open. */
export const isForward = (query: unknown): boolean => {
  const { startTime, endTime } = Interval.parse(query)
  return !startTime || !endTime || Date.parse(startTime) <= Date.parse(endTime)
}

/**
 * Returns the query of a list: page, sorting, interval, and the list's own filters. The first sortable field is the
 * default.
 */
export const listQuery = <const S extends readonly [string, ...string[]], F extends z.ZodRawShape>(
  sortable: S,
  filters: F,
) =>
  z
    .strictObject({
      currentPage: count(1, 1_000_000, 1),
      pageSize: count(1, 100, 20),
      sortBy: z.enum(sortable).default(sortable[0]),
      sortOrder: z.enum(['asc', 'desc']).default('desc'),
      ...interval,
      ...filters,
    })
    .refine(isForward, { path: ['endTime'], message: 'endTime is before startTime' })

const pagination = z.object({
  totalPages: z.int(),
  totalRecords: z.int(),
  currentPage: z.int(),
  pageSize: z.int(),
  hasNext: z.boolean(),
  empty: z.boolean(),
  paginated: z.boolean(),
})

/** Returns a page of a list, in replies. */
export const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), pagination })
