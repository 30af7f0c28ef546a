/** Decodes base64url in its canonical form: no padding, no white space, no stray bits in the last character. */
export const decodeBase64url = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

const jwsParts = 3

/**
 * Whether a text has the form of a compact JWS (RFC 7515, section 7.1). jose ignores stray bits, padding and white space, so
 * several texts would pass for one token.
 */
export const isCompactJws = (text: string): boolean => {
  const parts = text.split('.', jwsParts + 1)
  return parts.length === jwsParts && parts.every((part) => decodeBase64url(part) !== undefined)
}
