import type { z } from 'zod'
import { maxReplyDepth } from '../kernel/index.ts'

/**
 * Returns a reply as JSON text, without the properties that the schema does not declare. Throws the error that
 * `replyError` builds if the reply is nested too deep, does not match the schema, has a value that JSON cannot express, or
 * a text longer than `maxBytes`.
 */
export function replyText(
  schema: z.ZodType,
  reply: unknown,
  maxBytes: number,
  replyError: (internal: string) => Error,
): string {
  // First, because the schema and the database read a reply recursively.
  if (isTooDeep(reply, maxReplyDepth)) throw replyError(`reply is nested more than ${maxReplyDepth} times`)
  const checked = schema.safeParse(reply)
  if (!checked.success) {
    const issue = checked.error.issues[0]
    throw replyError(`reply does not match its schema: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  if (checked.data !== undefined && !isJson(checked.data))
    throw replyError('reply has a value that JSON cannot express')
  const text = JSON.stringify(checked.data) ?? 'null'
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw replyError(`reply has ${bytes} bytes, more than the maximum of ${maxBytes}`)
  return text
}

/** Stops at the limit, so that a cycle is too deep, too. */
function isTooDeep(value: unknown, levels: number): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (levels === 0 || Object.values(value).some((each) => isTooDeep(each, levels - 1)))
  )
}

/** Whether JSON has a value. JSON.stringify replaces `NaN` by null, omits functions, and empties a Map. A Date is a text. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return ['string', 'boolean', 'object'].includes(typeof value)
  if (Array.isArray(value)) return Array.from(value).every(isJson)
  if ('toJSON' in value) return !(value instanceof Date) || Number.isFinite(value.getTime())
  return isPlain(value) && Object.values(value).every((each) => each === undefined || isJson(each))
}

function isPlain(value: object): boolean {
  return [Object.prototype, null].includes(Object.getPrototypeOf(value))
}
