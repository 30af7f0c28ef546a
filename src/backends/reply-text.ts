import type { z } from 'zod'
import { isRecord, maxReplyDepth } from '../kernel/index.ts'

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

/* Both checks read properties in loops, because the lists of `Object.values` were a sixth of the garbage of a reply. */

/** Stops at the limit, so that a cycle is too deep, too. */
function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((each) => isTooDeep(each, levels - 1))
  if (!isRecord(value)) return false
  for (const name in value) if (Object.hasOwn(value, name) && isTooDeep(value[name], levels - 1)) return true
  return false
}

/** Whether JSON has a value. JSON.stringify replaces `NaN` by null, omits functions, and empties a Map. A Date is a text. */
function isJson(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return Array.from(value).every(isJson)
  if (!isRecord(value)) return false
  if ('toJSON' in value) return !(value instanceof Date) || Number.isFinite(value.getTime())
  if (!isPlain(value)) return false
  for (const name in value)
    if (Object.hasOwn(value, name) && value[name] !== undefined && !isJson(value[name])) return false
  return true
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
