import type { Instant } from './time.ts'

/** The pagination object of interface.md 2.3. */
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

/** A slice that a list is asked for; `currentPage` counts from 1. */
export interface PageRequest {
  currentPage: number
  pageSize: number
}

export const offsetOf = ({ currentPage, pageSize }: PageRequest): number => (currentPage - 1) * pageSize

/**
 * How many there are, by the count and by the rows that were read after it: what came or went in between shows in the
 * rows. A page that is not full is the last one; an empty one begins where all have been counted.
 */
const reconcileTotal = (rows: number, counted: number, request: PageRequest): number => {
  const before = offsetOf(request)
  if (rows === 0) return Math.min(counted, before)
  return rows < request.pageSize ? before + rows : Math.max(counted, before + rows)
}

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

/** What a list answers for something that it cannot know: empty and unpaginated (interface.md 2.3). */
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

export const successCode = '2000'
export const successMessage = 'Success'

/** The frame around a payload that is JSON already, so that it need not be parsed and written again. */
export const successEnvelope = (version: string, at: Instant, dataText: string): string =>
  `{"version":"${version}","timestamp":${at},"success":true,"code":"${successCode}","message":"${successMessage}","data":${dataText}}`

/** `field` is told apart by services alone, for the gateway to name it in words of its own. */
export const failureEnvelope = (version: string, at: Instant, code: string, message: string, field?: string): string =>
  JSON.stringify({ version, timestamp: at, success: false, code, message, field, data: null })

const constants = new WeakSet<object>()

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) freeze(member)
}

/** Freezes an answer that will be given again and again, wholly, and marks it so that it is checked and written out once. */
export const freezeReply = <T extends object>(value: T): T => {
  freeze(value)
  constants.add(value)
  return value
}

export const isFrozenReply = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && constants.has(value)

/** Whether the client has what an entity tag names, by its If-None-Match: a weak comparison (RFC 9110, 13.1.2). */
export const matchesIfNoneMatch = (ifNoneMatch: string | null | undefined, tag: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)
