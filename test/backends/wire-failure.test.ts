import { expect, test } from 'vitest'
import { wireFailure } from '../../src/backends/upstream-connection.ts'

test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'])(
  '%s: an upstream that is not there is 503',
  (code) => {
    const { status, code: told } = wireFailure(Object.assign(new Error('connect'), { code }))
    expect([status, told]).toEqual([503, 'SYSTEM.UNAVAILABLE'])
  },
)
