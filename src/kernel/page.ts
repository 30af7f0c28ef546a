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

export const pageOf = <T>(items: T[], totalRecords: number, request: PageRequest): Page<T> => {
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
