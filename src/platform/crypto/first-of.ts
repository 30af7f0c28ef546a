export async function firstOf<T>(
  candidates: readonly Uint8Array[],
  find: (digest: Uint8Array) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const digest of candidates) {
    const found = await find(digest)
    if (found !== undefined) return found
  }
  return undefined
}

export async function spendOneOf(
  candidates: readonly Uint8Array[],
  spend: (digest: Uint8Array) => Promise<boolean>,
): Promise<boolean> {
  for (const digest of candidates) if (await spend(digest)) return true
  return false
}
