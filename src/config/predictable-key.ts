/*
 * A random key fails one of these checks with a probability below 1e-10. Of 32 random bytes 18 or fewer are distinct with
 * 4.6e-12, of their 31 differences with 4.8e-11, and of 42 random characters of base64 16 or fewer with 7.7e-12. All are
 * printable ASCII with 1.7e-14.
 */
const minDistinctBytes = 19
const minDistinctCharacters = 17

const isPrintable = (byte: number): boolean => byte >= 0x20 && byte < 0x7f

/**
 * Whether a key of 32 bytes in base64 was visibly not made by a random generator: repeated bytes, a counting sequence,
 * text, hexadecimal digits, or a short pattern of base64. A key that passes may still be a bad one.
 */
export const isPredictableKey = (base64: string): boolean => {
  const bytes = [...Buffer.from(base64, 'base64')]
  const steps = bytes.slice(1).map((byte, index) => (byte - (bytes[index] ?? 0)) & 0xff)
  return (
    new Set(bytes).size < minDistinctBytes ||
    new Set(steps).size < minDistinctBytes ||
    new Set(base64.trim().replace(/=$/, '')).size < minDistinctCharacters ||
    bytes.every(isPrintable)
  )
}
