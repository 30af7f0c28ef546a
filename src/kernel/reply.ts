import type { Instant } from './scalars.ts'

/** Awaiting cached values would double the cost of a request. */
export type MaybePromise<T> = T | Promise<T>

/** Calls `next` immediately if the value is available, otherwise once its promise resolves. */
export function thenSync<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

export interface Pagination {
  totalPages: number
  totalRecords: number
  currentPage: number
  pageSize: number
  hasNext: boolean
  empty: boolean
  paginated: boolean
}

/** A page of a list, as in the reply schema `page`. */
export interface Page<T> {
  items: T[]
  pagination: Pagination
  /** If true, `totalRecords` and `totalPages` are estimates, and the response has the header `X-Total-Estimated`. */
  isTotalEstimated?: boolean
  /** Only in replies to requests with `before`: the cursor of the next page, or null at the end. */
  nextCursor?: string | null
}

/** The number of records that match a list query. */
export interface Total {
  records: number
  isEstimated: boolean
}

/** The requested page of a list; `currentPage` starts at 1. With a cursor in `before`, it does not count. */
export interface PageRequest {
  currentPage: number
  pageSize: number
  before?: string | undefined
}

/** The cursor before the first record. */
export const startCursor = 'start'

/** A cursor is `start`, or the last record's creation time in microseconds and its id or number. */
export const cursorPattern = /^(start|\d{1,16}_(\d{1,15}|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}))$/

/** Nothing is counted: the totals are lower bounds. A null `next` ends the list. */
export function toCursorPage<T>(items: T[], next: string | null, { pageSize }: PageRequest): Page<T> {
  const more = next === null ? 0 : 1
  const total = { records: items.length + more, isEstimated: true }
  const page = toPage(items, total, { currentPage: 1, pageSize })
  return { ...page, pagination: { ...page.pagination, hasNext: more > 0 }, nextCursor: next }
}

export function offsetOf({ currentPage, pageSize }: PageRequest): number {
  return (currentPage - 1) * pageSize
}

export function toPage<T>(items: T[], { records, isEstimated }: Total, request: PageRequest): Page<T> {
  const totalRecords = reconcileTotal(items.length, records, request)
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
    ...(isEstimated ? { isTotalEstimated: true } : {}),
  }
}

/** A page of a list whose object does not exist. */
export function emptyPage<T>(): Page<T> {
  return {
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
  }
}

/** Converts the items of a page. */
export function mapPage<A, B>(page: Page<A>, map: (item: A) => B): Page<B> {
  return {
    ...page,
    items: page.items.map(map),
  }
}

const frozenReplies = new WeakSet<object>()

/** The gateway validates and serializes a frozen reply only once. */
export function freezeReply<T extends object>(value: T): T {
  deepFreeze(value)
  frozenReplies.add(value)
  return value
}

export function isFrozenReply(value: unknown): value is object {
  return typeof value === 'object' && value !== null && frozenReplies.has(value)
}

const checkedTexts = new WeakMap<object, string>()

/**
 * Parses the JSON text of a checked reply. The gateway sends the text of such an object as it is: a check against the
 * schema can have another result later.
 */
export function parseChecked(text: string): unknown {
  const reply: unknown = JSON.parse(text)
  if (typeof reply === 'object' && reply !== null) checkedTexts.set(reply, text)
  return reply
}

export function checkedTextOf(reply: unknown): string | undefined {
  return typeof reply === 'object' && reply !== null ? checkedTexts.get(reply) : undefined
}

const sessionCookies = new WeakMap<object, string | null>()

/**
 * Lets the gateway set the browser's session cookie with this reply. Null deletes the cookie, and undefined keeps it. Only
 * identity calls this.
 */
export function withSessionCookie<T extends object>(reply: T, value: string | null | undefined): T {
  if (value !== undefined) sessionCookies.set(reply, value)
  return reply
}

/** Undefined if the reply does not change the cookie. */
export function sessionCookieOf(reply: unknown): string | null | undefined {
  return typeof reply === 'object' && reply !== null ? sessionCookies.get(reply) : undefined
}

export const successCode = '2000'
export const successMessage = 'Success'

/** Returns the envelope of a success as JSON text. `dataText` is already JSON and is not parsed again. */
export function successEnvelope(version: string, at: Instant, dataText: string): string {
  return `{"version":"${version}","timestamp":${at},"success":true,"code":"${successCode}","message":"${successMessage}","data":${dataText}}`
}

/**
 * Only upstream services send `field`. The gateway then writes its own message for the client.
 */
export function failureEnvelope(version: string, at: Instant, code: string, message: string, field?: string): string {
  return JSON.stringify({ version, timestamp: at, success: false, code, message, field, data: null })
}

/** Compares entity tags weakly (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(ifNoneMatch: string | null | undefined, tag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)
}

/** The count may be older or newer than the rows. A partial page is the last one. An empty page starts after it. */
function reconcileTotal(rows: number, counted: number, request: PageRequest): number {
  const before = offsetOf(request)
  if (rows === 0) return Math.min(counted, before)
  return rows < request.pageSize ? before + rows : Math.max(counted, before + rows)
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}
