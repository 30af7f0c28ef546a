import type { ByteRange } from './blobs.ts'

export type RequestedRange = ByteRange | 'whole' | 'unsatisfiable'

const single = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * What a Range field asks of `size` bytes (RFC 9110, 14.1). A unit or form that we do not know is ignored, as 14.2 has
 * it. Several ranges at once are refused: what they would cost is the asker's to choose, and no client needs them.
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
