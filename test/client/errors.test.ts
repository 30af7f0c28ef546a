import { expect, it, vi } from 'vitest'
import * as own from '../../src/client/errors.ts'

const facts = { status: 403, code: 'ACCESS.STEP_UP_REQUIRED', message: 'a fresh code is needed', requestId: 'x' }

it('an error of another copy of the client is recognized: a page of several front ends has several', async () => {
  vi.resetModules()
  const other = await import('../../src/client/errors.ts')
  const error = new other.PorticoError(facts)
  expect(other.PorticoError).not.toBe(own.PorticoError)
  expect(error).toBeInstanceOf(own.PorticoError)
  expect(own.isPorticoError(error, 'ACCESS.STEP_UP_REQUIRED')).toBe(true)
  expect(own.isPorticoError(error, 'ACCESS.TOKEN_INVALID')).toBe(false)
})

it.each([new Error('x'), new TypeError('x'), { name: 'PorticoError', ...facts }, 'PorticoError', null, undefined])(
  'any other value is not a PorticoError: %j',
  (value) => {
    expect(own.isPorticoError(value)).toBe(false)
    expect(value instanceof own.PorticoError).toBe(false)
  },
)
