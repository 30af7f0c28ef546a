import { expect, test } from 'vitest'
import { passwordLength } from '../../src/contract/account-fields.ts'

test('passwordLength counts the characters of the NFKC form', () => {
  expect(['ﬁ', '😀', 'é', '①', 'e\u0301'].map(passwordLength)).toEqual([2, 1, 1, 1, 1])
})
