export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Equal values have equal texts. Omits undefined members. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isRecord(value) || typeof value.toJSON === 'function') return JSON.stringify(value) ?? 'null'
  let members = ''
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member !== undefined) members += `${members && ','}${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return `{${members}}`
}

export type StrictJson = { ok: true; value: unknown } | { ok: false; reason: string }

const QUOTE = 0x22
const COLON = 0x3a
const MINUS = 0x2d
const DIGITS = { first: 0x30, last: 0x39 }
const BACKSLASH = 0x5c
const BRACKETS = { open: 0x5b, close: 0x5d }
const BRACES = { open: 0x7b, close: 0x7d }
/** Names that can modify an object's prototype. */
const forbiddenNames = new Set(['__proto__', 'constructor', 'prototype'])

/** Bodies of operations nest fewer than ten levels, and parsers recurse into each level. */
export const maxJsonDepth = 32

/** Whether a valid JSON text nests its arrays and objects deeper. Linear, and without a recursion. */
export function isDeeperThan(text: string, maxDepth: number): boolean {
  return countMembers(text, maxDepth) === undefined
}

const decimalNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Whether a decimal number keeps its value if it is read as a double and written again: `1.0`, `1E+2` and `-0` do,
 * `9007199254740993` and `1e400` do not. False for a text that is not a decimal number.
 */
export function isExactNumber(text: string): boolean {
  const written = decimalNumber.exec(text)
  const read = decimalNumber.exec(String(Number(text)))
  return written !== null && read !== null && magnitudeOf(written) === magnitudeOf(read)
}

/** False for a text that is not a decimal number. */
export function isInexactNumber(text: string): boolean {
  return decimalNumber.test(text) && !isExactNumber(text)
}

/** Up to 15 digits without an exponent are always exact. The expression can match inside a string. */
const suspectNumber = /(?:^|[:,[\s])-?(?:[\d.]{16,}|[\d.]+[eE])/
const numberToken = /[-+.\deE]+/y

/** Whether `JSON.parse` changes the value of a number in a valid JSON text. See `isExactNumber`. */
export function hasInexactNumber(text: string): boolean {
  if (!suspectNumber.test(text)) return false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === MINUS || (code >= DIGITS.first && code <= DIGITS.last)) {
      numberToken.lastIndex = index
      const [number = ''] = numberToken.exec(text) ?? []
      if (!isExactNumber(number)) return true
      index += number.length - 1
    }
  }
  return false
}

/** Far beyond every reply of the interface. Zod and PostgreSQL read a value recursively. */
export const maxReplyDepth = 64

/**
 * Ten times the members of the largest valid request. V8 parses an object with many distinct keys forty times slower
 * than plain text.
 */
const maxMembers = 1_000

/**
 * Parses JSON (RFC 8259), but rejects invalid UTF-8, a byte-order mark, repeated names, `__proto__` and similar names,
 * NUL, lone surrogates, numbers that a double changes, nesting deeper than `maxDepth` and more than 1,000 members.
 */
export function parseStrictJson(bytes: Uint8Array, maxDepth = maxJsonDepth): StrictJson {
  try {
    const text = decode(bytes)
    const members = countMembers(text, maxDepth)
    if (members === undefined) return rejected('too deep')
    if (members > maxMembers) return rejected('too many names')
    const value: unknown = JSON.parse(text)
    const flaw = findFlaw(text, value, members) ?? (hasInexactNumber(text) ? 'inexact number' : undefined)
    return flaw === undefined ? { ok: true, value } : rejected(flaw)
  } catch {
    return rejected('not JSON in UTF-8')
  }
}

/** Programs of Windows and .NET write a byte-order mark before JSON, which a reader may ignore (RFC 8259, 8.1). */
export function skipBom(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/**
 * Each member has one colon outside strings. Returns undefined beyond `maxDepth`.
 */
function countMembers(text: string, maxDepth: number): number | undefined {
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

/** Returns the text's length without a closing quote. */
function endOfString(text: string, start: number): number {
  let end = start
  let escapes = 1
  // An odd number of backslashes escapes the quote that follows.
  while (escapes % 2 === 1) {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1
  }
  return end
}

/** Equal magnitudes have equal texts. A loop, because `/0+$/` would be quadratic. */
function magnitudeOf([, , whole = '', fraction = '', exponent = '0']: readonly (string | undefined)[]): string {
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return end === 0 ? '0' : `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

/** Creates a decoder per call, because the typed client loads this module in environments without TextDecoder. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}
function rejected(reason: string): StrictJson {
  return { ok: false, reason }
}

function findFlaw(text: string, root: unknown, members: number): string | undefined {
  // Decoded UTF-8 without escapes is well-formed.
  const hasEscapes = text.includes('\\')
  let names = 0
  const check = (value: unknown): string | undefined => {
    if (typeof value === 'string') return hasEscapes && !isWellFormedText(value) ? 'improper text' : undefined
    if (Array.isArray(value)) return checkAll(value)
    if (!isRecord(value)) return undefined
    const own = Object.keys(value)
    names += own.length
    if (own.some((name) => forbiddenNames.has(name) || (hasEscapes && hasBackslash(name)))) return 'forbidden name'
    if (hasEscapes && !own.every(isWellFormedText)) return 'improper text'
    return checkAll(Object.values(value))
  }
  const checkAll = (values: unknown[]): string | undefined => {
    for (const value of values) {
      const flaw = check(value)
      if (flaw) return flaw
    }
    return undefined
  }
  // JSON.parse keeps only the last of two members with the same name.
  return check(root) ?? (names === members ? undefined : 'repeated name')
}

function isWellFormedText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/**
 * No name of the interface contains a backslash. V8 can confuse an escape in a name with the backslash of an earlier
 * name (nodejs/node#63785).
 */
function hasBackslash(name: string): boolean {
  return name.includes('\\')
}
