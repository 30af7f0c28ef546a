import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { localeDirectories } from '../../src/compose/catalogue.ts'
import {
  codedFamilies,
  codes,
  catalogue as operations,
  operatorPermissions,
  workspacePermissions,
} from '../../src/contract/index.ts'
import { canDemandStepUp } from '../../src/contract/step-up-purpose.ts'

import { type Locale, locales, roleType } from '../../src/kernel/index.ts'

import { createWords, readTexts, type Texts } from '../../src/platform/i18n/words.ts'

function textsOf(locale: Locale): Texts {
  return Object.assign({}, ...localeDirectories.map((directory) => readTexts(directory, locale)))
}
const catalogue = new Map(locales.map((locale) => [locale, textsOf(locale)]))
const english = catalogue.get('en') ?? {}
const words = createWords({ directories: localeDirectories, codes, families: codedFamilies })

const families = [...codedFamilies.values()]
const expected = [
  ...codes.map((code) => `refusal.${code}`),
  'refusal.VALIDATION.INVALID_PARAMETER_field',
  'refusal.STATE.CONFLICT_field',
  ...families.flatMap((family) =>
    family.codes.flatMap((code) => [`coded.${family.name}.${code}.label`, `coded.${family.name}.${code}.description`]),
  ),
  ...[...workspacePermissions, ...operatorPermissions].flatMap((code) => [
    `permission.${code}.name`,
    `permission.${code}.description`,
  ]),
  ...operations.filter(canDemandStepUp).map(({ id }) => `purpose.${id}`),
]

/** The same in every language. */
const universal = new Set(['CSV', 'XLSX', 'JSONL'])

describe.each(locales)('the texts in %s', (locale) => {
  const texts = catalogue.get(locale) ?? {}

  test('every code, coded value, permission and operation with a step-up has a translated text', () => {
    const missing = expected.filter((key) => !texts[key] || texts[key].trim() !== texts[key])
    const untranslated = locale === 'en' ? [] : Object.keys(english).filter((key) => texts[key] === english[key])
    expect(missing).toEqual([])
    expect(untranslated.filter((key) => !universal.has(english[key] ?? ''))).toEqual([])
  })

  test('keys and placeholders are the same as in English', () => {
    const placeholders = (text = '') => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort()
    expect(Object.keys(texts).sort()).toEqual(Object.keys(english).sort())
    for (const [key, text] of Object.entries(texts)) expect(placeholders(text), key).toEqual(placeholders(english[key]))
  })
})

test('simplified and traditional Chinese differ in most texts', () => {
  const [simplified, traditional] = [catalogue.get('zh') ?? {}, catalogue.get('zh-Hant') ?? {}]
  const same = Object.keys(simplified).filter((key) => simplified[key] === traditional[key])
  expect(same.length / Object.keys(simplified).length).toBeLessThan(0.25)
})

describe('createWords', () => {
  test('refusal: the sentence, with the name of a field if given', () => {
    expect(words.refusal('ACCESS.TOKEN_MISSING', 'en')).toBe('authentication token is required')
    expect(words.refusal('VALIDATION.INVALID_PARAMETER', 'en')).toBe('invalid request parameters')
    expect(words.refusal('VALIDATION.INVALID_PARAMETER', 'en', 'a.$t(b) {{c}}')).toBe(
      'invalid request parameters: a.$t(b) {{c}}',
    )
    expect(words.refusal('RESOURCE.NOT_FOUND', 'en', 'id')).toBe('resource not found')
    expect(words.refusal('ACCESS.PERMISSION_DENIED', 'zh-Hant')).toBe('拒絕存取')
  })

  test('coded: returns the same frozen object each time', () => {
    const owner = words.coded(roleType, 'OWNER', 'ja')
    expect(owner).toMatchObject({ code: 'OWNER', value: 10010901, label: '所有者' })
    expect(words.coded(roleType, 'OWNER', 'ja')).toBe(owner)
    expect(Object.isFrozen(owner)).toBe(true)
  })

  test('coded: a deployment can override numbers', () => {
    const own = createWords({
      directories: localeDirectories,
      codes,
      families: codedFamilies,
      codedOverrides: { roleType: { CUSTOM: 7 } },
    })
    expect(own.coded(roleType, 'CUSTOM', 'en').value).toBe(7)
    expect(own.coded(roleType, 'OWNER', 'en').value).toBe(10010901)
  })

  test('text: fills placeholders without escaping, and returns an unknown key', () => {
    expect(words.text('refusal.VALIDATION.INVALID_PARAMETER_field', 'vi', { field: '<a>' })).toContain('<a>')
    expect(words.text('no.such.key', 'ja')).toBe('no.such.key')
  })

  test('refusal: every code has a sentence', () => {
    for (const code of codes) expect(words.refusal(code, 'ja')).not.toBe(code)
  })
})

test('a missing or empty text falls back to English', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-words-'))
  cpSync('assets/locales', folder, { recursive: true })
  for (const locale of ['ja', 'zh-Hant'])
    writeFileSync(join(folder, `${locale}.yaml`), 'refusal: { ROUTE.NOT_FOUND: "" }')
  const incomplete = createWords({ directories: [folder], codes, families: codedFamilies })
  for (const code of ['RESOURCE.NOT_FOUND', 'ROUTE.NOT_FOUND'] as const)
    for (const locale of ['ja', 'zh-Hant'] as const)
      expect(incomplete.refusal(code, locale)).toBe(incomplete.refusal(code, 'en'))
  expect(incomplete.refusal('ROUTE.NOT_FOUND', 'en')).not.toContain('ROUTE')
  rmSync(folder, { recursive: true })
})

test('two declarations of a text must be the same', () => {
  const declare = (...texts: readonly string[]) =>
    createWords({
      directories: localeDirectories,
      codes,
      families: codedFamilies,
      extensions: texts.map((text) => ({ owner: 'cards', texts: { en: { notice: { card: text } } } })),
    })
  expect(declare('blocked', 'blocked').text('notice.card', 'en')).toBe('blocked')
  expect(() => declare('blocked', 'expired')).toThrow('declares the text notice.card, which exists already')
})

test.each([
  ['that is not YAML', 'refusal: { a: b'],
  ['with a number instead of a text', 'refusal: { ROUTE.NOT_FOUND: 404 }'],
  ['that is empty', ''],
])('a file %s fails the start with its path, in every language', (_which, yaml) => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-words-'))
  for (const locale of locales) {
    cpSync('assets/locales', folder, { recursive: true })
    const file = join(folder, `${locale}.yaml`)
    writeFileSync(file, yaml)
    expect(() => createWords({ directories: [folder], codes, families: codedFamilies })).toThrow(
      `the texts of ${file} cannot be read`,
    )
  }
  rmSync(folder, { recursive: true })
  expect(() => readTexts(folder, 'vi')).toThrow(`the texts of ${join(folder, 'vi.yaml')} cannot be read`)
})
