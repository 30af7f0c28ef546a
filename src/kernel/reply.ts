import type { Instant } from './scalars.ts'

/**
 * A value that is available now, or a promise of it. If cached values were awaited, a request would cost twice as much.
 */
export type MaybePromise<T> = T | Promise<T>

/** Calls the function with an available value immediately, or else once its promise resolves. */
export const thenSync = <T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** The pagination object of a list. */
export interface Pagination {
  totalPages: number
  totalRecords: number
  currentPage: number
  pageSize: number
  hasNext: boolean
  empty: boolean
  paginated: boolean
}

export interface Page<T> {
  items: T[]
  pagination: Pagination
}

/** The requested page of a list; `currentPage` starts at 1. */
export interface PageRequest {
  currentPage: number
  pageSize: number
}

/** Returns the number of rows before the requested page. */
export const offsetOf = ({ currentPage, pageSize }: PageRequest): number => (currentPage - 1) * pageSize

/**
 * Returns a total that agrees with the rows. They were read after the count and can have changed since. A page that is
 * not full is the last one; an empty page starts after the last record.
 */
const reconcileTotal = (rows: number, counted: number, request: PageRequest): number => {
  const before = offsetOf(request)
  if (rows === 0) return Math.min(counted, before)
  return rows < request.pageSize ? before + rows : Math.max(counted, before + rows)
}

/** Returns a page of a list from its rows and the count of all records. */
export const toPage = <T>(items: T[], counted: number, request: PageRequest): Page<T> => {
  const totalRecords = reconcileTotal(items.length, counted, request)
  const totalPages = Math.ceil(totalRecords / request.pageSize)
  return {
    items,
    pagination: {
      totalPages,
      totalRecords,
      currentPage: request.currentPage,
      pageSize: request.pageSize,
      hasNext: request.currentPage < totalPages,
      empty: items.length === 0,
      paginated: true,
    },
  }
}

/** Returns an empty page, for a list of an object that does not exist. */
export const emptyPage = <T>(): Page<T> => ({
  items: [],
  pagination: {
    totalPages: 0,
    totalRecords: 0,
    currentPage: 1,
    pageSize: 0,
    hasNext: false,
    empty: true,
    paginated: false,
  },
})

export const mapPage = <A, B>(page: Page<A>, map: (item: A) => B): Page<B> => ({
  items: page.items.map(map),
  pagination: page.pagination,
})

const frozenReplies = new WeakSet<object>()

const deepFreeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}

/** Freezes a reply that never changes, so that the gateway validates and serializes it only once. */
export const freezeReply = <T extends object>(value: T): T => {
  deepFreeze(value)
  frozenReplies.add(value)
  return value
}

export const isFrozenReply = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && frozenReplies.has(value)

export const successCode = '2000'
export const successMessage = 'Success'

/** Returns the envelope of a success as JSON text. `dataText` is JSON already and is not parsed again. */
export const successEnvelope = (version: string, at: Instant, dataText: string): string =>
  `{"version":"${version}","timestamp":${at},"success":true,"code":"${successCode}","message":"${successMessage}","data":${dataText}}`

/**
 * Returns the envelope of a refusal as JSON text. Only upstream services send `field`; the gateway then writes its own
 * sentence.
 */
export const failureEnvelope = (version: string, at: Instant, code: string, message: string, field?: string): string =>
  JSON.stringify({ version, timestamp: at, success: false, code, message, field, data: null })

/** Whether an If-None-Match header matches an entity tag by weak comparison (RFC 9110, 13.1.2). */
export const matchesIfNoneMatch = (ifNoneMatch: string | null | undefined, tag: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)
