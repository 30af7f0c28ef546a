import type { z } from 'zod'
import { maxReplyDepth } from '../kernel/index.ts'

/** Stops at the limit, so that a cycle is too deep, too. */
const isTooDeep = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isTooDeep(each, levels - 1)))

const hasNonFinite = (value: unknown): boolean =>
  typeof value === 'number'
    ? !Number.isFinite(value)
    : typeof value === 'object' && value !== null && Object.values(value).some(hasNonFinite)

/**
 * Returns a reply as JSON text, without the properties that the schema does not declare. Throws the error that
 * `replyError` builds if the reply is nested too deep, does not match the schema, has NaN or Infinity, or has a text longer than
 * `maxBytes`.
 */
export const replyText = (
  schema: z.ZodType,
  reply: unknown,
  maxBytes: number,
  replyError: (internal: string) => Error,
): string => {
  // First, because the schema and the database read a reply recursively.
  if (isTooDeep(reply, maxReplyDepth)) throw replyError(`reply is nested more than ${maxReplyDepth} times`)
  const checked = schema.safeParse(reply)
  if (!checked.success) {
    const issue = checked.error.issues[0]
    throw replyError(`reply does not match its schema: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const text = JSON.stringify(checked.data) ?? 'null'
  // JSON writes NaN and Infinity as null.
  if (text.includes('null') && hasNonFinite(checked.data))
    throw replyError('reply has a number that JSON cannot express')
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw replyError(`reply has ${bytes} bytes, more than the maximum of ${maxBytes}`)
  return text
}
