import { expect, test } from 'vitest'
import { accountEmail, email, passwordLength } from '../../src/contract/account-fields.ts'

test('passwordLength counts the characters of the NFKC form', () => {
  expect(['ﬁ', '😀', 'é', '①', 'e\u0301'].map(passwordLength)).toEqual([2, 1, 1, 1, 1])
})

test.each([
  ['Eva@Bücher.example', 'eva@xn--bcher-kva.example'],
  ['eva@bu\u0308cher.EXAMPLE', 'eva@xn--bcher-kva.example'],
  ['eva@XN--BCHER-KVA.example', 'eva@xn--bcher-kva.example'],
  ['eva＠例え。テスト', 'eva@xn--r8jz45g.xn--zckzah'],
  ['eva@công-ty.vn', 'eva@xn--cng-ty-ixa.vn'],
])('an address at an internationalized domain: %s is %s', (typed, canonical) => {
  expect(email.parse(typed)).toBe(canonical)
})

test.each([
  'eva@bücher.example/a',
  'eva@bücher.example:25',
  'eva@bücher%2eexample',
  'eva@bücher.example.',
  'eva@a@bücher.example',
  'eva@bücher',
  'éva@example.test',
  'eva@bü\u202echer.example',
])('rejects the address %s', (typed) => {
  expect(email.safeParse(typed).success).toBe(false)
})

test.each([
  ['a..b@docomo.ne.jp', 'a..b@docomo.ne.jp'],
  ['"A..b"@Docomo.ne.jp', 'a..b@docomo.ne.jp'],
  ['＂.a＂@docomo.ne.jp', '.a@docomo.ne.jp'],
  ['a.@ezweb.ne.jp', 'a.@ezweb.ne.jp'],
  ['a.b@docomo.ne.jp', 'a.b@docomo.ne.jp'],
])('an irregular address of a carrier: %s is %s, and only accountEmail accepts it', (typed, canonical) => {
  expect(accountEmail.parse(typed)).toBe(canonical)
  expect(email.safeParse(typed).success).toBe(typed === 'a.b@docomo.ne.jp')
})

test.each([
  '"a.b"@docomo.ne.jp',
  '"a..b"c@docomo.ne.jp',
  '"a\\..b"@docomo.ne.jp',
  '"a@..b"@docomo.ne.jp',
  'a..@b@docomo.ne.jp',
  '"a.. b"@docomo.ne.jp',
])('accountEmail rejects the address %s', (typed) => {
  expect(accountEmail.safeParse(typed).success).toBe(false)
})
