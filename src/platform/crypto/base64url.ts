/** Accepts only the canonical form: no padding, no white space, no stray bits in the last character. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

const jwsParts = 3

/**
 * See RFC 7515, section 7.1. jose ignores stray bits, padding and white space, so it would accept several texts as the
 * same token.
 */
export function isCompactJws(text: string): boolean {
  const parts = text.split('.', jwsParts + 1)
  return parts.length === jwsParts && parts.every((part) => decodeBase64url(part) !== undefined)
}
