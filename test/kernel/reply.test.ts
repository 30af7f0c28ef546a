import { expect, test } from 'vitest'
import { emptyPage, mapPage, offsetOf, toPage } from '../../src/kernel/index.ts'

test('offsetOf: the rows of the previous pages', () => {
  expect([1, 2, 7].map((currentPage) => offsetOf({ currentPage, pageSize: 20 }))).toEqual([0, 20, 120])
})

test.each([
  ['the first of three', 20, 45, 1, { totalRecords: 45, totalPages: 3, hasNext: true, empty: false }],
  ['the last, not full', 5, 45, 3, { totalRecords: 45, totalPages: 3, hasNext: false, empty: false }],
  ['the last, full', 20, 40, 2, { totalRecords: 40, totalPages: 2, hasNext: false, empty: false }],
  ['one beyond the last', 0, 40, 3, { totalRecords: 40, totalPages: 2, hasNext: false, empty: true }],
  ['far beyond the last', 0, 40, 9, { totalRecords: 40, totalPages: 2, hasNext: false, empty: true }],
  ['of an empty list', 0, 0, 1, { totalRecords: 0, totalPages: 0, hasNext: false, empty: true }],
  [
    'shorter than counted: rows were deleted since',
    15,
    45,
    2,
    { totalRecords: 35, totalPages: 2, hasNext: false, empty: false },
  ],
  [
    'longer than counted: rows were added since',
    20,
    3,
    1,
    { totalRecords: 20, totalPages: 1, hasNext: false, empty: false },
  ],
  [
    'empty although more were counted: rows were deleted since',
    0,
    45,
    2,
    { totalRecords: 20, totalPages: 1, hasNext: false, empty: true },
  ],
])('toPage: %s', (_name, rows, counted, currentPage, expected) => {
  const items = Array.from({ length: rows }, (_, place) => place)
  const page = toPage(items, { records: counted, isEstimated: false }, { currentPage, pageSize: 20 })
  expect(page).toEqual({ items, pagination: { ...expected, currentPage, pageSize: 20, paginated: true } })
  expect(mapPage(page, String)).toEqual({ items: items.map(String), pagination: page.pagination })
})

test('emptyPage: no items, not paginated', () => {
  expect(emptyPage()).toEqual({
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
})
