import fc from 'fast-check'

const separators = [
  '',
  '',
  '',
  ' ',
  '-',
  '\u00a0',
  '\u202f',
  '\u3000',
  '\u200b',
  '\u00ad',
  '\u2066',
  '\ufeff',
  '\u2011',
]

/** The same text with other separators and widths, and unless case matters, in another case. */
export function respellings(text: string, { isCaseSensitive = false } = {}): fc.Arbitrary<string> {
  const characters = [...text].map((character) =>
    fc.tuple(fc.constantFrom(...separators), fc.boolean(), fc.boolean()).map(([separator, isWide, isLower]) => {
      const cased = isLower && !isCaseSensitive ? character.toLowerCase() : character
      return separator + (isWide ? String.fromCodePoint((cased.codePointAt(0) ?? 0) + 0xfe_e0) : cased)
    }),
  )
  return fc.tuple(...characters).map((parts) => parts.join(''))
}
