const token = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Equal magnitudes have equal texts. A loop, because `/0+$/` would be quadratic. */
const magnitudeOf = ([, , whole = '', fraction = '', exponent = '0']: readonly (string | undefined)[]): string => {
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return end === 0 ? '0' : `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

/**
 * Whether a decimal number keeps its value if it is read as a double and written again: `1.0`, `1E+2` and `-0` do,
 * `9007199254740993` and `1e400` do not. False for a text that is not a decimal number.
 */
export const isExactNumber = (text: string): boolean => {
  const written = token.exec(text)
  const read = token.exec(String(Number(text)))
  return written !== null && read !== null && magnitudeOf(written) === magnitudeOf(read)
}
