/** What a JSON text turned out to be; the reason is for the log. */
export type StrictJson = { ok: true; value: unknown } | { ok: false; reason: string }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const refused = (reason: string): StrictJson => ({ ok: false, reason })

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Names that reach an object's prototype where code is careless. */
const poisonous = new Set(['__proto__', 'constructor', 'prototype'])

/** The index after the closing quote of the string that opens at `start`; -1 where it never closes. */
const endOfString = (text: string, start: number): number => {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === BACKSLASH) index++
    else if (code === QUOTE) return index + 1
  }
  return -1
}

const isKey = (text: string, end: number): boolean => {
  let index = end
  while (/\s/.test(text.charAt(index))) index++
  return text.charAt(index) === ':'
}

/** A string token's value, or undefined where it is no proper text: NUL, a lone surrogate, a bad escape. */
const textOf = (token: string): string | undefined => {
  if (!token.includes('\\')) return token.slice(1, -1)
  try {
    const value: unknown = JSON.parse(token)
    return typeof value === 'string' && value.isWellFormed() && !value.includes('\0') ? value : undefined
  } catch {
    return undefined
  }
}

/** Finds what JSON.parse lets pass: repeated and poisonous names, depth, texts that are none. */
const flaw = (text: string, maxDepth: number): string | undefined => {
  const open: (Set<string> | null)[] = []
  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index)
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null)
      if (open.length > maxDepth) return 'too deep'
    } else if (char === '}' || char === ']') {
      open.pop()
    } else if (char === '"') {
      const end = endOfString(text, index)
      if (end < 0) return 'unterminated string'
      const value = textOf(text.slice(index, end))
      if (value === undefined) return 'improper text'
      const names = open.at(-1)
      if (names && isKey(text, end)) {
        if (names.has(value)) return 'repeated name'
        if (poisonous.has(value)) return 'forbidden name'
        names.add(value)
      }
      index = end - 1
    }
  }
  return undefined
}

/**
 * JSON by RFC 8259 in UTF-8, stricter than JSON.parse: invalid UTF-8, a byte-order mark, repeated names, `__proto__` and
 * its like, NUL, lone surrogates and nesting beyond `maxDepth` are refused.
 */
export const parseStrictJson = (bytes: Uint8Array, maxDepth: number): StrictJson => {
  try {
    const text = utf8.decode(bytes)
    const found = flaw(text, maxDepth)
    if (found) return refused(found)
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return refused('not JSON in UTF-8')
  }
}
