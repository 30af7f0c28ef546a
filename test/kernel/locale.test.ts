import { expect, test } from 'vitest'
import { parseLocale } from '../../src/kernel/index.ts'

test.each([
  ['ja', 'ja'],
  ['zh-Hant', 'zh-Hant'],
  ['ZH-HANT', 'zh-Hant'],
  ['zh_Hant', 'zh-Hant'],
  ['zh-Hant-TW', 'zh-Hant'],
  ['zh-TW', 'zh-Hant'],
  ['zh-HK', 'zh-Hant'],
  ['zh-MO', 'zh-Hant'],
  ['zh-Hans-CN', 'zh'],
  ['zh-SG', 'zh'],
  ['vi-VN', 'vi'],
  [' vi ', 'vi'],
  ['fr', 'en'],
  ['', 'en'],
  ['-', 'en'],
  ['fr-FR, ja', 'ja'],
  ['ja;q=0.3, vi;q=0.8', 'vi'],
  ['ja; Q=0.3, vi; q=0.8', 'vi'],
  ['ja;q=0.9, vi', 'vi'],
  ['ja, vi', 'ja'],
  ['ja;q=0, vi;q=0.1', 'vi'],
  ['ja;q=0', 'en'],
  ['ja;q=much, vi;q=0.1', 'vi'],
  ['ja;level=1;q=0.2, vi;q=0.3', 'vi'],
  [`${'xx,'.repeat(15)}ja`, 'ja'],
  [`${'xx,'.repeat(16)}ja`, 'en'],
  [`ja${'-x'.repeat(31)}`, 'ja'],
  [`ja${'-x'.repeat(32)}`, 'en'],
])('parseLocale(%j): %s', (header, locale) => {
  expect(parseLocale(header)).toBe(locale)
})

test('parseLocale: English without a header', () => {
  expect(parseLocale(undefined)).toBe('en')
})

test('parseLocale: a header of 16 KB takes linear time', () => {
  const began = performance.now()
  for (const subtag of ['-', '_', 'a-', '-,'])
    for (let count = 0; count < 25; count++) parseLocale(subtag.repeat(16_000 / subtag.length))
  // Quadratic time would take ten seconds.
  expect(performance.now() - began).toBeLessThan(5_000)
})
