import { type Instant, type PageRequest, parseInterval } from '../kernel/index.ts'

/** A list's query as the contract lets it through (listQuery). */
interface ListParameters extends PageRequest {
  sortOrder: 'asc' | 'desc'
  startTime?: string | undefined
  endTime?: string | undefined
}

export interface Listing extends PageRequest {
  sortOrder: 'asc' | 'desc'
  from: Instant | undefined
  to: Instant | undefined
}

/** The same as the stores take it. */
export const listing = ({ currentPage, pageSize, sortOrder, startTime, endTime }: ListParameters): Listing => ({
  currentPage,
  pageSize,
  sortOrder,
  ...parseInterval({ startTime, endTime }),
})
