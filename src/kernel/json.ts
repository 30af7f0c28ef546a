/** Whether a value is what JSON calls an object: neither null nor a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One JSON text for one value, whatever the order of its names; a member that is undefined is none. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  let members = ''
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member !== undefined) members += `${members && ','}${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return `{${members}}`
}

/** What a JSON text turned out to be; the reason is for the log. */
export type StrictJson = { ok: true; value: unknown } | { ok: false; reason: string }

/** Made as it is used, which costs nothing: the typed client brings this module where no such thing may be. */
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
const refused = (reason: string): StrictJson => ({ ok: false, reason })

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const BRACKETS = { open: 0x5b, close: 0x5d }
const BRACES = { open: 0x7b, close: 0x7d }
/** Names that reach an object's prototype where code is careless. */
const poisonous = new Set(['__proto__', 'constructor', 'prototype'])

/** The index of the quote that closes the string that opens at `start`, or of the text's end where none does. */
const endOfString = (text: string, start: number): number => {
  let end = start
  let escapes = 1
  // A quote behind an odd number of backslashes is one of the string's own.
  while (escapes % 2 === 1) {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1
  }
  return end
}

/**
 * How many members the objects of a JSON text have: each has one colon, and there are no others outside strings. Undefined
 * for a text that is nested deeper than `maxDepth`.
 */
const membersIn = (text: string, maxDepth: number): number | undefined => {
  let depth = 0
  let members = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === COLON) members += 1
    else if (code === BRACES.open || code === BRACKETS.open) depth += 1
    else if (code === BRACES.close || code === BRACKETS.close) depth -= 1
    if (depth > maxDepth) return undefined
  }
  return members
}

/**
 * What is asked of us has a tenth of them at most. An object of many names costs V8, and whoever looks at them after it, forty
 * times what a text of its length does.
 */
const mostMembers = 1_000

const isProper = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/**
 * V8 takes an escape in a name for the backslash of a name that it has read in that place before (nodejs/node#63785). What it
 * gets wrong so has a backslash in it, which no name of the interface has.
 */
const isDoubtful = (name: string): boolean => name.includes('\\')

/** Finds in what JSON.parse made of a text what it lets pass: poisonous and repeated names, texts that are none. */
const flawOf = (text: string, root: unknown, members: number): string | undefined => {
  // Where nothing is escaped every text is as proper as the UTF-8 that it was.
  const hasEscapes = text.includes('\\')
  let found = 0
  const look = (value: unknown): string | undefined => {
    if (typeof value === 'string') return hasEscapes && !isProper(value) ? 'improper text' : undefined
    if (Array.isArray(value)) return firstOf(value)
    if (!isRecord(value)) return undefined
    const names = Object.keys(value)
    found += names.length
    if (names.some((name) => poisonous.has(name) || (hasEscapes && isDoubtful(name)))) return 'forbidden name'
    if (hasEscapes && !names.every(isProper)) return 'improper text'
    return firstOf(Object.values(value))
  }
  const firstOf = (values: unknown[]): string | undefined => {
    for (const value of values) {
      const flaw = look(value)
      if (flaw) return flaw
    }
    return undefined
  }
  // Of a name that stands twice JSON.parse keeps the last.
  return look(root) ?? (found === members ? undefined : 'repeated name')
}

/**
 * JSON by RFC 8259 in UTF-8, stricter than JSON.parse: invalid UTF-8, a byte-order mark, repeated names, `__proto__` and
 * its like, NUL, lone surrogates, nesting beyond `maxDepth` and names beyond countQuery are refused.
 */
export const parseStrictJson = (bytes: Uint8Array, maxDepth: number): StrictJson => {
  try {
    const text = decode(bytes)
    const members = membersIn(text, maxDepth)
    if (members === undefined) return refused('too deep')
    if (members > mostMembers) return refused('too many names')
    const value: unknown = JSON.parse(text)
    const flaw = flawOf(text, value, members)
    return flaw === undefined ? { ok: true, value } : refused(flaw)
  } catch {
    return refused('not JSON in UTF-8')
  }
}
