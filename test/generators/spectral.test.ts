import { expect, test } from 'vitest'
import { follow } from './guide.ts'

test('Spectral reports nothing about the document', async () => {
  const { printed } = await follow('Check the document')
  expect(printed).toContain('No results')
})
