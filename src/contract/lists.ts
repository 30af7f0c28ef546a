import * as z from 'zod'
import { cursorPattern } from '../kernel/index.ts'
import { instant, zoneDescription } from './fields.ts'

/** A time interval. Both ends are inclusive and optional. */
export const interval = {
  startTime: instant.meta({ description: `Start of the interval, inclusive. ${zoneDescription}` }).optional(),
  endTime: instant.meta({ description: `End of the interval, inclusive. ${zoneDescription}` }).optional(),
}

const Interval = z.object({ startTime: z.string().optional(), endTime: z.string().optional() })

/** Whether `endTime` is not before `startTime`. For schemas with `interval`; `listQuery` checks it. */
export function isForward(query: unknown): boolean {
  const { startTime, endTime } = Interval.parse(query)
  return !startTime || !endTime || Date.parse(startTime) <= Date.parse(endTime)
}

/** Maximum of `currentPage` times `pageSize`. The database reads the keys of all pages before the requested one. */
export const maxListDepth = 100_000

const Position = z.object({ before: z.string().optional(), sortBy: z.string(), currentPage: z.int() })

/**
 * The query of a list: page, sorting, interval and filters. Default sorting: the first sortable field. Cursors use it, so
 * it must be a time that never changes.
 */
export function listQuery<const S extends readonly [string, ...string[]], F extends z.ZodRawShape>(
  sortable: S,
  filters: F,
) {
  return z
    .strictObject({
      currentPage: count(1, 1_000_000, 1).meta({
        description: 'Page to return, at most record 100,000. For deeper pages, use `before`.',
      }),
      pageSize: count(1, 100, 20).meta({ description: 'Maximum number of records on a page.' }),
      before: z.string().regex(cursorPattern).optional().meta({
        description: '`start`, then `nextCursor` of each reply. Needs the default `sortBy`.',
      }),
      sortBy: z.enum(sortable).default(sortable[0]).meta({ description: 'Field to sort by.' }),
      sortOrder: z.enum(['asc', 'desc']).default('desc').meta({ description: 'Sort direction.' }),
      ...interval,
      ...filters,
    })
    .refine(isForward, { path: ['endTime'], message: 'endTime is before startTime' })
    .superRefine((query, context) => {
      // Another field of the query can be invalid.
      const { before, sortBy, currentPage } = Position.safeParse(query).data ?? {}
      if (before === undefined) return
      // A record whose sort field changes could move past the cursor.
      if (sortBy !== sortable[0]) context.addIssue({ code: 'custom', path: ['sortBy'] })
      if (currentPage !== 1) context.addIssue({ code: 'custom', path: ['before'] })
    })
}

const pagination = z.object({
  totalPages: z.int(),
  totalRecords: z.int(),
  currentPage: z.int(),
  pageSize: z.int(),
  hasNext: z.boolean(),
  empty: z.boolean(),
  paginated: z.boolean(),
})

/** A page of a list, in replies. */
export function page<T extends z.ZodType>(item: T) {
  const nextCursor = z.string().nullable().optional().meta({
    description: 'The next `before`, or null at the end. Only in replies to `before`.',
  })
  return z.object({ items: z.array(item), pagination, nextCursor })
}

function count(min: number, max: number, initial: number) {
  return z
    .string()
    .regex(/^\d{1,7}$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(initial)
}
