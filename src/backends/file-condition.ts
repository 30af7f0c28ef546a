import type { Call } from '../gateway/call.ts'

/**
 * What the request says of the file that it reads. What a range means is defined for GET alone; with HEAD the field is ignored
 * (RFC 9110, 14.2).
 */
export const fileCondition = (call: Call, name: 'if-none-match' | 'if-range' | 'range'): string | undefined =>
  call.method === 'GET' || name === 'if-none-match' ? call.headers.optional(name) : undefined
