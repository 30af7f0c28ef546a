/* The contexts of sealed values, which bind them to their rows. */

export function attemptContext(tokenDigest: Uint8Array): string {
  return Buffer.from(tokenDigest).toString('base64url')
}

/** A pending sign-in and its session have the same context. */
export function tokenContext(portal: string, accountId: string): string {
  return `${portal}:${accountId}`
}
