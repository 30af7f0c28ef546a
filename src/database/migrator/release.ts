/** A version of Portico, and the oldest one whose code works with the schema that it leaves. */
export interface Release {
  version: string
  compatibleWith: string
}

/** Set both for each release. `compatibleWith` is the previous release, or the version itself if it is the first. */
export const thisRelease: Release = { version: '0.1.0', compatibleWith: '0.1.0' }

/** Compares major, minor and patch numbers. */
export function isOlder(version: string, than: string): boolean {
  const [one, other] = [numbersOf(version), numbersOf(than)]
  const index = one.findIndex((number, position) => number !== other[position])
  return index >= 0 && (one[index] ?? 0) < (other[index] ?? 0)
}

function numbersOf(version: string): number[] {
  return version.split('-', 1).join('').split('.').map(Number)
}
