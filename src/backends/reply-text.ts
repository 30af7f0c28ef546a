import type { z } from 'zod'

/**
 * Returns a reply as JSON text, without the properties that the schema does not declare. Throws the error that
 * `replyError` builds if the reply does not match the schema, or if its text is longer than `maxBytes`.
 */
export const replyText = (
  schema: z.ZodType,
  reply: unknown,
  maxBytes: number,
  replyError: (internal: string) => Error,
): string => {
  const checked = schema.safeParse(reply)
  if (!checked.success) {
    const issue = checked.error.issues[0]
    throw replyError(`reply does not match its schema: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const text = JSON.stringify(checked.data) ?? 'null'
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw replyError(`reply has ${bytes} bytes, more than the maximum of ${maxBytes}`)
  return text
}
