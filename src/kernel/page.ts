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
const reconciled = (rows: number, counted: number, request: PageRequest): number => {
  const before = offsetOf(request)
  if (rows === 0) return Math.min(counted, before)
  return rows < request.pageSize ? before + rows : Math.max(counted, before + rows)
}

export const pageOf = <T>(items: T[], counted: number, request: PageRequest): Page<T> => {
  const totalRecords = reconciled(items.length, counted, request)
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
