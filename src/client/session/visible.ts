/** Whether a value is a text that a header field can carry, as tokens and client hashes are. A garbled one cannot be sent. */
export const isVisible = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
