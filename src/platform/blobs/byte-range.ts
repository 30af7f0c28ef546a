import type { ByteRange } from './blobs.ts'

export type RequestedRange = ByteRange | 'whole' | 'unsatisfiable'

const single = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * The range that a Range header requests of `size` bytes (RFC 9110, section 14.1). Unknown units and invalid ranges are
 * ignored, as section 14.2 requires. Multiple ranges are rejected: a client could choose how expensive they are.
 */
export const parseByteRange = (header: string | null, size: number): RequestedRange => {
  if (header === null || !/^bytes=/.test(header)) return 'whole'
  if (header.includes(',')) return 'unsatisfiable'
  const [matched, from = '', to = ''] = single.exec(header.replaceAll(' ', '')) ?? []
  if (matched === undefined || (from === '' && to === '')) return 'whole'
  if (from === '') {
    const suffix = Math.min(Number(to), size)
    return suffix === 0 ? 'unsatisfiable' : { first: size - suffix, last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && Number(to) < first) return 'whole'
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}
