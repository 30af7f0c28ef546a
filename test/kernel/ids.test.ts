import { expect, test } from 'vitest'
import { isBizId } from '../../src/kernel/index.ts'

const id = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'

test.each([
  [id, true],
  [id.toUpperCase(), false],
  [`x${id}`, false],
  [`${id}\n`, false],
  [id.replace('-7e0a', '-0e0a'), false],
  [id.replace('-7e0a', '-9e0a'), false],
  [id.replace('-8f35', '-7f35'), false],
  [id.replaceAll('-', ''), false],
])('isBizId(%j): %s', (text, isId) => {
  expect(isBizId(text)).toBe(isId)
})
